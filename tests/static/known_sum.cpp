// What is known of a partial value's sum: laws of the class that everyone asks, on memory that is a number.
#include <mtf/backend/known_sum.hpp>

namespace {

using sum = mtf::backend::known_sum<int>;
constexpr int terms = 7, other = 9;

// Nothing is known of a new one, and a sum over no axes is never one.
static_assert(!sum{}.is_over(1) && !sum{}.is_over(0) && sum{}.split() == 0);

// Each way of knowing forgets what was known before, whatever it was.
constexpr bool each_after_each() {
  auto const know = [](sum& s, int way, mtf::axis_mask over) {
    if (way == 0) s.is_in_place(over);
    if (way == 1) s.is(over, other);
    if (way == 2) s.is(over, other, 4);
    if (way == 3) s.forget();
  };
  for (int before = 0; before < 4; ++before)
    for (int way = 0; way < 4; ++way) {
      sum s;
      know(s, before, 3);
      know(s, way, 1);
      if (s.is_over(3) || s.is_over(2) || s.is_over(0)) return false;
      if (s.is_over(1) != (way != 3) || s.split() != (way == 2 ? 4 : 0)) return false;
      if (way < 3 && s.memory(terms) != (way == 0 ? terms : other)) return false;
    }
  return true;
}
static_assert(each_after_each());

}  // namespace
