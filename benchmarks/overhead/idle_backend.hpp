#pragma once
// A backend whose kernels do nothing: what an operation costs on it is the library's own work.
#include <mtf/kokkos.hpp>

namespace overhead {

template <class Exec>
class idle_backend : public mtf::kokkos_backend<Exec> {
 public:
  using mtf::kokkos_backend<Exec>::kokkos_backend;
  template <mtf::primitive P>
  void run(P const&) {}
};

}  // namespace overhead
