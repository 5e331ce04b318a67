#pragma once
#include <string>

#include <mtf/core/error.hpp>

/// What a user_error says; nothing if there is none.
template <class F>
std::string error_of(F const& f) {
  try {
    static_cast<void>(f());
  } catch (mtf::user_error const& e) {
    return e.what();
  }
  return "";
}
