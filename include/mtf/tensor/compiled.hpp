#pragma once
// What tensors do at run time depends on the backend and the element type alone, so it is the same in every program:
// carrying out collectives, collecting and reducing gradients. A backend's compiled library has it, and programs that
// link that library only declare it.
// IWYU pragma: begin_exports: the macros use them
#include <mtf/backend/buffer.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/tape/completion.hpp>
#include <mtf/detail/tape/contributions.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/tape.hpp>
// IWYU pragma: end_exports

// At global scope, where BACKEND is complete. EACH: `extern template` in programs, `template` in the library.
#define MTF_COMPILED_TENSORS(EACH, BACKEND)                   \
  EACH struct mtf::backend::block<BACKEND>;                   \
  EACH class mtf::backend::ref<mtf::backend::block<BACKEND>>; \
  EACH class mtf::detail::completion<BACKEND>;                \
  EACH class mtf::detail::tape<BACKEND>;

// The same for elements of type T,
#define MTF_COMPILED_ELEMENTS(EACH, BACKEND, T)                                                               \
  EACH mtf::backend::buffer<BACKEND> mtf::detail::execute<T, BACKEND>(                                        \
      BACKEND&, mtf::detail::step const&, mtf::sharding const&, mtf::backend::buffer<BACKEND> const&);        \
  EACH mtf::backend::buffer<BACKEND> mtf::detail::execute<T, BACKEND>(BACKEND&, mtf::detail::steps const&,    \
                                                                      mtf::backend::buffer<BACKEND> const&);  \
  EACH mtf::backend::buffer<BACKEND> mtf::detail::completed<T, BACKEND>(mtf::sharding const&, mtf::axis_mask, \
                                                                        mtf::backend::buffer<BACKEND> const&, \
                                                                        mtf::axis_mask, mtf::operation_label const&);

// and of their gradients, for floating types.
#define MTF_COMPILED_GRADIENTS(EACH, BACKEND, T)                                                                   \
  EACH class mtf::detail::contributions<BACKEND, T>;                                                               \
  EACH class mtf::detail::gradient_slot<BACKEND, T>;                                                               \
  EACH void mtf::detail::completion<BACKEND>::add<T>(mtf::detail::cotangent<BACKEND> const&, mtf::sharding const&, \
                                                     mtf::axis_mask, mtf::parameter_path const&);
