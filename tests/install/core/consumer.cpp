// A program that checks a layout and computes nothing: it has neither Kokkos nor MPI.
#include <mtf/mtf.hpp>

struct batch : mtf::dim<"batch", 64> {};
struct hidden : mtf::dim<"hidden", 1024> {};
struct rows : mtf::axis<"rows", 2> {};
struct cols : mtf::axis<"cols", 2> {};

using where = mtf::layout<mtf::mesh<rows, cols>, mtf::split<batch, rows>, mtf::split<hidden, cols>>;

int main() { return sizeof(where) == 0; }
