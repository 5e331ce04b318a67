// A task that can be planned, and is trained, without saying how good it is.
// expect: error: static assertion failed.*mtf: a task that is trained says how good it is: template <class Batch> double metric
#include "names.hpp"

#include "../../../tools/task.hpp"

struct task {
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<hidden> w;
    MTF_FIELDS(w);
  };
  template <class Parameters>
  static Parameters initial(auto& machine, mtf::random_key) {
    return {mtf::zeros<decltype(Parameters::w)>(machine)};
  }
  explicit task(auto const& asked) : path(asked.data) {}
  template <class Batch>
  Batch batch_of(auto& machine, int, std::int64_t) const {
    return {mtf::zeros<std::tuple_element_t<0, Batch>>(machine)};
  }
#ifdef MTF_CONTROL
  template <class Batch>
  double metric(auto&, auto const&) const {
    return 0;
  }
#endif
  std::string path;
};

using here = mtf::place<float, mtf::any_layout<>>;
constexpr auto lacks = mtf::tools::missing_for_training<task, mtf::trace, task::parameters<here::tensor>,
                                                        std::tuple<here::tensor<batch, hidden>>>();
constexpr bool checked = mtf::tools::checked_task<task, lacks>::value;
