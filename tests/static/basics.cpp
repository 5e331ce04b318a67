// Strings as template arguments, hashes of names, bfloat16, dimensions and axes.
#include <limits>

#include <mtf/core/dim.hpp>
#include <mtf/core/element.hpp>

template <mtf::fixed_string Text>
struct text {
  static constexpr auto view = Text.view();
};
static_assert(text<"">::view.empty());
static_assert(text<"batch">::view == "batch" && text<"batch">::view.size() == 5);
static_assert(std::is_same_v<text<"batch">, text<"batch">> && !std::is_same_v<text<"batch">, text<"batches">>);

// FNV-1a, 64 bits: the authors' test vectors.
static_assert(mtf::detail::hash_of("") == 0xcbf29ce484222325ULL);
static_assert(mtf::detail::hash_of("a") == 0xaf63dc4c8601ec8cULL);
static_assert(mtf::detail::hash_of("foobar") == 0x85944171f73967e8ULL);

struct batch : mtf::dim<"batch", 64> {};
struct other_batch : mtf::dim<"batch", 32> {};
struct rows : mtf::axis<"rows", 2, mtf::link::node> {};
static_assert(mtf::dimension<batch> && !mtf::mesh_axis<batch> && mtf::mesh_axis<rows> && !mtf::dimension<rows>);
static_assert(batch::name == "batch" && batch::extent == 64 && batch::id == mtf::detail::hash_of("batch"));
static_assert(batch::id == other_batch::id, "a dimension is its name");
static_assert(rows::name == "rows" && rows::size == 2 && rows::kind == mtf::link::node);
static_assert(mtf::axis<"rows", 2>::kind == mtf::link::any);

// bfloat16 rounds to nearest, ties to even.
constexpr std::uint16_t bits(std::uint32_t f32) { return mtf::bfloat16(std::bit_cast<float>(f32)).bits; }
static_assert(bits(0x3f800000) == 0x3f80 && bits(0xbf800000) == 0xbf80 && bits(0) == 0 && bits(0x80000000) == 0x8000);
static_assert(bits(0x3f807fff) == 0x3f80, "below half: down");
static_assert(bits(0x3f808000) == 0x3f80, "half: to even, here down");
static_assert(bits(0x3f818000) == 0x3f82, "half: to even, here up");
static_assert(bits(0x3f808001) == 0x3f81, "above half: up");
static_assert(bits(0x3fffffff) == 0x4000, "the carry goes into the exponent");
static_assert(bits(0x7f7fffff) == 0x7f80, "the largest float is beyond the largest bfloat16: infinity");
static_assert(bits(0x7f800000) == 0x7f80 && bits(0xff800000) == 0xff80);
static_assert(bits(0x7f800001) == 0x7fc0 && bits(0x7fffffff) == 0x7fff, "NaN stays NaN, also one with low bits only");
static_assert(static_cast<float>(mtf::bfloat16(1.5F)) == 1.5F && static_cast<float>(mtf::bfloat16(-0.375F)) == -0.375F);
static_assert(!(mtf::bfloat16(std::numeric_limits<float>::quiet_NaN()) ==
                mtf::bfloat16(std::numeric_limits<float>::quiet_NaN())));
static_assert(mtf::bfloat16(0.0F) == mtf::bfloat16(-0.0F));
constexpr bool every_bfloat16_comes_back() {
  for (std::uint32_t b = 0; b < 0x10000; b += 7) {
    mtf::bfloat16 x;
    x.bits = static_cast<std::uint16_t>(b);
    bool const nan = (b & 0x7fffU) > 0x7f80U;
    if (!nan && mtf::bfloat16(static_cast<float>(x)).bits != x.bits) return false;
  }
  return true;
}
static_assert(every_bfloat16_comes_back());

static_assert(mtf::bytes_of(mtf::element_of<mtf::bfloat16>) == sizeof(mtf::bfloat16));
static_assert(mtf::bytes_of(mtf::element_of<double>) == sizeof(double));
static_assert(mtf::bytes_of(mtf::element_of<std::int64_t>) == sizeof(std::int64_t));
static_assert(mtf::bytes_of(mtf::element_of<std::int32_t>) == sizeof(std::int32_t));
static_assert(mtf::bytes_of(mtf::element_of<bool>) == sizeof(bool));
static_assert(!mtf::is_element<char> && mtf::is_floating<mtf::bfloat16>);
static_assert(std::is_same_v<mtf::compute_t<mtf::bfloat16>, float> && std::is_same_v<mtf::compute_t<double>, double>);
