#pragma once
// What a training step is to a backend.

namespace mtf::backend {

/// As long as it lives, one training step runs, of which the backend may launch the work together. Calls begin_step()
/// and end_step(), which throws nothing, of a backend that has them.
template <class Backend>
class step {
 public:
  explicit step(Backend& b) : backend_(&b) {
    if constexpr (requires { b.begin_step(); }) b.begin_step();
  }
  ~step() {
    if constexpr (requires { backend_->end_step(); }) backend_->end_step();
  }
  step(step const&) = delete;
  step& operator=(step const&) = delete;

 private:
  Backend* backend_;
};

}  // namespace mtf::backend
