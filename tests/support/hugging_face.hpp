#pragma once
// Models that transformers saved (tests/reference/make_hugging_face.py): its logits, greedy tokens and training losses
// under layouts; written back, the same arrays to the bit. Of a Family, which has
//   model, sizes                 a model for sizes that are values, and their struct
//   references          where they are
//   names, layouts               the directories, and layouts on p:2;q:2
//   logits(p, ids, config), continued(p, cache, ids, places, start, config), loss(config)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

  /// From a cache: the prompt's first tokens at once, then all others one by one.
  static void greedy() {
    under(Family::generation_layouts, 2, 8, [](thread_backend& b, std::string const& name) {
      using cache = typename model::template cache<here<float>::tensor>;
      using places = here<std::int32_t>::tensor<sequence>;
      auto const p = loaded(b, name);
      auto const c = config(name);
      auto const theirs = mtf::to_global(expected<expected_text<here<std::int32_t>::tensor>>(b, name).greedy);
      auto kept = mtf::sized<cache>(b);
      mtf::for_each_tensor([&](auto const&, auto& x) { x = mtf::zeros<std::remove_reference_t<decltype(x)>>(b); },
                           kept);
      std::vector<std::int32_t> row(theirs.begin(), theirs.begin() + 8);
      std::size_t done = 0;
      while (row.size() < 72) {
        auto const n = static_cast<std::int64_t>(done == 0 ? 5 : 1);
        std::vector<std::int32_t> ids, at;
        for (int twice = 0; twice < 2; ++twice) ids.insert(ids.end(), row.begin() + done, row.begin() + done + n);
        for (std::int64_t i = 0; i < n; ++i) at.push_back(static_cast<std::int32_t>(done + i));
        mtf::extents_value const length{{"sequence", n}};
        auto const logits = mtf::to_global(Family::continued(p, kept, mtf::from_global<tokens>(b, ids, length),
                                                             mtf::from_global<places>(b, at, length),
                                                             static_cast<std::int64_t>(done), c));
        done += n;
        REQUIRE(logits.size() == 2 * 61);
        auto const largest = [&](std::size_t r) {
          auto const* const of = logits.data() + r * 61;
          return static_cast<std::int32_t>(std::max_element(of, of + 61) - of);
        };
        CHECK(largest(0) == largest(1));
        if (done == row.size()) row.push_back(largest(0));
      }
      CHECK(row == theirs);
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
