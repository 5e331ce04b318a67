// Adafactor's factored moments of padded dimensions are those without pads.
// links: checkpoint
// devices: none
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/checkpoint/save.hpp>
#include <mtf/train/adafactor.hpp>

#include "support/named_numbers.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

// As values, and in types.
struct values {
  struct batch : mtf::dim<"batch"> {};
  struct vocab : mtf::dim<"vocab"> {};
};
template <int Batch, int Vocab>
struct types {
  struct batch : mtf::dim<"batch", Batch, mtf::pad_to<8>> {};
  struct vocab : mtf::dim<"vocab", Vocab, mtf::pad_to<8>> {};
  static mtf::extents_value padded() {
    mtf::extents_value all;
    all.give("batch", Batch, 8);
    all.give("vocab", Vocab, 8);
    return all;
  }
};

// Adafactor's moments of matrices that are long enough to be factored.
template <class D>
struct matrix {
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<typename D::batch, typename D::vocab> w;
    MTF_FIELDS(w);
  };
  static named_numbers run(thread_backend& b) {
    using here = mtf::place<double, mtf::any_layout<>, thread_backend>;
    using parameters_here = parameters<here::template tensor>;
    using X = typename here::template tensor<typename D::batch, typename D::vocab>;
    parameters_here p{mtf::random_normal<X>(b, mtf::random_key(1))};
    mtf::adafactor<parameters_here> optimizer(b, {});
    named_numbers all;
    for (int step = 0; step < 4; ++step) {
      auto const target = mtf::random_normal<X>(b, mtf::random_key(2).of(static_cast<std::uint64_t>(step)));
      auto const found =
          mtf::value_and_grad([&](auto const& q) { return mtf::mean(mtf::square(q.w - target)); })(std::as_const(p));
      optimizer.update(b, p, found.gradients, 0.1);
      all[std::to_string(step)] = numbers_of(p.w);
      if (step == 1) {  // what is not in the file is made again
        auto const file = "padding_adafactor_test.adafactor." + std::to_string(b.ranks().mesh().size());
        mtf::save_parts(b.ranks(), file, {}, mtf::stored_as("model", p), mtf::stored_as("optimizer", optimizer));
        mtf::load_parts(b, file, mtf::stored_as("model", p), mtf::stored_as("optimizer", optimizer));
      }
    }
    optimizer.visit_state([&](std::string_view name, auto& state) {
      mtf::for_each_tensor(
          [&](auto, auto const& x) {
            if constexpr (mtf::tensor_type<std::remove_cvref_t<decltype(x)>>)
              if (!x.empty()) all[std::string(name)] = numbers_of(x);
          },
          state);
    });
    return all;
  }
};
template <int Rows, int Columns>
void check_adafactor() {
  using T = types<Rows, Columns>;
  named_numbers expected;
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    b.layouts().add({});
    b.layouts().give({{"batch", Rows}, {"vocab", Columns}});
    expected = matrix<values>::run(b);
  });
  for (char const* const text : {"", "vocab:p", "batch:q;vocab:p", "batch:p+q"})
    on_ranks_of<mtf::mesh_of<"p:2;q:4">>([&](thread_backend& b) {
      CAPTURE(text);
      b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2;q:4"), text));
      check_equal(matrix<T>::run(b), expected);
      b.layouts().give(T::padded());
      check_equal(matrix<values>::run(b), expected);
    });
  std::filesystem::remove_all("padding_adafactor_test.adafactor.1");
  std::filesystem::remove_all("padding_adafactor_test.adafactor.8");
}
TEST_CASE("adafactor's moments are those without pads") {
  check_adafactor<129, 131>();
  check_adafactor<127, 131>();  // stored 128, and not factored
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
