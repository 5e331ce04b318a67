#pragma once
// A decoder-only language model: learned positions, pre-norm blocks of multi-head attention and a gelu MLP (GPT-2's
// architecture, Radford et al. 2019). Nothing here says how it is split over the machine: the layout does.
//
// Shapes stand behind each line. A config names the dimensions (config.hpp); `memory` is `sequence` under a second
// name, for the keys and values that a query looks back at.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/mtf.hpp>

namespace mtf::gpt2 {

/// GPT-2 of the sizes that a config has. Upper: the layout of the upper half of the layers, if it is another one than
/// that of the parameters. (`task.hpp` gives it data.)
template <class C, class Upper = void>
struct model {
  using batch = typename C::batch;
  using sequence = typename C::sequence;
  using memory = typename C::memory;
  using d_model = typename C::d_model;
  using heads = typename C::heads;
  using d_head = typename C::d_head;
  using d_ff = typename C::d_ff;
  using vocab = typename C::vocab;
  // Those that a layout may split.
  using dimensions = std::tuple<batch, sequence, memory, d_model, heads, d_head, d_ff, vocab>;
  // What else is fixed in the types, by its name.
  static constexpr std::array<std::pair<char const*, std::int64_t>, 1> sizes{{{"layers", C::layers}}};
  template <class Layout>
  using with_upper_layout = model<C, Layout>;

  // --- parameters ---------------------------------------------------------------------------------------------------

  template <template <class...> class Tensor>
  struct block {
    Tensor<d_model> gamma1, beta1;  // norm before attention
    Tensor<d_model, heads, d_head> wq, wk, wv;
    Tensor<heads, d_head> bq, bk, bv;
    Tensor<heads, d_head, d_model> wo;
    Tensor<d_model> bo;
    Tensor<d_model> gamma2, beta2;  // norm before the MLP
    Tensor<d_model, d_ff> w1;
    Tensor<d_ff> b1;
    Tensor<d_ff, d_model> w2;
    Tensor<d_model> b2;
    MTF_FIELDS(gamma1, beta1, wq, bq, wk, bk, wv, bv, wo, bo, gamma2, beta2, w1, b1, w2, b2);
  };

  // The upper half of the layers may have another layout; without one there is only a lower part.
  static constexpr bool two_layouts = !std::is_void_v<Upper>;
  static constexpr std::size_t upper_layers = two_layouts ? C::layers / 2 : 0;
  static constexpr std::size_t lower_layers = C::layers - upper_layers;
  template <template <class...> class Tensor, class Layout>
  struct upper_part {
    std::array<block<mtf::relaid<Tensor, Layout>::template tensor>, upper_layers> blocks;
    MTF_FIELDS(blocks);
  };
  template <template <class...> class Tensor>
  struct upper_part<Tensor, void> {
    MTF_FIELDS();
  };
  template <template <class...> class Tensor>
  struct output_projection {
    Tensor<d_model, vocab> output;
    MTF_FIELDS(output);
  };
  template <template <class...> class Tensor>
  struct tied_projection {  // the output is the token embedding, transposed
    MTF_FIELDS();
  };

  template <template <class...> class Tensor>
  struct parameters {
    Tensor<vocab, d_model> token_embedding;
    Tensor<sequence, d_model> position_embedding;
    std::array<block<Tensor>, lower_layers> blocks;
    upper_part<Tensor, Upper> upper;
    Tensor<d_model> gamma_f, beta_f;
    std::conditional_t<C::tied_output, tied_projection<Tensor>, output_projection<Tensor>> head;
    MTF_FIELDS(token_embedding, position_embedding, blocks, upper, gamma_f, beta_f, head);
  };

  // --- the network --------------------------------------------------------------------------------------------------

  // x [batch, sequence, d_model] -> the same
  static constexpr auto attention(auto const& p, auto const& x) {
    auto const h = mtf::layer_norm<d_model>(x, p.gamma1, p.beta1);
    auto const q = mtf::linear<batch, sequence, heads, d_head>(h, p.wq, p.bq);
    auto const k = mtf::rename<sequence, memory>(mtf::linear<batch, sequence, heads, d_head>(h, p.wk, p.bk));
    auto const v = mtf::rename<sequence, memory>(mtf::linear<batch, sequence, heads, d_head>(h, p.wv, p.bv));
    auto const seen = mtf::attention<sequence, memory, d_head>(q, k, v, mtf::visible::causal(),
                                                               1 / mtf::math::sqrt(double{d_head::extent}));
    return mtf::linear<batch, sequence, d_model>(seen, p.wo, p.bo);
  }

  struct bias_gelu {
    template <class X, class B>
    MTF_FUNCTION auto operator()(X x, B bias) const {
      return mtf::math::gelu(x + bias);
    }
  };

  // x [batch, sequence, d_model] -> the same
  static constexpr auto feed_forward(auto const& p, auto const& x) {
    auto const h = mtf::layer_norm<d_model>(x, p.gamma2, p.beta2);
    auto const a = mtf::map(bias_gelu{}, mtf::einsum<batch, sequence, d_ff>(h, p.w1), p.b1);
    return mtf::linear<batch, sequence, d_model>(a, p.w2, p.b2);
  }

  // What dropout needs; rate 0 for evaluation.
  struct noise {
    double rate = 0;
    mtf::random_key key{0};
  };
  // With `recompute` only the input of each layer is kept for the backward pass. A program that takes this compiles
  // both.
  struct noise_and_recompute : noise {
    bool recompute = false;
  };
  static constexpr noise_and_recompute recomputed_if(bool recompute, noise n = {}) { return {n, recompute}; }

  // x [batch, sequence, d_model] -> the same
  struct layer {
    constexpr auto operator()(auto const& p, auto const& before, double rate, mtf::random_key key) const {
      auto const middle = before + mtf::dropout(attention(p, before), rate, key.of("attention"));
      return middle + mtf::dropout(feed_forward(p, middle), rate, key.of("feed forward"));
    }
  };

  // Layers `first`, `first` + 1, ... of the network.
  template <class Noise>
  static constexpr auto through(auto const& blocks, auto const& x, Noise n, std::size_t first) {
    return mtf::scan(blocks, x, [&](auto const& block, auto const& before, std::size_t i) {
      auto const key = n.key.of(first + i);
      if constexpr (std::is_same_v<Noise, noise_and_recompute>)
        if (n.recompute) return mtf::recompute(layer{}, block, before, n.rate, key);
      return layer{}(block, before, n.rate, key);
    });
  }

  // ids [batch, sequence] -> logits [batch, sequence, vocab]
  template <class Noise = noise>
  static constexpr auto logits(auto const& parameters, auto const& ids, Noise n = {}) {
    auto const& p = mtf::as_computed(parameters);
    auto const embedded = mtf::dropout(mtf::embedding<vocab>(p.token_embedding, ids) + p.position_embedding, n.rate,
                                       n.key.of("embedding"));
    auto x = through(p.blocks, embedded, n, 0);
    if constexpr (two_layouts)
      x = mtf::relayout<typename decltype(x)::layout_type>(
          through(p.upper.blocks, mtf::relayout<Upper>(x), n, lower_layers));
    auto const h = mtf::layer_norm<d_model>(x, p.gamma_f, p.beta_f);
    if constexpr (C::tied_output)
      return mtf::einsum<batch, sequence, vocab>(h, p.token_embedding);
    else
      return mtf::einsum<batch, sequence, vocab>(h, p.head.output);
  }

  // The mean cross-entropy of predicting labels [batch, sequence], in nats. Negative labels stand for none.
  template <class Noise = noise>
  static constexpr auto loss(auto const& p, auto const& ids, auto const& labels, Noise n = {}) {
    auto const losses = mtf::cross_entropy<vocab>(logits(p, ids, n), labels);
    return mtf::weighted_mean(losses, labels >= 0);
  }

  // --- initial values -----------------------------------------------------------------------------------------------

  // Normal with deviation 0.02; projections into the residual stream less by sqrt(2 layers); biases 0, scales 1.
  template <class Parameters>
  static Parameters initial(auto& machine, mtf::random_key key) {
    Parameters p;
    mtf::for_each_tensor(
        [&](std::string_view path, auto& x) {
          using X = std::remove_reference_t<decltype(x)>;
          auto const name = path.substr(path.rfind('.') + 1);
          if (name.starts_with("gamma"))
            x = mtf::ones<X>(machine);
          else if (name.starts_with("b"))
            x = mtf::zeros<X>(machine);
          else
            x = mtf::random_normal<X>(machine, key.of(layer_name(path)), 0,
                                      name == "wo" || name == "w2" ? 0.02 / std::sqrt(2.0 * C::layers) : 0.02);
        },
        p);
    return p;
  }

 private:
  // "upper.blocks.1.wq" of four layers is layer 3, whatever part it is in.
  static std::string layer_name(std::string_view path) {
    bool const upper = path.starts_with("upper.");
    auto const at = path.find("blocks.");
    if (at == std::string_view::npos) return std::string(path);
    auto const rest = path.substr(at + 7);
    auto const layer = std::stoul(std::string(rest)) + (upper ? lower_layers : 0);
    return "blocks." + std::to_string(layer) + std::string(rest.substr(rest.find('.')));
  }
};

}  // namespace mtf::gpt2
