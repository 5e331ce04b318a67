#pragma once
// The most likely token, found where the logits are.
#include <limits>

#include <mtf/core/host_device.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/sorting/argmax.hpp>

namespace mtf::tools {

/// What a sampler that takes the most likely token compares: NaN below all others, -0 no less than 0.
struct comparable_logit {
  MTF_FUNCTION float operator()(float z) const {
    return z != z ? -std::numeric_limits<float>::infinity() : z == 0 ? 0.0F : z;
  }
};

/// Of float logits the position along Vocabulary (int32) that a sampler takes at temperature 0: the first of the
/// largest, NaN passed over; -1: all are NaN or -infinity.
template <class Vocabulary>
auto most_likely(auto const& logits) {
  auto const z = mtf::map(comparable_logit{}, logits);
  auto const none = mtf::reduce_max<Vocabulary>(z) == -std::numeric_limits<float>::infinity();
  return mtf::where(none, -1, mtf::argmax<Vocabulary>(z));
}

}  // namespace mtf::tools
