#pragma once
// A layer of experts in plain loops: which token goes where, results, losses.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tests {

enum class chosen_by : unsigned char { position, gate, experts };

struct expert_sizes {
  std::size_t groups, tokens, experts, slots, choices, width, ff;
};
struct expert_router {
  chosen_by by = chosen_by::position;
  bool renormalised = false;
};

struct experts_defined {
  std::vector<double> y;
  double balance = 0, z = 0;
  int dropped = 0, unserved = 0;
};

/// x [groups, tokens, width], gate [width, experts], w1 [experts, width, ff], w2 [experts, ff, width]: silu between.
/// NaN are the largest, of equal ones the first.
inline experts_defined experts_in_loops(expert_sizes const& n, expert_router const& router,
                                        std::vector<double> const& x, std::vector<double> const& gate,
                                        std::vector<double> const& w1, std::vector<double> const& w2) {
  experts_defined out{std::vector<double>(x.size())};
  // The order of indices by numbers.
  auto const by = [](auto const& number) {
    return [&number](std::size_t i, std::size_t j) {
      double const a = number(i), b = number(j);
      bool const larger = std::isnan(a) ? !std::isnan(b) : a > b, smaller = std::isnan(b) ? !std::isnan(a) : b > a;
      return larger || (!smaller && i < j);
    };
  };
  auto const all_tokens = static_cast<double>(n.groups * n.tokens);
  std::vector<double> share(n.experts), mean(n.experts);
  for (std::size_t g = 0; g < n.groups; ++g) {
    std::vector<std::vector<double>> p(n.tokens, std::vector<double>(n.experts)), own = p;
    std::vector<std::vector<std::size_t>> best(n.tokens), places(n.experts);
    for (std::size_t t = 0; t < n.tokens; ++t) {
      double largest = -INFINITY, sum = 0;
      for (std::size_t e = 0; e < n.experts; ++e) {
        for (std::size_t d = 0; d < n.width; ++d)
          p[t][e] += x[(g * n.tokens + t) * n.width + d] * gate[d * n.experts + e];
        largest = std::max(largest, p[t][e]);
      }
      for (double& v : p[t]) sum += v = std::exp(v - largest);
      for (double& v : p[t]) v /= sum;
      out.z += std::pow(largest + std::log(sum), 2) / all_tokens;

      best[t].resize(n.experts);
      std::iota(best[t].begin(), best[t].end(), 0U);
      auto const gate_of = [&](std::size_t e) { return p[t][e]; };
      std::sort(best[t].begin(), best[t].end(), by(gate_of));
      best[t].resize(n.choices);
      double chosen = 0;
      for (auto const e : best[t]) chosen += p[t][e];
      for (std::size_t e = 0; e < n.experts; ++e) {
        bool const mine = std::find(best[t].begin(), best[t].end(), e) != best[t].end();
        own[t][e] = router.by == chosen_by::experts ? p[t][e]
                    : !mine                         ? 0
                    : router.renormalised           ? p[t][e] / chosen
                                                    : p[t][e];
        share[e] += mine ? 1 / all_tokens : 0;
        mean[e] += p[t][e] / all_tokens;
      }
    }
    if (router.by == chosen_by::position) {
      for (std::size_t c = 0; c < n.choices; ++c)
        for (std::size_t t = 0; t < n.tokens; ++t) places[best[t][c]].push_back(t);
    } else {
      for (std::size_t e = 0; e < n.experts; ++e) {
        for (std::size_t t = 0; t < n.tokens; ++t)
          if (router.by == chosen_by::experts || std::find(best[t].begin(), best[t].end(), e) != best[t].end())
            places[e].push_back(t);
        auto const own_of = [&](std::size_t t) { return own[t][e]; };
        std::sort(places[e].begin(), places[e].end(), by(own_of));
      }
    }
    std::vector<bool> served(n.tokens);
    for (std::size_t e = 0; e < n.experts; ++e) {
      if (places[e].size() > n.slots) {
        out.dropped += router.by == chosen_by::experts ? 0 : static_cast<int>(places[e].size() - n.slots);
        places[e].resize(n.slots);
      }
      for (auto const t : places[e]) {
        served[t] = true;
        auto const at = (g * n.tokens + t) * n.width;
        for (std::size_t f = 0; f < n.ff; ++f) {
          double h = 0;
          for (std::size_t d = 0; d < n.width; ++d) h += x[at + d] * w1[(e * n.width + d) * n.ff + f];
          for (std::size_t d = 0; d < n.width; ++d)
            out.y[at + d] += own[t][e] * h / (1 + std::exp(-h)) * w2[(e * n.ff + f) * n.width + d];
        }
      }
    }
    out.unserved += static_cast<int>(std::count(served.begin(), served.end(), false));
  }
  for (std::size_t e = 0; e < n.experts; ++e) out.balance += static_cast<double>(n.experts) * share[e] * mean[e];
  return out;
}

}  // namespace tests
