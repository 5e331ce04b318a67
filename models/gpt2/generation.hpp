#pragma once
// GPT-2 as tools/generate takes it: it goes on from the keys and values of the tokens before.
#include <cstddef>

#include <mtf/mtf.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/tensor/extent.hpp>
#include <mtf/tensor/stack.hpp>

#include "../common/cache.hpp"
#include "model.hpp"

namespace mtf::gpt2 {

/// The model of a config whose positions are values.
template <class C>
struct generating : model<C> {
  using all = model<C>;
  using typename all::batch;
  using typename all::d_head;
  using typename all::d_model;
  using typename all::heads;
  using typename all::memory;
  using typename all::positions;
  using typename all::sequence;
  using typename all::settings;
  using typename all::vocab;

  using kept = mtf::models::keys_and_values<batch, heads, memory, d_head>;
  template <template <class...> class Tensor>
  struct cache {
    mtf::stack<typename C::layers, typename kept::template of<Tensor>> layers;
    MTF_FIELDS(layers);
  };
  using all_rows_at = mtf::models::all_rows_at;
  template <class Rows>
  using each_row_at = mtf::models::each_row_at<Rows>;
  struct newest : mtf::dim<"newest", 1> {};  // of a sequence, its last position

  // ids [batch, sequence], at the positions places [batch, sequence], which begin where `at` says (all_rows_at,
  // each_row_at) -> the logits [batch, newest, vocab] of what follows them. `c`: of the tokens before; it gets theirs.
  // `p`: as computed.
  template <class Cache>
  static auto continued(auto const& p, Cache& c, auto const& ids, auto const& places, auto const& at,
                        settings const& s = {}) {
    auto const embedded =
        mtf::embedding<vocab>(p.token_embedding, ids) + mtf::embedding<positions>(p.position_embedding, places);
    auto const x = mtf::scan(p.blocks, embedded, [&](auto const& block, auto const& before, std::size_t i) {
      auto const h = mtf::layer_norm<d_model>(before, block.gamma1, block.beta1, s.epsilon);
      auto const q = mtf::linear<batch, sequence, heads, d_head>(h, block.wq, block.bq);
      auto const k = mtf::linear<batch, sequence, heads, d_head>(h, block.wk, block.bk);
      auto const v = mtf::linear<batch, sequence, heads, d_head>(h, block.wv, block.bv);
      auto const seen = mtf::models::attend<memory, sequence>(
          c.layers[i], k, v, at, [&](auto const&... of) { return all::gathered(q, of...); });
      auto const middle = before + mtf::linear<batch, sequence, d_model>(seen, block.wo, block.bo);
      return middle + all::feed_forward(block, middle, s.epsilon);
    });
    auto const last = mtf::slice<sequence, newest>(x, mtf::extent<sequence>(ids) - 1);
    return all::template projected<newest>(p, mtf::layer_norm<d_model>(last, p.gamma_f, p.beta_f, s.epsilon));
  }
};

}  // namespace mtf::gpt2
