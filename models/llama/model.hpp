#pragma once
// Llama (Touvron et al. 2023; Grattafiori et al. 2024): rotary positions, pre-norm blocks of attention, of which
// several queries' heads share one of keys and values, and a gated MLP. Nothing here says how it is split over the
// machine: the layout does.
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/checkpoint/stored_names.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/nn/attention.hpp>
#include <mtf/ops/nn/rotary.hpp>
#include <mtf/tensor/extent.hpp>
#include <mtf/tensor/stack.hpp>

#include "hugging_face.hpp"
#include "settings.hpp"

namespace mtf::llama {

/// A Llama of the sizes that a config has (config.hpp). (`task.hpp` gives it data.)
template <class C>
struct model {
  using batch = typename C::batch;
  using sequence = typename C::sequence;
  using memory = typename C::memory;
  using d_model = typename C::d_model;
  using kv_heads = typename C::kv_heads;
  using group = typename C::group;
  using d_head = typename C::d_head;
  using d_ff = typename C::d_ff;
  using vocab = typename C::vocab;
  // Those that a layout may split.
  using dimensions = std::tuple<batch, sequence, memory, d_model, kv_heads, group, d_head, d_ff, vocab>;
  // What the command line may say, in this order.
  using sizes = std::tuple<typename C::layers, batch, sequence, typename C::positions, d_model, kv_heads, group, d_head,
                           d_ff, vocab, typename C::untied_output>;
  using settings = mtf::llama::settings;
  static constexpr char const* model_type = "llama";

  static mtf::extents_value default_sizes() { return C::defaults(); }
  static mtf::extents_value extents_from(mtf::extents_value const& asked) { return C::completed(asked); }

  // --- files of Hugging Face's ---------------------------------------------------------------------------------------

  static mtf::extents_value sizes_from_config(mtf::config_values const& config) { return sizes_of_config(config); }
  static settings settings_from_config(mtf::config_values const& config) { return settings_of_config(config); }
  static std::string config_from_sizes(mtf::extents_value const& sizes, settings const& s = {}) {
    return config_of_sizes(sizes, s);
  }
  static mtf::stored_names names_in_files(mtf::extents_value const&) { return mtf::llama::names_in_files(); }

  // --- parameters ---------------------------------------------------------------------------------------------------

  template <template <class...> class Tensor>
  struct block {
    Tensor<d_model> gamma1;  // norm before attention
    Tensor<kv_heads, group, d_head, d_model> wq;
    Tensor<kv_heads, d_head, d_model> wk, wv;
    Tensor<d_model, kv_heads, group, d_head> wo;
    Tensor<d_model> gamma2;  // norm before the MLP
    Tensor<d_ff, d_model> w_gate, w_up;
    Tensor<d_model, d_ff> w_down;
    MTF_FIELDS(gamma1, wq, wk, wv, wo, gamma2, w_gate, w_up, w_down);
  };
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<vocab, d_model> token_embedding;
    mtf::stack<typename C::layers, block<Tensor>> blocks;
    Tensor<d_model> gamma_f;
    mtf::stack<typename C::untied_output, Tensor<vocab, d_model>> output;  // none: the token embedding
    MTF_FIELDS(token_embedding, blocks, gamma_f, output);
  };

  // --- the network --------------------------------------------------------------------------------------------------

  // The cosines and sines [Rows..., d_head] of positions places [Rows...]; like(x): elements and layout.
  template <class... Rows, class X>
  static constexpr auto angles(X const& like, auto const& places, settings const& s) {
    using T = typename X::element_type;
    using index =
        mtf::tensor<float, mtf::shape<d_head>, typename X::layout_type, mtf::partial<>, typename X::backend_type>;
    auto const at = mtf::broadcast<Rows..., d_head>(mtf::cast<float>(places));
    auto const i = mtf::iota<d_head, index>(like.backend());
    auto const n = static_cast<float>(mtf::extent<d_head>(i));
    return std::pair(mtf::cast<T>(mtf::map(rotary_angle{s, n, false}, at, i)),
                     mtf::cast<T>(mtf::map(rotary_angle{s, n, true}, at, i)));
  }

  struct silu_times {
    template <class G, class U>
    MTF_FUNCTION auto operator()(G gate, U up) const {
      return mtf::math::silu(gate) * up;
    }
  };

  // x [batch, sequence, d_model] -> the same. gathered(q, k, v): what queries [batch, sequence, kv_heads, group,
  // d_head] see of keys and values [batch, sequence, kv_heads, d_head].
  static constexpr auto layer(auto const& p, auto const& x, auto const& turn, settings const& s, auto const& gathered) {
    auto const& [cosines, sines] = turn;
    auto const h = mtf::rms_norm<d_model>(x, p.gamma1, s.epsilon);
    auto const q = mtf::rotary<d_head>(mtf::einsum<batch, sequence, kv_heads, group, d_head>(h, p.wq), cosines, sines);
    auto const k = mtf::rotary<d_head>(mtf::einsum<batch, sequence, kv_heads, d_head>(h, p.wk), cosines, sines);
    auto const v = mtf::einsum<batch, sequence, kv_heads, d_head>(h, p.wv);
    auto const middle = x + mtf::einsum<batch, sequence, d_model>(gathered(q, k, v), p.wo);
    auto const g = mtf::rms_norm<d_model>(middle, p.gamma2, s.epsilon);
    auto const a = mtf::map(silu_times{}, mtf::einsum<batch, sequence, d_ff>(g, p.w_gate),
                            mtf::einsum<batch, sequence, d_ff>(g, p.w_up));
    return middle + mtf::einsum<batch, sequence, d_model>(a, p.w_down);
  }
  // seen: a mtf::visible, or also lengths.
  static constexpr auto attention(auto const& q, auto const& k, auto const& v, auto const&... seen) {
    return mtf::attention<sequence, memory, d_head>(q, k, v, seen...,
                                                    1 / mtf::math::sqrt(static_cast<double>(mtf::extent<d_head>(q))));
  }

  // f(table): of the output, [vocab, d_model] in whatever order.
  static constexpr auto with_output(auto const& p, auto const& f) {
    if (p.output.size() == 0) return f(p.token_embedding);
    return f(p.output[0]);
  }
  // h [batch, rows, d_model] -> [batch, rows, vocab]
  template <class Rows = sequence>
  static constexpr auto projected(auto const& p, auto const& h) {
    return with_output(p, [&](auto const& table) { return mtf::einsum<batch, Rows, vocab>(h, table); });
  }

  // ids [batch, sequence] -> [batch, sequence, d_model], what the output projects. Of parameters as computed.
  template <class Ids>
  static constexpr auto features(auto const& p, Ids const& ids, settings const& s = {}) {
    using places =
        mtf::tensor<float, mtf::shape<sequence>, typename Ids::layout_type, mtf::partial<>, typename Ids::backend_type>;
    auto const embedded = mtf::embedding<vocab>(p.token_embedding, ids);
    auto const turn = angles<sequence>(embedded, mtf::iota<sequence, places>(ids.backend()), s);
    auto const x = mtf::scan(p.blocks, embedded, [&](auto const& block, auto const& before, std::size_t) {
      return layer(block, before, turn, s, [](auto const& q, auto const& k, auto const& v) {
        return attention(q, mtf::rename<sequence, memory>(k), mtf::rename<sequence, memory>(v), mtf::visible::causal());
      });
    });
    return mtf::rms_norm<d_model>(x, p.gamma_f, s.epsilon);
  }
  // ids [batch, sequence] -> logits [batch, sequence, vocab]
  static constexpr auto logits(auto const& parameters, auto const& ids, settings const& s = {}) {
    auto const& p = mtf::as_computed(parameters);
    return projected(p, features(p, ids, s));
  }

  // The mean cross-entropy of predicting labels [batch, sequence], in nats. Negative labels stand for none.
  static constexpr auto loss(auto const& p, auto const& ids, auto const& labels, settings const& s = {}) {
    return mtf::weighted_mean(mtf::cross_entropy<vocab>(logits(p, ids, s), labels), labels >= 0);
  }

  // --- initial values -----------------------------------------------------------------------------------------------

  // Normal with deviation 0.02, scales 1.
  template <class Parameters>
  static Parameters initial(auto& machine, mtf::random_key key) {
    auto p = mtf::sized<Parameters>(machine);
    mtf::for_each_tensor(
        [&](std::string_view path, auto& x) {
          using X = std::remove_reference_t<decltype(x)>;
          if (path.substr(path.rfind('.') + 1).starts_with("gamma"))
            x = mtf::ones<X>(machine);
          else
            x = mtf::random_normal<X>(machine, key.of(path), 0, 0.02);
        },
        p);
    return p;
  }
};

}  // namespace mtf::llama
