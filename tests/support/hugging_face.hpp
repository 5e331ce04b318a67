#pragma once
// Models that transformers saved (tests/reference/make_hugging_face.py): its logits, greedy tokens and training losses
// under layouts; written back, the same arrays to the bit. Of a Family, which has
//   model, sizes                 a model for sizes that are values, and their struct
//   references          where they are
//   names, layouts               the directories, and layouts on p:2;q:2
//   logits(p, ids, config), continued(p, cache, ids, places, at, config), loss(config)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/checkpoint/config_file.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/checkpoint/save.hpp>

#include "support/ranks_as_threads.hpp"

namespace hugging_face {

template <class T>
using here = mtf::place<T, mtf::any_layout<>, thread_backend>;

struct text : mtf::dim<"text", 72> {};
struct steps : mtf::dim<"steps", 20> {};
template <template <class...> class Tensor>
struct expected_text {
  Tensor<text> greedy;
  MTF_FIELDS(greedy);
};
template <template <class...> class Tensor>
struct expected_losses {
  Tensor<steps> losses;
  MTF_FIELDS(losses);
};

/// Numbers of a test that fails say under which layout of which model.
template <class Family>
struct checks {
  using model = typename Family::model;
  using batch = typename model::batch;
  using sequence = typename model::sequence;
  using vocab = typename model::vocab;
  using parameters = typename model::template parameters<here<float>::tensor>;
  using tokens = here<std::int32_t>::tensor<batch, sequence>;

  template <template <class...> class Tensor>
  struct expected_ids {
    Tensor<batch, sequence> tokens, labels;
    MTF_FIELDS(tokens, labels);
  };
  template <template <class...> class Tensor>
  struct expected_logits {
    Tensor<batch, sequence, vocab> logits;
    MTF_FIELDS(logits);
  };

  static mtf::config_values config(std::string const& name) {
    return mtf::config_from(Family::references + name + "/config.json");
  }
  /// What the ranks of a layout do not divide is padded.
  template <template <class...> class List, class... D>
  static mtf::extents_value padded(List<D...> const*, mtf::extents_value sizes, mtf::layout_value const& layout) {
    auto const pad = [&](std::string_view name, std::uint64_t dim) {
      if (auto const n = sizes.find(dim)) sizes.give(name, *n, layout.split_of(dim).size > 0 ? 2 : 1);
    };
    (pad(D::name, D::id), ...);
    return sizes;
  }
  static mtf::extents_value sizes(std::string const& name, std::int64_t rows, std::int64_t length,
                                  mtf::layout_value const& layout) {
    auto asked = model::sizes_from_config(config(name));
    asked.give({{"batch", rows}, {"sequence", length}, {"memory", 72}});
    return padded(static_cast<typename model::dimensions const*>(nullptr), Family::sizes::completed(asked), layout);
  }
  /// f(backend, name, layout) of all of them.
  template <class Layouts, class F>
  static void under(Layouts const& layouts, std::int64_t rows, std::int64_t length, F const& f) {
    for (std::string const name : Family::names)
      for (auto const* const rules : layouts) {
        CAPTURE(name);
        CAPTURE(rules);
        on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
          auto const layout = mtf::layout_from(mtf::mesh_from("p:2;q:2"), rules);
          b.layouts().add(layout);
          b.layouts().give(sizes(name, rows, length, layout));
          f(b, name);
        });
      }
  }
  static parameters loaded(thread_backend& b, std::string const& name) {
    return mtf::load<parameters>(b, Family::references + name, {.names = model::names_in_files({})});
  }
  template <class Structure>
  static Structure expected(thread_backend& b, std::string const& name) {
    return mtf::load<Structure>(b, Family::references + name + "/expected.safetensors", {.may_be_left_over = {"*"}});
  }

  static void logits() {
    under(Family::layouts, 4, 16, [](thread_backend& b, std::string const& name) {
      auto const p = loaded(b, name);
      auto const ids = expected<expected_ids<here<std::int32_t>::tensor>>(b, name);
      auto const theirs = mtf::to_global(expected<expected_logits<here<float>::tensor>>(b, name).logits);
      auto const ours = mtf::to_global(Family::logits(p, ids.tokens, config(name)));
      REQUIRE(ours.size() == theirs.size());
      float largest = 0, difference = 0;
      for (std::size_t i = 0; i < ours.size(); ++i) {
        largest = std::max(largest, std::abs(theirs[i]));
        difference = std::max(difference, std::abs(ours[i] - theirs[i]));
      }
      CHECK(largest > 1);
      CHECK(difference <= 1e-5F * largest);
    });
  }

  /// From a cache: the prompt's first tokens at once, then all others one by one, of two rows at different positions.
  static void greedy() {
    under(Family::generation_layouts, 2, 8, [](thread_backend& b, std::string const& name) {
      using cache = typename model::template cache<here<float>::tensor>;
      auto const p = loaded(b, name);
      auto const c = config(name);
      auto const theirs = mtf::to_global(expected<expected_text<here<std::int32_t>::tensor>>(b, name).greedy);
      auto kept = mtf::sized<cache>(b);
      mtf::for_each_tensor([&](auto const&, auto& x) { x = mtf::zeros<std::remove_reference_t<decltype(x)>>(b); },
                           kept);
      using places = here<std::int32_t>::tensor<batch, sequence>;
      using starts = here<std::int32_t>::tensor<batch>;
      std::vector<std::int32_t> row(theirs.begin(), theirs.begin() + 8);
      auto const continued = [&](std::int64_t n, std::array<std::size_t, 2> done, auto const& at) {
        std::vector<std::int32_t> ids, where;
        for (auto const from : done)
          for (std::size_t i = from; i < from + static_cast<std::size_t>(n); ++i) {
            ids.push_back(row[i]);
            where.push_back(static_cast<std::int32_t>(i));
          }
        mtf::extents_value const length{{"sequence", n}};
        auto const logits = mtf::to_global(Family::continued(p, kept, mtf::from_global<tokens>(b, ids, length),
                                                             mtf::from_global<places>(b, where, length), at, c));
        REQUIRE(logits.size() == 2 * 61);
        std::array<std::int32_t, 2> largest{};
        for (std::size_t r = 0; r < 2; ++r) {
          auto const* const of = logits.data() + r * 61;
          largest[r] = static_cast<std::int32_t>(std::max_element(of, of + 61) - of);
        }
        return largest;
      };
      auto const first = continued(5, {0, 0}, mtf::models::all_rows_at{0});
      CHECK(first[0] == first[1]);
      // The second row three tokens behind the first: what it had from there on is written again.
      for (std::size_t done = 5; done < 72; ++done) {
        std::array<std::size_t, 2> const at{done, done - 3};
        std::vector<std::int32_t> start, length;
        for (auto const i : at) {
          start.push_back(static_cast<std::int32_t>(i));
          length.push_back(static_cast<std::int32_t>(i + 1));
        }
        auto const largest = continued(
            1, at,
            mtf::models::each_row_at<starts>{mtf::from_global<starts>(b, start), mtf::from_global<starts>(b, length)});
        if (done + 1 == row.size() && done + 1 < 72) row.push_back(largest[0]);
        if (at[1] + 1 >= 8) CHECK(largest[1] == row[at[1] + 1]);
      }
      CHECK(row == theirs);
    });
  }
  /// A row's logits are the same to the bit, however many rows there are and which of them it is.
  static void rows() {
    under(std::array{""}, 1, 1, [](thread_backend& b, std::string const& name) {
      using cache = typename model::template cache<here<float>::tensor>;
      using places = here<std::int32_t>::tensor<batch, sequence>;
      using starts = here<std::int32_t>::tensor<batch>;
      auto const p = loaded(b, name);
      auto const c = config(name);
      auto const text = mtf::to_global(expected<expected_text<here<std::int32_t>::tensor>>(b, name).greedy);
      // Of texts that begin at these tokens of it, the logits behind their eighth.
      auto const logits_of = [&](std::vector<std::size_t> const& begins) {
        auto const count = static_cast<std::int64_t>(begins.size());
        b.layouts().give({{"batch", count}});
        auto kept = mtf::sized<cache>(b);
        mtf::for_each_tensor([&](auto const&, auto& x) { x = mtf::zeros<std::remove_reference_t<decltype(x)>>(b); },
                             kept);
        std::vector<float> logits;
        auto const read = [&](std::size_t from, std::size_t to, auto const& at) {
          std::vector<std::int32_t> ids, where;
          for (auto const begin : begins)
            for (auto i = from; i < to; ++i) {
              ids.push_back(text[begin + i]);
              where.push_back(static_cast<std::int32_t>(i));
            }
          mtf::extents_value const size{{"batch", count}, {"sequence", static_cast<std::int64_t>(to - from)}};
          logits = mtf::to_global(Family::continued(p, kept, mtf::from_global<tokens>(b, ids, size),
                                                    mtf::from_global<places>(b, where, size), at, c));
        };
        read(0, 5, mtf::models::all_rows_at{0});
        for (std::size_t i = 5; i < 8; ++i) {
          auto const each = [&](std::size_t n) {
            return mtf::from_global<starts>(b, std::vector<std::int32_t>(begins.size(), static_cast<std::int32_t>(n)));
          };
          read(i, i + 1, mtf::models::each_row_at<starts>{each(i), each(i + 1)});
        }
        return logits;
      };
      for (std::size_t const count : {2, 3, 6, 12}) {
        CAPTURE(count);
        std::vector<std::size_t> begins(count);
        for (std::size_t r = 0; r < count; ++r) begins[r] = 3 * (r % 7);
        auto const all = logits_of(begins);
        for (std::size_t r = 0; r < count; ++r) {
          auto const alone = logits_of({begins[r]});
          CHECK(std::memcmp(all.data() + r * alone.size(), alone.data(), alone.size() * sizeof(float)) == 0);
        }
      }
    });
  }
  static void losses() {
    under(Family::layouts, 4, 16, [](thread_backend& b, std::string const& name) {
      auto p = loaded(b, name);
      auto const ids = expected<expected_ids<here<std::int32_t>::tensor>>(b, name);
      auto const all = mtf::to_global(expected<expected_losses<here<double>::tensor>>(b, name).losses);
      mtf::adamw<parameters> optimizer(
          b, {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0, .clip_norm = 1});
      for (double const theirs : all) {
        auto const [loss, gradients] =
            mtf::value_and_grad(Family::loss(config(name)))(std::as_const(p), ids.tokens, ids.labels);
        CHECK(std::abs(mtf::item(loss) - theirs) <= 1e-4 * theirs);
        optimizer.update(b, p, gradients, 1e-2);
      }
    });
  }

  /// A file's header and bytes of arrays.
  static std::pair<mtf::safetensors_header, std::string> file(std::string const& path) {
    std::ifstream in(path, std::ios::binary);
    std::string const all(std::istreambuf_iterator<char>(in), {});
    auto header = mtf::safetensors_from(all, all.size(), path);
    auto data = all.substr(header.data);
    return {std::move(header), std::move(data)};
  }

  static void written() {
    under(Family::layouts, 4, 16, [](thread_backend& b, std::string const& name) {
      auto const [theirs, their_data] = file(Family::references + name + "/model.safetensors");
      std::string const to = std::string("hugging_face_") + Family::names[0] + ".written";
      for (int twice = 0; twice < 2; ++twice)
        mtf::save(to, loaded(b, name), {.names = model::names_in_files({}), .texts = {{"config.json", "{}\n"}}});
      auto const [ours, our_data] = file(to + "/model.safetensors");
      CHECK(ours.metadata == theirs.metadata);
      REQUIRE(ours.arrays.size() == theirs.arrays.size());
      auto const bytes = [](mtf::stored_array const& a, std::string const& data) {
        return data.substr(a.begin, a.end - a.begin);
      };
      for (auto const& a : ours.arrays) {
        auto const found =
            std::find_if(theirs.arrays.begin(), theirs.arrays.end(), [&](auto const& x) { return x.name == a.name; });
        REQUIRE(found != theirs.arrays.end());
        CHECK(a.shape == found->shape);
        CHECK(bytes(a, our_data) == bytes(*found, their_data));
      }
      // With the checksums of a manifest.
      auto const again = mtf::load<parameters>(b, to, {.names = model::names_in_files({})});
      CHECK(mtf::to_global(again.blocks[2].wv) == mtf::to_global(loaded(b, name).blocks[2].wv));
      b.ranks().any(false);
      if (b.ranks().rank() == 0) std::filesystem::remove_all(to);
      b.ranks().any(false);
    });
  }
};

}  // namespace hugging_face
