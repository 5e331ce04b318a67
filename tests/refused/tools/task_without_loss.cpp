// A task whose loss takes less than a batch has.
// expect: error: static assertion failed.*mtf: a task has a loss of its parameters and of the tensors in .inputs.
#include "names.hpp"

#include "../../../tools/task.hpp"

struct task {
  using dimensions = std::tuple<batch, hidden>;
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<hidden> w;
    MTF_FIELDS(w);
  };
  using inputs = std::tuple<mtf::input<float, batch, hidden>, mtf::input<float, batch>>;
#ifdef MTF_CONTROL
  static constexpr auto loss(auto const& p, auto const& x, auto const& y) {
    return mtf::mean(mtf::einsum<batch>(x, p.w) * y);
  }
#else
  static constexpr auto loss(auto const& p, auto const& x) { return mtf::mean(mtf::einsum<batch>(x, p.w)); }
#endif
};

constexpr auto lacks = mtf::tools::missing_for_plan<task, mtf::place<float, mtf::any_layout<>>, false>();
constexpr bool checked = mtf::tools::checked_task<task, lacks>::value;
