// A language model of a project's own: each next letter is guessed from the one before it.
#include <mtf/models/common/language_task.hpp>

struct bigram {
  struct batch : mtf::dim<"batch", 8> {};
  struct sequence : mtf::dim<"sequence", 32> {};
  struct hidden : mtf::dim<"hidden", 16> {};
  struct vocab : mtf::dim<"vocab", 256> {};
  using dimensions = std::tuple<batch, sequence, hidden, vocab>;

  template <template <class...> class Tensor>
  struct parameters {
    Tensor<vocab, hidden> seen, next;
    MTF_FIELDS(seen, next);
  };
  template <class Parameters>
  static Parameters initial(auto& machine, mtf::random_key key) {
    using matrix = decltype(Parameters::seen);
    return {mtf::random_normal<matrix>(machine, key.of("seen")), mtf::random_normal<matrix>(machine, key.of("next"))};
  }
  static constexpr auto logits(auto const& p, auto const& ids) {
    return mtf::einsum<batch, sequence, vocab>(mtf::embedding<vocab>(p.seen, ids), p.next);
  }
  static constexpr auto loss(auto const& p, auto const& ids, auto const& labels) {
    return mtf::mean(mtf::cross_entropy<vocab>(logits(p, ids), labels));
  }
};
