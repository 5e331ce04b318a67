// Verdicts on meshes, layouts and tensors; shardings; the textual notation.
#include "names.hpp"

using namespace mtf;

struct more_rows : axis<"rows", 4> {};
struct odd : dim<"odd", 20> {};
struct last_batch : dim<"batch", 7> {};

// --- layouts by themselves

static_assert(same<layout_verdict_t<machine>, ok>);
static_assert(same<layout_verdict_t<machine, split<batch, rows>, split<hidden, cols>>, ok>);
static_assert(same<layout_verdict_t<machine, split<batch, rows>, split<hidden, rows>>, ok>,
              "two dimensions on one axis are wrong on tensors that have both, not before");
static_assert(same<layout_verdict_t<machine, split<batch, rows, cols>>, ok>);
static_assert(same<layout_verdict_t<machine, split<batch, pods>>, error_axis_not_in_mesh<batch, pods, machine>>);
static_assert(same<layout_verdict_t<machine, split<batch, rows, pods>>, error_axis_not_in_mesh<batch, pods, machine>>);
static_assert(
    same<layout_verdict_t<machine, split<batch, more_rows>>, error_axis_not_in_mesh<batch, more_rows, machine>>);
static_assert(same<layout_verdict_t<machine, split<batch, rows>, split<batch, cols>>, error_two_rules_for_dim<batch>>);
static_assert(same<layout_verdict_t<machine, split<digit, cols>>, error_not_divisible<digit, 10, 4, nearest<8, 12>>>);
static_assert(
    same<layout_verdict_t<machine, split<odd, rows, cols>>, error_not_divisible<odd, 20, 8, nearest<16, 24>>>);
static_assert(same<layout_verdict_t<mesh<axis<"many", 32>>, split<digit, axis<"many", 32>>>,
                   error_not_divisible<digit, 10, 32, nearest<0, 32>>>);

static_assert(same<shape_verdict_t<>, ok> && same<shape_verdict_t<batch, hidden>, ok>);
static_assert(same<shape_verdict_t<hidden, batch, last_batch>, error_dim_twice<batch>>, "a dimension is its name");
static_assert(same<detail::mesh_verdict<rows, cols>::type, ok>);
static_assert(same<detail::mesh_verdict<rows, cols, rows>::type, error_axis_twice<rows>>);

// --- layouts and tensors

using crowded = layout<machine, split<batch, rows>, split<hidden, cols>, split<heads, cols>, split<vocab, rows, cols>>;
static_assert(valid_layout_for<crowded, shape<>> && valid_layout_for<crowded, shape<batch, hidden>>);
static_assert(valid_layout_for<crowded, shape<vocab, digit>>);
static_assert(!valid_layout_for<crowded, shape<batch, hidden, heads>>);
static_assert(
    same<tensor_verdict_t<shape<batch, hidden, heads>, crowded>, error_two_dims_on_one_axis<hidden, heads, cols>>);
static_assert(
    same<tensor_verdict_t<shape<heads, batch, hidden>, crowded>, error_two_dims_on_one_axis<heads, hidden, cols>>);
static_assert(same<tensor_verdict_t<shape<batch, vocab>, crowded>, error_two_dims_on_one_axis<batch, vocab, rows>>);
static_assert(same<tensor_verdict_t<shape<hidden, vocab>, crowded>, error_two_dims_on_one_axis<hidden, vocab, cols>>);
static_assert(same<tensor_verdict_t<shape<hidden>, crowded, partial<rows>>, ok>);
static_assert(
    same<tensor_verdict_t<shape<hidden>, crowded, partial<rows, cols>>, error_dim_split_where_partial<hidden, cols>>);
static_assert(same<tensor_verdict_t<shape<last_batch>, ::where>, error_not_divisible<last_batch, 7, 2, nearest<6, 8>>>,
              "the layout splits what has this name");

// --- shardings

constexpr mesh_shape m = machine::shape();
constexpr sharding s = detail::sharding_of<shape<digit, batch, vocab>, layout<machine, split<vocab, cols, rows>>>;
static_assert(s.ndim == 3 && s.partial == 0 && s[0].id == digit::id && s[2].extent == 512);
static_assert(s[0].split.size == 0 && s[2].split.size == 2 && s[2].split[0] == 1 && s[2].split[1] == 0,
              "cols outermost");
static_assert(s.split_axes() == 0b11 && s.local_extent(0, m) == 10 && s.local_extent(2, m) == 64);
static_assert(s.local_size(m) == 10 * 64 * 64 && s.global_size() == 10 * 64 * 512);
static_assert(s.local_stride(0, m) == 64 * 64 && s.global_stride(0) == 64 * 512 && s.local_stride(2, m) == 1);
static_assert(detail::shard_offset(s, 2, m, 0) == 0 && detail::shard_offset(s, 2, m, 7) == 512 - 64);
static_assert(detail::shard_offset(s, 2, m, 1) == 128, "one further along cols");
static_assert(detail::shard_offset(s, 2, m, 4) == 64, "one further along rows");
static_assert(detail::sharding_of<shape<digit>, ::where, partial<cols, rows>>.partial == 0b11);
static_assert(detail::sharding_of<shape<digit>, ::where, partial<cols>>.partial == 0b10);
static_assert(tensor<float, shape<batch, hidden>, ::where>::local_size == 32 * 32);
static_assert(tensor<float, shape<>, ::where>::local_size == 1);

constexpr backend::placement p = detail::placement_of(detail::sharding_of<shape<batch, hidden>, ::where>, m, 6);
static_assert(p.offset == 32 * 128 + 2 * 32 && p.local.ndim == 2 && p.local.extent[0] == 32 &&
              p.local.extent[1] == 32 && p.local.stride[0][0] == 128 && p.local.stride[0][1] == 1);

// --- structures of tensors

static_assert(same<place<float, ::where>::tensor<batch, hidden>, tensor<float, shape<batch, hidden>, ::where>>);
static_assert(
    same<relaid<place<float, ::where>::tensor, crowded>::tensor<batch>, tensor<float, shape<batch>, crowded>>);

// --- the textual notation

using text_rows = text_axis<2, 'r', 'o', 'w', 's'>;
using text_cols = text_axis<4, 'c', 'o', 'l', 's'>;
static_assert(text_rows::name == axis<"rows", 2>::name && text_rows::id == axis<"rows", 2>::id);
using text_mesh = mesh<text_rows, text_cols>;
static_assert(same<mesh_of<"rows:2;cols:4">, text_mesh> && same<mesh_of<"rows:2,cols:4">, text_mesh>);
static_assert(same<mesh_of<"rows:2 cols:4">, text_mesh> && same<mesh_of<" rows:2 ; cols:4; ">, text_mesh>);
static_assert(same<mesh_of<"">, mesh<>> && mesh_of<"all:1024">::size == 1024);
static_assert(same<layout_of<"rows:2;cols:4", "", batch>, layout<text_mesh>>);
static_assert(same<layout_of<"rows:2;cols:4", "batch:rows;hidden:cols", batch, hidden, digit>,
                   layout<text_mesh, split<batch, text_rows>, split<hidden, text_cols>>>);
static_assert(same<layout_of<"rows:2 cols:4", " batch:cols, hidden:rows ", digit, hidden, batch>,
                   layout<text_mesh, split<batch, text_cols>, split<hidden, text_rows>>>);
static_assert(
    same<layout_of<"rows:2;cols:4", "batch:cols+rows", batch>, layout<text_mesh, split<batch, text_cols, text_rows>>>);
using three = mesh_of<"pods:3;rows:2;cols:4">;
struct wide : dim<"wide", 24> {};
static_assert(same<layout_of<"pods:3;rows:2;cols:4", "wide:pods+rows+cols", wide>,
                   layout<three, split<wide, text_axis<3, 'p', 'o', 'd', 's'>, text_rows, text_cols>>>);
static_assert(same<detail::rules_verdict<text_mesh, "batch:rows;hiden:cols", batch, hidden>::type,
                   error_unknown_name<name<"hiden">, batch, hidden>>);
static_assert(same<detail::rules_verdict<text_mesh, "batch:rows+pods", batch>::type,
                   error_unknown_name<name<"pods">, text_rows, text_cols>>);
static_assert(
    same<detail::rules_verdict<text_mesh, "batch", batch>::type, error_unknown_name<name<"">, text_rows, text_cols>>);
static_assert(same<detail::rules_verdict<text_mesh, "batch:rows", batch>::type, ok>);
