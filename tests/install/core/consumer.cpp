// A program that checks a layout and computes nothing: it has neither Kokkos nor MPI.
#include <mtf/mtf.hpp>

struct batch : mtf::dim<"batch", 64> {};
struct hidden : mtf::dim<"hidden", 1024> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};

using where = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<hidden, model>>;

int main() { return sizeof(where) == 0; }
