// cuDNN's fused attention (Dao 2023), by its graphs: one for each shape and pass, built once. The only file that knows
// it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cudnn_frontend.h>

#include <mtf/kokkos/vendor/fused_attention.hpp>

namespace mtf::kokkos {
namespace {

namespace fe = cudnn_frontend;
using graph_type = fe::graph::Graph;
using sizes = std::vector<std::int64_t>;

enum uid : std::int64_t { of_none, uid_q, uid_k, uid_v, uid_out, uid_stats, uid_dout, uid_dq, uid_dk, uid_dv };

void check(fe::error_t e, char const* what) {
  if (e.is_bad()) throw std::runtime_error(std::string("mtf: cuDNN failed in ") + what + ": " + e.get_message());
}

sizes strides_of(fused_shape::strides const& x) { return {x.batch, x.head, x.row, 1}; }

/// A stride of what there is one of has no meaning for us; for cuDNN it should be as if there were more.
fused_shape with_all_strides(fused_shape s) {
  auto const fill = [&](fused_shape::strides& x, index rows) {
    if (x.head == 0) x.head = x.row * rows;
    if (x.batch == 0) x.batch = x.head * s.heads;
  };
  fill(s.q, s.queries);
  fill(s.out, s.queries);
  fill(s.k, s.keys);
  fill(s.v, s.keys);
  return s;
}

struct pass_graph {
  graph_type graph;
  std::size_t bytes = 0;
};

class graphs_of {
 public:
  explicit graphs_of(fused_shape const& of) : s_(with_all_strides(of)) {}

  void forward(graph_type& g) const {
    begin(g);
    auto options = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
    say(options);
    auto const [out, stats] = g.sdpa(q(g), k(g), v(g), options);
    output(out, uid_out, out_sizes(), strides_of(s_.out));
    output(stats, uid_stats, {s_.batch, s_.heads, s_.queries, 1}, {s_.heads * s_.queries, s_.queries, 1, 1});
    stats->set_data_type(fe::DataType_t::FLOAT);
  }
  void backward(graph_type& g) const {
    begin(g);
    // (Else sums over blocks of queries are added up in any order.)
    auto options = fe::graph::SDPA_backward_attributes().set_name("attention_vjp").set_deterministic_algorithm(true);
    say(options);
    auto const out = input(g, uid_out, out_sizes(), strides_of(s_.out));
    auto const dout = input(g, uid_dout, out_sizes(), strides_of(s_.out));
    auto const stats =
        input(g, uid_stats, {s_.batch, s_.heads, s_.queries, 1}, {s_.heads * s_.queries, s_.queries, 1, 1});
    stats->set_data_type(fe::DataType_t::FLOAT);
    auto const [dq, dk, dv] = g.sdpa_backward(q(g), k(g), v(g), out, dout, stats, options);
    output(dq, uid_dq, {s_.batch, s_.heads, s_.queries, s_.head}, strides_of(s_.q));
    output(dk, uid_dk, {s_.batch, s_.heads / s_.shared, s_.keys, s_.head}, strides_of(s_.k));
    output(dv, uid_dv, {s_.batch, s_.heads / s_.shared, s_.keys, s_.values}, strides_of(s_.v));
  }

 private:
  using tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

  static void begin(graph_type& g) {
    g.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }
  static tensor input(graph_type& g, uid id, sizes const& dim, sizes const& stride) {
    return g.tensor(fe::graph::Tensor_attributes().set_uid(id).set_dim(dim).set_stride(stride));
  }
  static void output(tensor const& x, uid id, sizes const& dim, sizes const& stride) {
    x->set_output(true).set_uid(id).set_dim(dim).set_stride(stride);
  }
  [[nodiscard]] sizes out_sizes() const { return {s_.batch, s_.heads, s_.queries, s_.values}; }
  [[nodiscard]] tensor q(graph_type& g) const {
    return input(g, uid_q, {s_.batch, s_.heads, s_.queries, s_.head}, strides_of(s_.q));
  }
  [[nodiscard]] tensor k(graph_type& g) const {
    return input(g, uid_k, {s_.batch, s_.heads / s_.shared, s_.keys, s_.head}, strides_of(s_.k));
  }
  [[nodiscard]] tensor v(graph_type& g) const {
    return input(g, uid_v, {s_.batch, s_.heads / s_.shared, s_.keys, s_.values}, strides_of(s_.v));
  }
  template <class Options>
  void say(Options& options) const {
    options.set_attn_scale(static_cast<float>(s_.scale));
    if (s_.seen == fused_shape::band::everything) return;
    options
        .set_diagonal_alignment(s_.seen == fused_shape::band::from_the_first ? fe::DiagonalAlignment_t::TOP_LEFT
                                                                             : fe::DiagonalAlignment_t::BOTTOM_RIGHT)
        .set_diagonal_band_right_bound(0);
    if (s_.window > 0) options.set_diagonal_band_left_bound(static_cast<int>(s_.window));
  }

  fused_shape s_;
};

/// Of a graph whose operations are said: whether there is a kernel for it.
fe::error_t supported(graph_type& g, cudnnHandle_t handle) {
  if (auto e = g.validate(); e.is_bad()) return e;
  if (auto e = handle != nullptr ? g.build_operation_graph(handle) : g.build_operation_graph(); e.is_bad()) return e;
  if (auto e = g.create_execution_plans({fe::HeurMode_t::A}); e.is_bad()) return e;
  return g.check_support();
}

struct hash {
  std::size_t operator()(fused_shape const& s) const {
    std::size_t h = std::hash<double>{}(s.scale);
    for (index const x : {s.batch, s.heads, s.shared, s.queries, s.keys, s.head, s.values, s.q.batch, s.q.head, s.q.row,
                          s.k.batch, s.k.row, s.v.row, s.out.row, static_cast<index>(s.seen), s.window})
      h = (h ^ std::hash<index>{}(x)) * 0x9e3779b97f4a7c15ULL;
    return h;
  }
};

}  // namespace

struct fused_attention::state {
  struct passes {
    pass_graph forward, backward;
  };
  state() {
    if (cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS) handle = nullptr;  // then it has nothing
  }
  ~state() {
    if (handle != nullptr) cudnnDestroy(handle);
  }
  state(state const&) = delete;
  state& operator=(state const&) = delete;

  /// Null: there are none, or they would need more memory than the scores of some sequences at a time. (On Hopper the
  /// backward pass that adds up in one order stores two bytes for each pair of a query and a key.)
  passes* find(fused_shape const& of) {
    if (auto const known = all.find(of); known != all.end()) return known->second.get();
    if (all.size() >= most_shapes) return nullptr;
    auto made = std::make_unique<passes>();
    graphs_of const graphs(of);
    graphs.forward(made->forward.graph);
    graphs.backward(made->backward.graph);
    for (auto* const pass : {&made->forward, &made->backward})
      if (made && !built(*pass)) made.reset();
    return all.emplace(of, std::move(made)).first->second.get();
  }
  bool built(pass_graph& pass) const {
    if (supported(pass.graph, handle).is_bad() || pass.graph.build_plans(handle).is_bad()) return false;
    pass.bytes = static_cast<std::size_t>(pass.graph.get_workspace_size());
    return pass.bytes <= most_bytes;
  }
  void execute(void* stream, pass_graph& pass, std::unordered_map<std::int64_t, void*> pointers,
               void* workspace) const {
    if (cudnnSetStream(handle, static_cast<cudaStream_t>(stream)) != CUDNN_STATUS_SUCCESS)
      throw std::runtime_error("mtf: cuDNN failed in cudnnSetStream");
    check(pass.graph.execute(handle, pointers, workspace), "execute");
  }

  static constexpr std::size_t most_bytes = std::size_t{1} << 30U, most_shapes = 256;
  cudnnHandle_t handle{};
  std::unordered_map<fused_shape, std::unique_ptr<passes>, hash> all;
};

fused_attention::fused_attention() = default;
fused_attention::~fused_attention() { delete state_; }
bool fused_attention::has(fused_shape const& of) {
  if (state_ == nullptr) state_ = new state;
  return state_->handle != nullptr && state_->find(of) != nullptr;
}
std::size_t fused_attention::forward_bytes(fused_shape const& of) { return state_->find(of)->forward.bytes; }
std::size_t fused_attention::backward_bytes(fused_shape const& of) { return state_->find(of)->backward.bytes; }

namespace {
void* as_argument(void const* p) { return const_cast<void*>(p); }  // NOLINT: cuDNN takes no other
}  // namespace

void fused_attention::forward(void* stream, fused_shape const& of, void* out, float* stats, void const* q,
                              void const* k, void const* v, void* workspace) {
  state_->execute(
      stream, state_->find(of)->forward,
      {{uid_q, as_argument(q)}, {uid_k, as_argument(k)}, {uid_v, as_argument(v)}, {uid_out, out}, {uid_stats, stats}},
      workspace);
}
void fused_attention::backward(void* stream, fused_shape const& of, void* dq, void* dk, void* dv, void const* q,
                               void const* k, void const* v, void const* out, float const* stats, void const* dout,
                               void* workspace) {
  state_->execute(stream, state_->find(of)->backward,
                  {{uid_q, as_argument(q)},
                   {uid_k, as_argument(k)},
                   {uid_v, as_argument(v)},
                   {uid_out, as_argument(out)},
                   {uid_stats, as_argument(stats)},
                   {uid_dout, as_argument(dout)},
                   {uid_dq, dq},
                   {uid_dk, dk},
                   {uid_dv, dv}},
                  workspace);
}

std::optional<std::string> no_fused_attention(fused_shape const& of, std::string const& device) {
  auto const properties = std::make_shared<fe::DeviceProperties>();
  check(properties->deserialize({device.begin(), device.end()}), "the properties of a device");
  graphs_of const graphs(of);
  graph_type forward, backward;
  for (auto* const g : {&forward, &backward}) g->set_device_properties(properties).set_sm_version(90);  // first of all
  graphs.forward(forward);
  graphs.backward(backward);
  for (auto* const g : {&forward, &backward}) {
    if (auto e = supported(*g, nullptr); e.is_bad()) return e.get_message();
  }
  return {};
}

}  // namespace mtf::kokkos
