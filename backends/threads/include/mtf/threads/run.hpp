#pragma once
// The frame of a program whose ranks are threads: the backend's session, errors and exit codes.
//
//   int main(int argc, char** argv) {
//     return mtf::run_threads<my_mesh, mtf::kokkos_backend<Kokkos::Serial>>(argc, argv,
//                                                                           [](auto& machine) { train(machine); });
//   }
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/threads/pool.hpp>

namespace mtf {

namespace threads {

/// A backend for one of many ranks in a process: by its `one_of_many`, if it has one, which gives each rank an
/// execution space of its own.
template <class Backend>
Backend make_one_of_many(collectives& ranks) {
  if constexpr (requires { Backend::one_of_many(ranks); })
    return Backend::one_of_many(ranks);
  else
    return Backend(ranks);
}

inline constexpr int user_exit = 2, other_exit = 1;
struct exit_report {
  std::string text;
  int code;
};

inline exit_report report_of(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (user_error const& e) {
    return {e.what(), user_exit};
  } catch (std::exception const& e) {
    return {e.what(), other_exit};
  } catch (...) {
    return {"an exception that is not a std::exception", other_exit};
  }
}

/// Prints how a run failed; returns its exit code. A user_error that all ranks have is printed once, in rank 0's words.
inline int report(rank_threads::outcome const& ended) {
  auto const first = report_of(ended.errors[static_cast<std::size_t>(ended.first)]);
  bool const shared = std::all_of(ended.errors.begin(), ended.errors.end(),
                                  [](auto const& e) { return e != nullptr && report_of(e).code == user_exit; });
  auto const text =
      shared ? report_of(ended.errors[0]).text : "rank " + std::to_string(ended.first) + ": " + first.text;
  std::fputs(("mtf: " + text + "\n").c_str(), stderr);
  return first.code;
}

}  // namespace threads

/// Opens a `Backend::session(argc, argv)`, starts a thread for each rank of `Mesh`, makes a `Backend` in each and calls
/// `f(backend)`: all ranks call the same f at once. Gives the largest of f's exit codes, 0 if f returns nothing.
///
/// A user_error that all ranks throw is printed once: exit code 2. Any other exception, or one that the other ranks do
/// not share, is printed with its rank and ends all ranks: exit code 1, or 2 for a user_error. A rank that ends while
/// others wait for it in a collective is such an error. Refused: anything but a mesh, such as a layout.
template <class Mesh, class Backend, class F>
  requires mesh_type<Mesh>
int run_threads(int& argc, char**& argv, F const& f) {
  try {
    [[maybe_unused]] typename Backend::session session(argc, argv);
    constexpr int ranks = Mesh::shape().size();
    std::vector<int> codes(static_cast<std::size_t>(ranks), 0);
    rank_threads threads(ranks);
    auto const ended = threads.try_run(
        Mesh::shape(),
        [&](collectives& c) {
          Backend backend = threads::make_one_of_many<Backend>(c);
          if constexpr (std::is_void_v<std::invoke_result_t<F const&, Backend&>>)
            f(backend);
          else
            codes[static_cast<std::size_t>(c.rank())] = static_cast<int>(f(backend));
        },
        Mesh::text());
    return ended.first >= 0 ? threads::report(ended) : *std::max_element(codes.begin(), codes.end());
  } catch (...) {
    auto const alone = threads::report_of(std::current_exception());
    std::fputs(("mtf: " + alone.text + "\n").c_str(), stderr);
    return alone.code;
  }
}
template <class Mesh, class Backend, class F>
int run_threads(int&, char**&, F const&) {
  using checked = checked_t<error_not_a_mesh<Mesh>>;
  return checked::value;
}

}  // namespace mtf
