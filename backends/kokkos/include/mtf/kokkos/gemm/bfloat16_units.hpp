#pragma once
// Whether products of bfloat16 are faster than products of float.

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mtf::kokkos {

/// What a processor is, as far as products of bfloat16 depend on it.
struct bfloat16_units {
  bool amx = false;        // tiles
  bool described = false;  // CPUID leaf 1D, without which oneDNN 2.6 configures no tiles
  bool dot = false;        // AVX-512's vdpbf16ps
  bool amd = false;
  bool known = false;  // these are x86's

  static bfloat16_units here() {
    bfloat16_units has;
#if defined(__x86_64__)
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    has.known = true;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0)
      has.amx = (edx & (1U << 24U)) != 0 && (edx & (1U << 22U)) != 0;  // AMX-TILE, AMX-BF16
    if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) has.dot = (eax & (1U << 5U)) != 0;
    has.described = __get_cpuid_count(0x1d, 1, &eax, &ebx, &ecx, &edx) != 0 && eax != 0;
    has.amd = __get_cpuid(0, &eax, &ebx, &ecx, &edx) != 0 && ebx == signature_AMD_ebx;
#endif
    return has;
  }
  /// Does oneDNN multiply bfloat16 faster than float? With AMX, and on AMD's Zen 4 and 5, where vdpbf16ps makes it
  /// twice as fast (435 against 226 GFLOP/s, 2048^3, two threads). Other processors that have vdpbf16ps reach half of
  /// float's speed with it (a Xeon: 96 to 169 against 181 to 204), and those that lack it less. Decided from the
  /// processor's kind and not by a measurement, so that results do not change from run to run.
  [[nodiscard]] bool pay() const { return !known || (amx && described) || dot_pays(); }
  /// Is vdpbf16ps faster than products of float?
  [[nodiscard]] bool dot_pays() const { return amd && dot; }
};

}  // namespace mtf::kokkos
