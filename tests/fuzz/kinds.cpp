// What every kind of tensor needs beside operations.
#include <stdexcept>

#include "../support/to_double.hpp"
#include "execute.hpp"
#include "kinds.hpp"

namespace fuzz {

std::string name_of(mtf::element e) {
  switch (e) {
    case mtf::element::f32:
      return "float";
    case mtf::element::f64:
      return "double";
    case mtf::element::bf16:
      return "mtf::bfloat16";
    case mtf::element::i32:
      return "std::int32_t";
    case mtf::element::i64:
      return "std::int64_t";
    case mtf::element::boolean:
      return "bool";
  }
  return "";
}
std::string text_of(kind const& x) {
  std::string s = name_of(x.element);
  for (int const d : x.dims) s += ", " + std::string(dim_names[static_cast<std::size_t>(d)]);
  return s;
}
double computes_to(mtf::element e) { return e == mtf::element::f64 ? 0x1p-53 : is_floating(e) ? 0x1p-24 : 0; }
double stores_to(mtf::element e) { return e == mtf::element::bf16 ? 0x1p-9 : computes_to(e); }

namespace {

/// The rank's shard of drawn numbers.
template <class T, class Backend>
mtf::detail::value<Backend, T> drawn_value(Backend& on, mtf::sharding const& s, given const& g) {
  auto const& mesh = on.ranks().mesh();
  auto v = mtf::detail::make_value<T>(on, s.local_size(mesh));
  if constexpr (Backend::holds_data) {
    auto const numbers = share({g.salt, g.low, g.high, !is_floating(mtf::element_of<T>)}, s, mesh, on.ranks().rank());
    auto const mine = std::make_unique<T[]>(numbers.size());
    std::transform(numbers.begin(), numbers.end(), mine.get(), tests::from_double<T>);
    on.from_host(v.data(), mine.get(), numbers.size() * sizeof(T));
  }
  return v;
}

template <class T, class Shape, class Backend>
struct calls {
  using X = on_any<T, Shape, Backend>;
  static erased make(Backend& on, given const& g) {
    auto const& under = on.layouts()[g.layout];
    auto spec = mtf::detail::arranged_under<Shape>(on.layouts(), under).spec;
    spec.partial = g.partial;
    auto const& where = on.layouts().arranged(mtf::detail::checked_sharding(spec, under), under);
    return erase(X(drawn_value<T>(on, spec, g), where));
  }
  static mtf::backend::arrangement const& place(erased const& x) { return restore<X>(x).where(); }
  static erased weigh(erased const& erased_x, mtf::axis_mask partial, std::uint64_t salt) {
    if constexpr (mtf::is_floating<T>) {
      X const& x = restore<X>(erased_x);
      auto& on = x.backend();
      auto spec = x.where().spec;
      spec.partial = partial;
      auto const& where = on.layouts().arranged(spec, *x.where().layout);
      X const weights(drawn_value<T>(on, spec, {.of = {}, .salt = salt}), where);
      auto const products = x * weights;
      if constexpr (Shape::ndim == 0)
        return erase(products);
      else
        return erase(mtf::cast<T>(mtf::sum(products)));  // of bfloat16 it is float
    } else {
      throw std::logic_error("fuzz: the loss has terms that are not floating");
    }
  }
  static std::vector<double> look(erased const& erased_x) {
    X const& x = restore<X>(erased_x);
    auto const n = static_cast<std::size_t>(x.where().spec.local_size(x.where().layout->mesh.shape));
    auto const typed = std::make_unique<T[]>(n);
    x.backend().to_host(typed.get(), x.value().data(), n * sizeof(T));
    std::vector<double> numbers(n);
    for (std::size_t i = 0; i < n; ++i) numbers[i] = tests::to_double(typed[i]);
    return numbers;
  }
  static erased recompute(block_call<Backend> const& call) { return erase(mtf::recompute(block_to<X>{}, call)); }
};

template <class Backend>
std::vector<kind_calls<Backend>> all_calls() {
  std::vector<kind_calls<Backend>> all;
  for_each_kind([&]<class T, class Shape>() {
    using these = calls<T, Shape, Backend>;
    all.push_back({kind_of<T, Shape>(), &these::make, &these::place, &these::weigh, &these::look, &these::recompute});
  });
  return all;
}

template <class Backend, class F>
erased with_scalar(mtf::element e, F const& f) {
  switch (e) {
    case mtf::element::f64:
      return f(static_cast<on_any<double, mtf::shape<>, Backend>*>(nullptr));
    case mtf::element::f32:
      return f(static_cast<on_any<float, mtf::shape<>, Backend>*>(nullptr));
    case mtf::element::bf16:
      return f(static_cast<on_any<mtf::bfloat16, mtf::shape<>, Backend>*>(nullptr));
    default:
      throw std::logic_error("fuzz: a loss that is not floating");
  }
}

}  // namespace

template <class Backend>
kind_calls<Backend> const& calls_for(kind const& of) {
  static auto const all = all_calls<Backend>();
  for (auto const& x : all)
    if (x.of == of) return x;
  throw std::logic_error("fuzz: kinds.hpp lacks " + text_of(of));
}
template kind_calls<counted> const& calls_for<counted>(kind const&);
template kind_calls<mtf::trace> const& calls_for<mtf::trace>(kind const&);

std::vector<kind> const& all_kinds() {
  static std::vector<kind> const all = [] {
    std::vector<kind> x;
    for (auto const& calls : all_calls<mtf::trace>()) x.push_back(calls.of);
    return x;
  }();
  return all;
}

template <class Backend>
erased scalar_as(erased const& x, mtf::element from, mtf::element to) {
  return with_scalar<Backend>(from, [&](auto* is) {
    return with_scalar<Backend>(to, [&](auto* wanted) {
      using From = std::remove_pointer_t<decltype(is)>;
      using To = std::remove_pointer_t<decltype(wanted)>;
      return erase(mtf::cast<typename To::element_type>(restore<From>(x)));
    });
  });
}
template erased scalar_as<counted>(erased const&, mtf::element, mtf::element);
template erased scalar_as<mtf::trace>(erased const&, mtf::element, mtf::element);
template <class Backend>
erased add_scalars(erased const& x, erased const& y, mtf::element of) {
  return with_scalar<Backend>(of, [&](auto* is) {
    using X = std::remove_pointer_t<decltype(is)>;
    return erase(restore<X>(x) + restore<X>(y));
  });
}
template erased add_scalars<counted>(erased const&, erased const&, mtf::element);
template erased add_scalars<mtf::trace>(erased const&, erased const&, mtf::element);

}  // namespace fuzz
