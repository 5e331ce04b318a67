#pragma once
#include <functional>
#include <mtf/threads.hpp>
#include "typed.hpp"
namespace sweep {
class team {
 public:
  explicit team(mtf::mesh_shape m) : mesh_(m) {}
  void run(std::function<void(int, backend&)> const& f) {
    int n = mesh_.size();
    interim::shared s(n);
    std::vector<std::thread> t;
    for (int r = 0; r < n; ++r) t.emplace_back([&, r] { interim::ranks c(mesh_, r, s); backend b(c, Kokkos::Serial(Kokkos::NewInstance{})); f(r, b); });
    for (auto& x : t) x.join();
  }
 private:
  mtf::mesh_shape mesh_;
};
}
