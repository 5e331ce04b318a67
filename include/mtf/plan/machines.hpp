#pragma once
// Descriptions of machines from published figures: peaks, which programs come near to and do not reach. For what is
// known of a machine at hand measure it (benchmarks/machine).
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/plan/machine.hpp>

/// Machines from published figures.
namespace mtf::machines {

/// Nodes of eight H100 SXM GPUs, a rank each, over InfiniBand NDR, 400 Gbit/s a GPU.
///
/// Peaks (bfloat16 and double: dense tensor cores; float: not TF32, as the Kokkos backend multiplies floats as floats),
/// 3.35 TB/s and 80 GB: NVIDIA H100 Tensor Core GPU datasheet. (On one of them products of 8192^3 through the backend
/// reached 890 and 51.5 TFLOP/s, sums of arrays 3.0 TB/s.) In a node 370 GB/s, what NCCL leaves of NVLink's 450 in each
/// direction: github.com/NVIDIA/nccl-tests, issue 212. Latencies: the model by which NCCL chooses its algorithms
/// (github.com/NVIDIA/nccl, src/graph/tuning.cc): 4.4 us and 14 steps of 0.52 in a node, which are three rounds of 3.9;
/// 10 us for a doubling of the nodes.
constexpr machine_description h100_nodes() {
  machine_description m;
  m.name = short_name("h100_nodes");
  m.ranks_per_node = 8;
  m.memory = 80'000'000'000;
  constexpr double bandwidth = 3.35e12;
  m.add({short_name(""), limit::matrix, 2, speed_table::roofline(989.4e12, bandwidth, 2)});
  m.add({short_name(""), limit::matrix, 4, speed_table::roofline(66.9e12, bandwidth, 4)});
  m.add({short_name(""), limit::matrix, 8, speed_table::roofline(66.9e12, bandwidth, 8)});
  m.add({short_name(""), limit::memory, 0, speed_table(bandwidth)});
  m.in_node = machine_description::links(3.9e-6, 370e9);
  m.between_nodes = machine_description::links(10e-6, 50e9);
  m.overlap = 1;  // NCCL's kernels run beside others
  return m;
}

/// A pod of 256 TPU v2 chips, a rank for each of its 512 cores: 16 x 32 of them in a torus of 16 x 16 chips, as
/// Mesh-TensorFlow's authors used it.
///
/// 46 TFLOP/s of bfloat16 (which float's products are made of), 700 GB/s and 16 GB a chip, four links of 496 Gbit/s, in
/// each direction: Jouppi et al. 2020, A domain-specific supercomputer for training deep neural networks, Comm. ACM
/// 63(7), table 3. A rank sends through both links of a ring and shares them with the chip's other core; 1 us for a
/// round is an estimate, as none is published.
constexpr machine_description tpu_v2_pod() {
  machine_description m;
  m.name = short_name("tpu_v2_pod");
  m.memory = 8'000'000'000;
  constexpr double flops = 23e12, bandwidth = 350e9;
  m.add({short_name(""), limit::matrix, 2, speed_table::roofline(flops, bandwidth, 2)});
  m.add({short_name(""), limit::matrix, 4, speed_table::roofline(flops, bandwidth, 4)});
  m.add({short_name(""), limit::memory, 0, speed_table(bandwidth)});
  m.in_node = m.between_nodes = machine_description::links(1e-6, 62e9);
  return m;
}

}  // namespace mtf::machines
