// The contractions of models/gpt2/model.hpp and their gradients: none copies its operands, on one rank or
// split.
#include "contractions.hpp"

using by_hand::of;
using by_hand::split_dim;
using mtf::sharding;

// Forward, and the gradients of both operands: a b -> c, c b -> a, a c -> b.
constexpr bool strided(mtf::mesh_shape const& m, sharding const& a, sharding const& b, sharding const& c) {
  auto const good = [&](sharding const& x, sharding const& y, sharding const& z) {
    by_hand::derived const d{m, x, y, z};
    return well_formed(d) && by_hand::copies_nothing(d.work);
  };
  return good(a, b, c) && good(c, b, a) && good(a, c, b);
}

struct extents {
  int batch, sequence, d_model, heads, d_head, d_ff, vocab;
};
/// The dimensions of one model, split or not.
class dims {
 public:
  enum name { batch, sequence, memory, d_model, heads, d_head, d_ff, vocab };
  /// `split`: a bit for each axis that is used. 0: batch; 1: heads, d_ff and vocab; 2: the sequence of queries.
  constexpr dims(extents const& e, int split)
      : of_{{e.batch, 0}, {e.sequence, 2}, {e.sequence, -1}, {e.d_model, -1},
            {e.heads, 1}, {e.d_head, -1},  {e.d_ff, 1},      {e.vocab, 1}},
        split_(split) {}
  constexpr sharding operator()(std::initializer_list<name> names) const {
    sharding out;
    for (name const n : names) {
      mtf::dim_state d{static_cast<std::uint64_t>(n) + 1, of_[n].extent, {}};
      if (of_[n].axis >= 0 && ((split_ >> of_[n].axis) & 1) != 0) d.split.push(of_[n].axis);
      out.push(d);
    }
    return out;
  }

 private:
  struct {
    int extent, axis;
  } of_[8];
  int split_;
};

constexpr auto mesh = by_hand::mesh({2, 2, 2});
constexpr bool attention_is_strided(extents const& e, int split) {
  using enum dims::name;
  dims const with(e, split);
  auto const x = with({batch, sequence, d_model}), q = with({batch, sequence, heads, d_head});
  auto const k = with({batch, memory, heads, d_head}), scores = with({batch, heads, sequence, memory});
  return strided(mesh, x, with({d_model, heads, d_head}), q) &&  // queries, keys, values
         strided(mesh, q, k, scores) &&                          // scores
         strided(mesh, scores, k, q) &&                          // weights by values
         strided(mesh, q, with({heads, d_head, d_model}), x);    // the output
}
constexpr bool mlp_is_strided(extents const& e, int split) {
  using enum dims::name;
  dims const with(e, split);
  auto const x = with({batch, sequence, d_model}), a = with({batch, sequence, d_ff}),
             logits = with({batch, sequence, vocab});
  return strided(mesh, x, with({d_model, d_ff}), a) && strided(mesh, a, with({d_ff, d_model}), x) &&
         strided(mesh, x, with({d_model, vocab}), logits) && strided(mesh, x, with({vocab, d_model}), logits);  // tied
}

template <int Split>
constexpr bool all_strided() {
  constexpr extents demo{32, 128, 128, 4, 32, 512, 256}, gpt2{8, 1024, 768, 12, 64, 3072, 50304};
  constexpr extents few{2, 128, 128, 2, 32, 512, 256};  // split, a rank has one sequence and one head
  static_assert(attention_is_strided(demo, Split) && mlp_is_strided(demo, Split));
  static_assert(attention_is_strided(gpt2, Split));
  static_assert(attention_is_strided(few, Split) && mlp_is_strided(few, Split));
  return true;
}
static_assert(all_strided<0b000>() && all_strided<0b001>() && all_strided<0b010>() && all_strided<0b011>() &&
              all_strided<0b111>());
