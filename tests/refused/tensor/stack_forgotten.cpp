// A structure's fields leave out a stack of layers, whose number is a value: it counts as one.
// expect[GNU]: error_fields<mlp, 3, 1>
// expect[Clang]: error_fields<mlp, 3, 1>
// expect[NVIDIA]: error_fields<
// expect: error: static assertion failed.*mtf: the MTF_FIELDS of a structure do not name each of its tensors once
#include "names.hpp"
#include <mtf/plan/plan_under.hpp>

struct layers : mtf::dim<"layers"> {};
template <template <class...> class Tensor>
struct layer {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
template <template <class...> class Tensor>
struct mlp {
  mtf::stack<layers, layer<Tensor>> all;
  Tensor<digit> last;
#ifdef MTF_CONTROL
  MTF_FIELDS(all, last);
#else
  MTF_FIELDS(last);
#endif
};

constexpr auto loss = [](auto const& p, auto const& x) { return mtf::mean(mtf::sum<hidden>(x) * mtf::mean(p.last)); };
static_assert(mtf::plan_under(loss, mtf::layout_value{}, mtf::extents_value{{"layers", 2}}, mtf::parameters<mlp>{},
                              mtf::input<float, batch, hidden>{})
                  .collectives.empty());
