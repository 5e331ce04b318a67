#pragma once
// To the host and back.
#include <mtf/mtf.hpp>

#include "text_and_code.hpp"

namespace fuzz {

FUZZ_TEXT_AND_CODE(
    through_host,
    // A tensor of the same numbers under the layout. A plan has none: it takes the steps of to_global.
    template <int Layout, class X> auto through_host(X const& x) {
      using out = mtf::tensor<typename X::element_type, typename X::shape_type, mtf::any_layout<Layout>, mtf::partial<>,
                              typename X::backend_type>;
      if constexpr (X::backend_type::holds_data) {
        return mtf::from_global<out>(x.backend(), mtf::to_global(x));
      } else {
        static_cast<void>(mtf::relayout<mtf::layout<typename X::mesh_type>>(mtf::complete(x)));
        return mtf::zeros<out>(x.backend());
      }
    });

}  // namespace fuzz
