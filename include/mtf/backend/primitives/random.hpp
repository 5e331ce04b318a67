#pragma once
// Random numbers by global element.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// Uniform in [low, high).
template <class T>
struct random_uniform {
  static constexpr char const* name = "mtf::random_uniform";
  placement of;
  std::uint64_t key;
  T* out;
  double low, high;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of.local); }
};

/// Normal (Box-Muller).
template <class T>
struct random_normal {
  static constexpr char const* name = "mtf::random_normal";
  placement of;
  std::uint64_t key;
  T* out;
  double mean, stddev;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of.local); }
};

/// Normal, redrawn beyond two standard deviations.
template <class T>
struct random_truncated_normal {
  static constexpr char const* name = "mtf::random_truncated_normal";
  placement of;
  std::uint64_t key;
  T* out;
  double mean, stddev;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of.local); }
};

/// y = x / (1 - rate) with probability 1 - rate, 0 otherwise. Its own vjp.
template <class T>
struct dropout {
  static constexpr char const* name = "mtf::dropout";
  placement of;
  std::uint64_t key;
  double rate;
  T* y;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of.local); }
};

/// y = x + scale g, g = -log(-log u) with u uniform in (0, 1) (Gumbel's distribution).
template <class T>
struct add_gumbel {
  static constexpr char const* name = "mtf::add_gumbel";
  placement of;
  std::uint64_t key;
  double scale;
  T* y;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of.local); }
};

}  // namespace mtf::primitives
