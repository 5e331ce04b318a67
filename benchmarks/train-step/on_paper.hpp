#pragma once
// The memory of a training step of the example's model, counted on paper.
#include <algorithm>
#include <string_view>
#include <type_traits>

#include <mtf/mtf.hpp>

/// The most that a rank has in a step of AdamW, in bytes, in closed form: of what is large, and computed without a tape
/// or a plan. T: the parameters' elements, or their precision. `recompute`: a layer keeps its input alone.
///
/// All the while there are the parameters, and AdamW's two moments of the part that the rank updates. Beside them the
/// most is alive at one of three moments:
/// - The forward pass has ended. There are the parameters' copies in the type that is computed in, if that is another;
///   what the layers keep; at the end what the last norm reads and gives, the logits and their gradient. A layer keeps
///   what both norms read and give, queries, keys, values, what attention gives, and the MLP's inner values before and
///   after gelu; if it is computed again, the first of these.
/// - The backward pass is in the first layer, between the MLP's two matrices. There are the gradients but for those of
///   the embeddings and of this layer, of which there is the second matrix's; what this layer keeps, as it was computed
///   again, and its copies of parameters; the gradients of its result and of the MLP's inner values.
/// - The backward pass is over. There are all gradients, and, if the output is the token embedding too, what both
///   contributed to its gradient.
template <class Model, class Config, class T, class Layout, class Split>
double bytes_on_paper(bool recompute) {
  using place = mtf::place<T, Layout>;
  using parameters = typename Model::template parameters<place::template tensor>;
  using computed = decltype(mtf::as_computed_t<parameters>{}.gamma_f);
  constexpr bool copied = !std::is_same_v<mtf::as_computed_t<parameters>, parameters>;
  constexpr double element = sizeof(typename computed::element_type),
                   gradient = sizeof(typename decltype(mtf::gradients_t<parameters>{}.gamma_f)::element_type);
  double after_forward = 0, in_first_layer = 0, at_end = 0;
  parameters const named;
  mtf::for_each_tensor(
      [&](std::string_view name, auto const& x) {
        using X = std::remove_cvref_t<decltype(x)>;
        constexpr double all = X::local_size, part = mtf::state_part_t<X, Split>::local_size;
        double const held = all * sizeof(float) + part * 2 * sizeof(float), copy = copied ? all * element : 0;
        bool const first_layer = name.starts_with("blocks.0.");
        bool const last = name == "position_embedding" || (name == "token_embedding" && !Config::tied_output);
        after_forward += held + copy;
        in_first_layer += held + (first_layer ? copy : 0);
        if (first_layer ? name == "blocks.0.w2" : !last) in_first_layer += part * gradient;
        at_end += held + part * gradient + (name == "token_embedding" && Config::tied_output ? all * element : 0);
      },
      named);
  using C = Config;
  auto const size = []<class... D>() {
    return element * static_cast<double>(mtf::place<float, Layout>::template tensor<D...>::local_size);
  };
  double const x = size.template operator()<typename C::batch, typename C::sequence, typename C::d_model>();
  double const q =
      size.template operator()<typename C::batch, typename C::sequence, typename C::heads, typename C::d_head>();
  double const k =
      size.template operator()<typename C::batch, typename C::memory, typename C::heads, typename C::d_head>();
  double const inner = size.template operator()<typename C::batch, typename C::sequence, typename C::d_ff>();
  double const logits = size.template operator()<typename C::batch, typename C::sequence, typename C::vocab>();
  double const layer = 4 * x + 2 * q + 2 * k + 2 * inner;
  after_forward += C::layers::extent * (recompute ? x : layer) + 2 * x + 2 * logits;
  in_first_layer += layer + x + inner;
  return std::max({after_forward, in_first_layer, at_end});
}
