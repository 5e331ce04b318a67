#pragma once
// Llama as tools/generate takes it: it goes on from the keys and values of the tokens before.
#include <cstddef>
#include <cstdint>
#include <utility>

#include <mtf/mtf.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/tensor/extent.hpp>
#include <mtf/tensor/stack.hpp>

#include "model.hpp"

namespace mtf::llama {

/// The model of a config whose positions are values.
template <class C>
struct generating : model<C> {
  using all = model<C>;
  using typename all::batch;
  using typename all::d_head;
  using typename all::d_model;
  using typename all::kv_heads;
  using typename all::memory;
  using typename all::sequence;
  using typename all::settings;
  using typename all::vocab;

  // Of a layer, the keys and values of the tokens so far.
  template <template <class...> class Tensor>
  struct keys_and_values {
    Tensor<batch, kv_heads, memory, d_head> k, v;
    MTF_FIELDS(k, v);
  };
  template <template <class...> class Tensor>
  struct cache {
    mtf::stack<typename C::layers, keys_and_values<Tensor>> layers;
    MTF_FIELDS(layers);
  };
  struct newest : mtf::dim<"newest", 1> {};  // of a sequence, its last position

  // ids [batch, sequence], at the positions places [sequence]: start, start + 1, ... -> the logits
  // [batch, newest, vocab] of what follows them. `c`: of the tokens before; it gets theirs. `p`: as computed.
  template <class Cache>
  static auto continued(auto const& p, Cache& c, auto const& ids, auto const& places, std::int64_t start,
                        settings const& s = {}) {
    auto const embedded = mtf::embedding<vocab>(p.token_embedding, ids);
    auto const turn = all::angles(embedded, places, s);
    auto const x = mtf::scan(p.blocks, embedded, [&](auto const& block, auto const& before, std::size_t i) {
      return all::layer(block, before, turn, s, [&](auto const& q, auto const& k, auto const& v) {
        auto& kept = c.layers[i];
        kept.k = mtf::update<memory, sequence>(std::move(kept.k), k, start);
        kept.v = mtf::update<memory, sequence>(std::move(kept.v), v, start);
        return all::attention(q, kept.k, kept.v, mtf::visible::causal(start));
      });
    });
    auto const last = mtf::slice<sequence, newest>(x, mtf::extent<sequence>(ids) - 1);
    return all::template projected<newest>(p, mtf::rms_norm<d_model>(last, p.gamma_f, s.epsilon));
  }
};

}  // namespace mtf::llama
