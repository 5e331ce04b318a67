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
#include <mtf/core/extents_value.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/shown_text.hpp>
#include <mtf/core/standard_output.hpp>
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

inline void print(std::string const& text) { std::fputs(("mtf: " + shown_text(text, "\n") + "\n").c_str(), stderr); }

/// Prints how a run failed; returns its exit code. A user_error that all ranks have is printed once, in rank 0's words.
inline int report(rank_threads::outcome const& ended) {
  auto const first = report_of(ended.errors[static_cast<std::size_t>(ended.first)]);
  bool const shared = std::all_of(ended.errors.begin(), ended.errors.end(),
                                  [](auto const& e) { return e != nullptr && report_of(e).code == user_exit; });
  auto const text =
      shared ? report_of(ended.errors[0]).text : "rank " + std::to_string(ended.first) + ": " + first.text;
  print(text);
  return first.code;
}

/// What run_threads() does, for a mesh as a value. `prepare(backend)` comes before f.
template <class Backend, class Prepare, class F>
int run_on(int& argc, char**& argv, mesh_shape const& mesh, std::string const& mesh_text, Prepare const& prepare,
           F const& f) {
  [[maybe_unused]] typename Backend::session session(argc, argv);
  std::vector<int> codes(static_cast<std::size_t>(mesh.size()), 0);
  rank_threads ranks(mesh.size());
  auto const ended = ranks.try_run(
      mesh,
      [&](collectives& c) {
        Backend backend = make_one_of_many<Backend>(c);
        prepare(backend);
        if constexpr (std::is_void_v<std::invoke_result_t<F const&, Backend&>>)
          f(backend);
        else
          codes[static_cast<std::size_t>(c.rank())] = static_cast<int>(f(backend));
      },
      mesh_text);
  if (ended.first < 0) check_standard_output();
  return ended.first >= 0 ? report(ended) : *std::max_element(codes.begin(), codes.end());
}

/// What `run` returns; an exception that it throws is printed.
template <class Run>
int guarded(Run const& run) {
  try {
    return run();
  } catch (...) {
    auto const alone = report_of(std::current_exception());
    print(alone.text);
    return alone.code;
  }
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
  return threads::guarded(
      [&] { return threads::run_on<Backend>(argc, argv, Mesh::shape(), Mesh::text(), [](Backend&) {}, f); });
}
template <class Mesh, class Backend, class F>
int run_threads(int&, char**&, F const&) {
  using checked = checked_t<error_not_a_mesh<Mesh>>;
  return checked::value;
}

/// The same under layouts that are values: `layouts()` returns a container of those that any_layout<0>, any_layout<1>
/// and so on stand for, on one mesh; or sized_layouts, where extents are values too.
template <class Backend, class Layouts, class F>
int run_threads_under(int& argc, char**& argv, Layouts const& layouts, F const& f) {
  return threads::guarded([&] {
    auto const given = layouts();
    auto const& mesh = detail::layouts_in(given).front().mesh;
    return threads::run_on<Backend>(
        argc, argv, mesh.shape, mesh.text(), [&](Backend& backend) { detail::give_to(backend.layouts(), given); }, f);
  });
}

}  // namespace mtf
