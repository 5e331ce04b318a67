// A program is run on a layout instead of its mesh.
// expect[GNU]: error_not_a_mesh<mtf::layout<
// expect[Clang]: error_not_a_mesh<mtf::layout<
// expect[NVIDIA]: error_not_a_mesh<
// expect: error: static assertion failed.*mtf: a mesh is expected first
#include "names.hpp"
#include <mtf/threads/run.hpp>

struct backend {
  struct session {
    session(int&, char**&) {}
  };
  explicit backend(mtf::collectives&) {}
};

int main(int argc, char** argv) {
#ifdef MTF_CONTROL
  return mtf::run_threads<where::mesh_type, backend>(argc, argv, [](backend&) {});
#else
  return mtf::run_threads<where, backend>(argc, argv, [](backend&) {});
#endif
}
