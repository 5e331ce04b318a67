#pragma once
// The gradient of one tensor, as it is collected.
#include <utility>

#include <mtf/backend/ref.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/tape/contributions.hpp>
#include <mtf/detail/tape/tape.hpp>

namespace mtf::detail {

/// Where the contributions to the gradient of one tensor are collected while a program runs backwards.
template <class Backend, class T>
class gradient_slot final : public kept_by<Backend>, public contributions<Backend, T> {
 public:
  int references = 1;
  int parameter = -1;  // the index of the tape's parameter whose gradient this is; -1: of none

  /// `where`: as for contributions.
  constexpr gradient_slot(tape<Backend>& owner, sharding const& where)
      : contributions<Backend, T>(owner.backend(), where), owner_(owner.place()) {}
  constexpr void unreferenced() {
    if (parameter >= 0) finalize();
    if constexpr (Backend::holds_data)
      destroy_object(*owner_->backend, this);
    else
      this->clear();
  }
  /// Nothing more is added: hands the gradient to the tape.
  constexpr void finalize() { owner().template is_final<T>(std::exchange(parameter, -1), *this); }
  constexpr void let_go() {
    this->clear();
    owner_ = {};
  }
  constexpr void destroy() { delete this; }

  /// The tape. After its end `owner` must not be called, and `living` returns null.
  [[nodiscard]] constexpr tape<Backend>& owner() const { return *owner_->tape_; }
  [[nodiscard]] constexpr tape<Backend>* living() const { return owner_->tape_; }

 private:
  ref<tape_place<Backend>> owner_;
};

}  // namespace mtf::detail
