#include "windows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mtf::tools {

std::vector<scored_row> windows_of(std::vector<std::int32_t> const& text, std::int64_t context, std::int64_t stride) {
  auto const last = static_cast<std::int64_t>(text.size()) - 1;
  std::vector<scored_row> rows;
  std::int64_t counted = 0;  // tokens up to this one are, the first as if it were
  for (std::int64_t begin = 0; counted < last; begin += stride) {
    auto const end = std::min(begin + context, last);
    scored_row row{{text.begin() + begin, text.begin() + end}, {}};
    for (auto next = begin + 1; next <= end; ++next)
      row.labels.push_back(next > counted ? text[static_cast<std::size_t>(next)] : -1);
    counted = end;
    rows.push_back(std::move(row));
  }
  return rows;
}

scored_row continuation_of(std::vector<std::int32_t> const& before, std::vector<std::int32_t> const& tokens,
                           std::int64_t context) {
  auto all = before;
  all.insert(all.end(), tokens.begin(), tokens.end());
  auto const size = static_cast<std::int64_t>(all.size());
  auto const begin = std::max<std::int64_t>(0, size - 1 - context);
  scored_row row{{all.begin() + begin, all.end() - 1}, {}};
  row.labels.assign(row.ids.size(), -1);
  std::copy(tokens.begin(), tokens.end(), row.labels.end() - static_cast<std::int64_t>(tokens.size()));
  return row;
}

}  // namespace mtf::tools
