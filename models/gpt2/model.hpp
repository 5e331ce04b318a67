#pragma once
// A decoder-only language model: learned positions, pre-norm blocks of multi-head attention and a gelu MLP (GPT-2's
// architecture, Radford et al. 2019). Nothing here says how it is split over the machine: the layout does.
//
// Shapes stand behind each line. A config names the dimensions (config.hpp); `memory` is `sequence` under a second
// name, for the keys and values that a query looks back at.
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/checkpoint/stored_names.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/nn/attention.hpp>
#include <mtf/tensor/extent.hpp>
#include <mtf/tensor/stack.hpp>

#include "hugging_face.hpp"
#include "settings.hpp"

namespace mtf::gpt2 {

/// What a config says of what may be a value (config.hpp). In types: as many positions as a sequence has tokens, tied
/// or untied output.
template <class C>
struct parts_of {
  using positions = typename C::sequence;
  template <class Weights>
  using outputs = std::array<Weights, C::tied_output ? 0 : 1>;
  using dimensions = std::tuple<>;
  using counts = std::tuple<>;
  struct lower_layers : mtf::dim<"layers", C::layers::extent - C::layers::extent / 2> {};
  struct upper_layers : mtf::dim<"upper_layers", C::layers::extent / 2> {};
};
template <class C>
  requires requires { typename C::untied_output; }
struct parts_of<C> {
  using positions = typename C::positions;
  template <class Weights>
  using outputs = mtf::stack<typename C::untied_output, Weights>;
  using dimensions = std::tuple<positions>;
  using counts = std::tuple<typename C::untied_output>;
  using lower_layers = typename C::layers;
  struct upper_layers : mtf::dim<"upper_layers"> {};
};
template <class... List>
struct join;
template <class... A>
struct join<std::tuple<A...>> {
  using type = std::tuple<A...>;
};
template <class... A, class... B, class... More>
struct join<std::tuple<A...>, std::tuple<B...>, More...> : join<std::tuple<A..., B...>, More...> {};
template <class... List>
using joined = typename join<List...>::type;

/// GPT-2 of the sizes that a config has. Upper: the layout of the upper half of the layers, if it is another one than
/// that of the parameters. (`task.hpp` gives it data.)
template <class C, class Upper = void>
struct model {
  using batch = typename C::batch;
  using sequence = typename C::sequence;
  using memory = typename C::memory;
  using positions = typename parts_of<C>::positions;
  using d_model = typename C::d_model;
  using heads = typename C::heads;
  using d_head = typename C::d_head;
  using d_ff = typename C::d_ff;
  using vocab = typename C::vocab;
  // Those that a layout may split.
  using dimensions = joined<std::tuple<batch, sequence, memory, d_model, heads, d_head, d_ff, vocab>,
                            typename parts_of<C>::dimensions>;
  // What the command line may say, in this order.
  using sizes = joined<std::tuple<typename C::layers, batch, sequence>, typename parts_of<C>::dimensions,
                       std::tuple<d_model, heads, d_head, d_ff, vocab>, typename parts_of<C>::counts>;
  using settings = mtf::gpt2::settings;
  static constexpr char const* model_type = "gpt2";
  template <class Layout>
  using with_upper_layout = model<C, Layout>;

  // --- sizes that are values, as tools ask for them ------------------------------------------------------------------

  static mtf::extents_value default_sizes()
    requires requires { C::defaults(); }
  {
    return C::defaults();
  }
  // All extents, of sizes that were asked for.
  static mtf::extents_value extents_from(mtf::extents_value const& asked)
    requires requires { C::completed(asked); }
  {
    auto all = C::completed(asked);
    if (auto const n = all.find("layers"); two_layouts && n)
      all.give({{"layers", *n - *n / 2}, {"upper_layers", *n / 2}});
    return all;
  }

  // --- files of Hugging Face's ---------------------------------------------------------------------------------------

  static mtf::extents_value sizes_from_config(mtf::config_values const& config) { return sizes_of_config(config); }
  static settings settings_from_config(mtf::config_values const& config) { return settings_of_config(config); }
  // `sizes`: all of the model's, by their names.
  static std::string config_from_sizes(mtf::extents_value sizes, settings const& s = {}) {
    if constexpr (requires { C::tied_output; }) sizes.give("untied_output", C::tied_output ? 0 : 1);
    if (auto const n = sizes.find("sequence"); n && std::is_same_v<positions, sequence>) sizes.give("positions", *n);
    return config_of_sizes(sizes, s);
  }
  static mtf::stored_names names_in_files(mtf::extents_value const& sizes) {
    auto const layers = sizes.find("layers");
    return mtf::gpt2::names_in_files(two_layouts && layers ? std::optional(*layers - *layers / 2) : std::nullopt);
  }

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
  using lower_layers = std::conditional_t<two_layouts, typename parts_of<C>::lower_layers, typename C::layers>;
  template <template <class...> class Tensor, class Layout>
  struct upper_part {
    mtf::stack<typename parts_of<C>::upper_layers, block<mtf::relaid<Tensor, Layout>::template tensor>> blocks;
    MTF_FIELDS(blocks);
  };
  template <template <class...> class Tensor>
  struct upper_part<Tensor, void> {
    MTF_FIELDS();
  };

  template <template <class...> class Tensor>
  struct parameters {
    Tensor<vocab, d_model> token_embedding;
    Tensor<positions, d_model> position_embedding;
    mtf::stack<lower_layers, block<Tensor>> blocks;
    upper_part<Tensor, Upper> upper;
    Tensor<d_model> gamma_f, beta_f;
    typename parts_of<C>::template outputs<Tensor<d_model, vocab>> output;  // none: the token embedding, transposed
    MTF_FIELDS(token_embedding, position_embedding, blocks, upper, gamma_f, beta_f, output);
  };

  // --- the network --------------------------------------------------------------------------------------------------

  // Queries [batch, sequence, heads, d_head] of keys and values of `memory`. seen: a mtf::visible, or also lengths.
  static constexpr auto gathered(auto const& q, auto const& k, auto const& v, auto const&... seen) {
    return mtf::attention<sequence, memory, d_head>(q, k, v, seen...,
                                                    1 / mtf::math::sqrt(static_cast<double>(mtf::extent<d_head>(q))));
  }

  // x [batch, sequence, d_model] -> the same
  static constexpr auto attention(auto const& p, auto const& x, double epsilon) {
    auto const h = mtf::layer_norm<d_model>(x, p.gamma1, p.beta1, epsilon);
    auto const q = mtf::linear<batch, sequence, heads, d_head>(h, p.wq, p.bq);
    auto const k = mtf::rename<sequence, memory>(mtf::linear<batch, sequence, heads, d_head>(h, p.wk, p.bk));
    auto const v = mtf::rename<sequence, memory>(mtf::linear<batch, sequence, heads, d_head>(h, p.wv, p.bv));
    return mtf::linear<batch, sequence, d_model>(gathered(q, k, v, mtf::visible::causal()), p.wo, p.bo);
  }

  struct bias_gelu {
    template <class X, class B>
    MTF_FUNCTION auto operator()(X x, B bias) const {
      return mtf::math::gelu(x + bias);
    }
  };

  // x [batch, sequence, d_model] -> the same
  static constexpr auto feed_forward(auto const& p, auto const& x, double epsilon) {
    auto const h = mtf::layer_norm<d_model>(x, p.gamma2, p.beta2, epsilon);
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
    constexpr auto operator()(auto const& p, auto const& before, double epsilon, double rate,
                              mtf::random_key key) const {
      auto const middle = before + mtf::dropout(attention(p, before, epsilon), rate, key.of("attention"));
      return middle + mtf::dropout(feed_forward(p, middle, epsilon), rate, key.of("feed forward"));
    }
  };

  // Layers `first`, `first` + 1, ... of the network.
  template <class Noise>
  static constexpr auto through(auto const& blocks, auto const& x, settings const& s, Noise n, std::size_t first) {
    return mtf::scan(blocks, x, [&](auto const& block, auto const& before, std::size_t i) {
      auto const key = n.key.of(first + i);
      if constexpr (std::is_same_v<Noise, noise_and_recompute>)
        if (n.recompute) return mtf::recompute(layer{}, block, before, s.epsilon, n.rate, key);
      return layer{}(block, before, s.epsilon, n.rate, key);
    });
  }

  // [sequence, d_model]: of a table that is longer than a sequence its first rows.
  static constexpr auto first_positions(auto const& table, [[maybe_unused]] auto const& tokens) {
    if constexpr (std::is_same_v<positions, sequence>)
      return table;
    else
      return C::first_positions(table, tokens);
  }

  // f(table): of the output, [vocab, d_model] in whatever order.
  static constexpr auto with_output(auto const& p, auto const& f) {
    if constexpr (requires { typename C::untied_output; }) {
      if (p.output.size() == 0) return f(p.token_embedding);
      return f(p.output[0]);
    } else if constexpr (C::tied_output) {
      return f(p.token_embedding);
    } else {
      return f(p.output[0]);
    }
  }
  // h [batch, rows, d_model] -> [batch, rows, vocab]
  template <class Rows = sequence>
  static constexpr auto projected(auto const& p, auto const& h) {
    return with_output(p, [&](auto const& table) { return mtf::einsum<batch, Rows, vocab>(h, table); });
  }

  // ids [batch, sequence] -> [batch, sequence, d_model], what the output projects. Of parameters as computed.
  template <class Noise = noise>
  static constexpr auto features(auto const& p, auto const& ids, settings const& s = {}, Noise n = {}) {
    auto const tokens = mtf::embedding<vocab>(p.token_embedding, ids);
    auto const embedded =
        mtf::dropout(tokens + first_positions(p.position_embedding, tokens), n.rate, n.key.of("embedding"));
    auto x = through(p.blocks, embedded, s, n, 0);
    if constexpr (two_layouts)
      x = mtf::relayout<typename decltype(x)::layout_type>(
          through(p.upper.blocks, mtf::relayout<Upper>(x), s, n, p.blocks.size()));
    return mtf::layer_norm<d_model>(x, p.gamma_f, p.beta_f, s.epsilon);
  }
  // ids [batch, sequence] -> logits [batch, sequence, vocab]
  template <class Noise = noise>
  static constexpr auto logits(auto const& parameters, auto const& ids, settings const& s = {}, Noise n = {}) {
    auto const& p = mtf::as_computed(parameters);
    return projected(p, features(p, ids, s, n));
  }

  // The mean cross-entropy of predicting labels [batch, sequence], in nats. Negative labels stand for none.
  template <class Noise = noise>
  static constexpr auto loss(auto const& p, auto const& ids, auto const& labels, settings const& s = {}, Noise n = {}) {
    auto const losses = mtf::cross_entropy<vocab>(logits(p, ids, s, n), labels);
    return mtf::weighted_mean(losses, labels >= 0);
  }

  // --- initial values -----------------------------------------------------------------------------------------------

  // Normal with deviation 0.02; projections into the residual stream less by sqrt(2 layers); biases 0, scales 1.
  template <class Parameters>
  static Parameters initial(auto& machine, mtf::random_key key) {
    auto p = mtf::sized<Parameters>(machine);
    std::size_t const lower = p.blocks.size();
    std::size_t all = lower;
    if constexpr (two_layouts) all += p.upper.blocks.size();
    mtf::for_each_tensor(
        [&](std::string_view path, auto& x) {
          using X = std::remove_reference_t<decltype(x)>;
          auto const name = path.substr(path.rfind('.') + 1);
          if (name.starts_with("gamma"))
            x = mtf::ones<X>(machine);
          else if (name.starts_with("b"))
            x = mtf::zeros<X>(machine);
          else
            x = mtf::random_normal<X>(
                machine, key.of(layer_name(path, lower)), 0,
                name == "wo" || name == "w2" ? 0.02 / std::sqrt(2.0 * static_cast<double>(all)) : 0.02);
        },
        p);
    return p;
  }

 private:
  // "upper.blocks.1.wq" of four layers, two of them lower, is layer 3, whatever part it is in.
  static std::string layer_name(std::string_view path, std::size_t lower) {
    bool const upper = path.starts_with("upper.");
    auto const at = path.find("blocks.");
    if (at == std::string_view::npos) return std::string(path);
    auto const rest = path.substr(at + 7);
    auto const layer = std::stoul(std::string(rest)) + (upper ? lower : 0);
    return "blocks." + std::to_string(layer) + std::string(rest.substr(rest.find('.')));
  }
};

}  // namespace mtf::gpt2
