#pragma once
// What the tools know of a model: its task. Any class will do that has, for `plan`:
//
//   struct mlp_on_digits {
//     using dimensions = std::tuple<batch, pixels, hidden, digit>;   // those that a layout may split
//     template <template <class...> class Tensor>
//     struct parameters { ...; MTF_FIELDS(...); };
//     using inputs = std::tuple<mtf::input<float, batch, pixels>, mtf::input<int, batch>>;   // a batch
//     static constexpr auto loss(auto const& p, auto const& x, auto const& label);           // a scalar tensor
//
// and for `train` besides:
//
//     template <class Parameters>
//     static Parameters initial(auto& machine, mtf::random_key key);
//     explicit mlp_on_digits(auto const& asked);   // tools::data_options
//     template <class Batch>                       // a std::tuple of tensors, as `inputs` says
//     Batch batch_of(auto& machine, int step, std::int64_t i) const;   // the i-th of a step: others in each step
//     template <class Batch>
//     double metric(auto& machine, auto const& p) const;   // how good it is; all ranks get the same
//   };
//
// What it also has is used:
//
//     template <class Batch>   // --sample
//     std::string sample(auto& machine, auto const& p, int count, mtf::random_key key) const;
//     mtf::run_description about() const;     // the report: data, what `metric` is in, what is to be beaten
//     mtf::checkpoint_notes same() const;     // what a resumed run must share with the one before
//     double weight_of(int step, std::int64_t i) const;   // how much a batch counts of several in a step
//     struct noise { double rate; mtf::random_key key; };   // loss's last argument: --dropout
//     static auto recomputed_if(bool, noise);   // in its place, of a loss that can recompute: --recompute
//     struct settings { double epsilon = 1e-6; };   // numbers that are no sizes: in loss behind the inputs
//     static settings settings_from_config(mtf::config_values const& config);   // which may be empty
//     static constexpr char const* model_type;   // as config.json and --model-type have it, where a program has
//     several
//
//     template <class Layout>   // --upper-layout
//     using with_upper_layout = ...;   // the task whose upper half of the layers has that
//
//     static constexpr bool takes_buckets = true;   // --buckets: batches of several extents, which batch_of gives
//     std::vector<std::pair<mtf::extents_value, double>> batch_extents() const;   // all of them, and the share of each
//
//     using sizes = std::tuple<layers, batch, ...>;   // in place of `dimensions`: what a command line shows, or asks
//
//     static constexpr std::array<char const*, 2> input_names;   // in plans
//     static constexpr char const* reads;   // what --data takes
//     static constexpr char const* item;    // what speeds count
//     std::int64_t items() const;           // and so many a batch
//
// Dimensions without an extent are asked for on the command line, --batch and so on, and then it may have:
//
//     static mtf::extents_value default_sizes();
//     static mtf::extents_value extents_from(mtf::extents_value const& asked);   // with what follows from others
//     static mtf::extents_value sizes_from_config(mtf::config_values const& config);   // of another tool's
//
// mtf::models::language_task makes one of a language model.
#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/plan_of.hpp>

namespace mtf::tools {

/// What a task's data are made by.
struct data_options {
  std::string data;                     // a path
  mtf::random_key seed{0};              // of the run
  std::int64_t batches = 1;             // in a step
  double validation_share = 0.1;        // of the data, kept from training
  mtf::extents_value extents{};         // of dimensions that are values
  mtf::config_values config{};          // of another tool's file that the sizes are from; empty: there is none
  std::vector<std::int64_t> buckets{};  // of a task that takes them: shorter sequences
};

/// A list of dimensions.
template <class List>
inline constexpr bool is_dimensions = false;
template <template <class...> class List, class... Dims>
inline constexpr bool is_dimensions<List<Dims...>> = sizeof...(Dims) > 0 && (mtf::dimension<Dims> && ...);

/// A list of mtf::input.
template <class List>
inline constexpr bool is_inputs = false;
template <class T>
inline constexpr bool is_input = false;
template <class T, mtf::dimension... Dims>
inline constexpr bool is_input<mtf::input<T, Dims...>> = true;
template <template <class...> class List, class... In>
inline constexpr bool is_inputs<List<In...>> = sizeof...(In) > 0 && (is_input<In> && ...);

/// The tensor of an input at a place.
template <class In, class Place>
struct tensor_at;
template <class T, mtf::dimension... Dims, class Place>
struct tensor_at<mtf::input<T, Dims...>, Place> {
  using type = typename Place::template rebound<T>::template tensor<Dims...>;
};
/// Those of a batch, as a tuple.
template <class Inputs, class Place>
struct batch_at;
template <template <class...> class List, class... In, class Place>
struct batch_at<List<In...>, Place> {
  using type = std::tuple<typename tensor_at<In, Place>::type...>;
};

template <class Task>
concept has_dimensions = requires { requires is_dimensions<typename Task::dimensions>; };
template <class Task>
concept has_parameters =
    requires { typename Task::template parameters<mtf::place<float, mtf::any_layout<>>::template tensor>; };
template <class Task>
concept has_inputs = requires { requires is_inputs<typename Task::inputs>; };
template <class Task>
concept has_noise = requires(typename Task::noise& n, mtf::random_key key) { n = {0.5, key}; };
template <class Task>
concept has_settings = requires(mtf::config_values const& config) { Task::settings_from_config(config); };
template <class Task>
concept can_recompute = has_noise<Task> && requires(typename Task::noise n) { Task::recomputed_if(true, n); };
template <class Task>
concept has_buckets = requires { requires Task::takes_buckets; };
template <class Task>
concept has_upper_layout = requires { typename Task::template with_upper_layout<mtf::any_layout<1>>; };

/// A batch, and behind it the settings of a task that has some.
template <class Task, class Batch>
struct with_settings_behind {
  using type = Batch;
};
template <has_settings Task, class... X>
struct with_settings_behind<Task, std::tuple<X...>> {
  using type = std::tuple<X..., typename Task::settings>;
};
/// Can a loss be had of these parameters and this batch, as training_loss asks for it?
template <class Task, bool Recomputes, class Parameters, class Batch>
inline constexpr bool has_loss = false;
template <class Task, bool Recomputes, class Parameters, class... X>
inline constexpr bool has_loss<Task, Recomputes, Parameters, std::tuple<X...>> = [] {
  if constexpr (Recomputes && can_recompute<Task>)
    return requires(Parameters const& p, X const&... x, typename Task::noise n) {
      Task::loss(p, x..., Task::recomputed_if(true, n));
    };
  else if constexpr (has_noise<Task>)
    return requires(Parameters const& p, X const&... x, typename Task::noise n) { Task::loss(p, x..., n); };
  else
    return requires(Parameters const& p, X const&... x) { Task::loss(p, x...); };
}();

template <class Task, class Backend, class Parameters>
concept has_initial = requires(Backend& machine, mtf::random_key key) {
  { Task::template initial<Parameters>(machine, key) } -> std::convertible_to<Parameters>;
};
template <class Task>
concept has_data = std::constructible_from<Task, data_options const&>;
template <class Task, class Backend, class Batch>
concept has_batch = requires(Task const& task, Backend& machine) {
  { task.template batch_of<Batch>(machine, 0, std::int64_t{0}) } -> std::convertible_to<Batch>;
};
template <class Task, class Backend, class Parameters, class Batch>
concept has_metric = requires(Task const& task, Backend& machine, Parameters const& p) {
  { task.template metric<Batch>(machine, p) } -> std::convertible_to<double>;
};
template <class Task, class Backend, class Parameters, class Batch>
concept has_sample = requires(Task const& task, Backend& machine, Parameters const& p, mtf::random_key key) {
  { task.template sample<Batch>(machine, p, 1, key) } -> std::convertible_to<std::string>;
};

/// What a class lacks, so that it is a task.
enum class missing : std::uint8_t { nothing, dimensions, parameters, inputs, loss, initial, data, batch, metric };

/// The first thing that any tool does not find.
template <class Task>
consteval missing missing_in_description() {
  if constexpr (!has_dimensions<Task>)
    return missing::dimensions;
  else if constexpr (!has_parameters<Task>)
    return missing::parameters;
  else if constexpr (!has_inputs<Task>)
    return missing::inputs;
  else
    return missing::nothing;
}
/// Whether a class has what any tool needs. (What it lacks is said once: whoever asks for more must have asked this.)
template <class Task>
concept described = missing_in_description<Task>() == missing::nothing;
/// The first thing that a plan does not find, of tensors at Place; a program that takes any layout also Recomputes.
template <class Task, class Place, bool Recomputes>
consteval missing missing_for_plan() {
  if constexpr (!described<Task>)
    return missing_in_description<Task>();
  else if constexpr (!has_loss<Task, Recomputes, typename Task::template parameters<Place::template tensor>,
                               typename with_settings_behind<
                                   Task, typename batch_at<typename Task::inputs, Place>::type>::type>)
    return missing::loss;
  else
    return missing::nothing;
}
/// The first thing that `train` does not find.
template <class Task, class Backend, class Parameters, class Batch>
consteval missing missing_for_training() {
  if constexpr (!has_initial<Task, Backend, Parameters>)
    return missing::initial;
  else if constexpr (!has_data<Task>)
    return missing::data;
  else if constexpr (!has_batch<Task, Backend, Batch>)
    return missing::batch;
  else if constexpr (!has_metric<Task, Backend, Parameters, Batch>)
    return missing::metric;
  else
    return missing::nothing;
}

/// Says what is missing.
template <class Task, missing What>
struct checked_task {
  static_assert(
      What != missing::dimensions,
      "mtf: a task lists the dimensions that a layout may split: using dimensions = std::tuple<batch, hidden>;");
  static_assert(What != missing::parameters,
                "mtf: a task has parameters: template <template <class...> class Tensor> struct parameters { "
                "Tensor<hidden> b; MTF_FIELDS(b); };");
  static_assert(What != missing::inputs,
                "mtf: a task says what a batch is: using inputs = std::tuple<mtf::input<float, batch, hidden>>;");
  static_assert(What != missing::loss,
                "mtf: a task has a loss of its parameters and of the tensors in `inputs`: static constexpr auto "
                "loss(auto const& p, auto const& x)");
  static_assert(What != missing::initial,
                "mtf: a task that is trained has initial values: template <class Parameters> static Parameters "
                "initial(auto& machine, mtf::random_key key)");
  static_assert(
      What != missing::data,
      "mtf: a task that is trained is made of its data: explicit task(auto const& asked), where asked.data is "
      "the path that --data says");
  static_assert(
      What != missing::batch,
      "mtf: a task that is trained has batches: template <class Batch> Batch batch_of(auto& machine, int step, "
      "std::int64_t i) const");
  static_assert(What != missing::metric,
                "mtf: a task that is trained says how good it is: template <class Batch> double metric(auto& machine, "
                "auto const& p) const");
  static constexpr bool value = What == missing::nothing;
};

}  // namespace mtf::tools
