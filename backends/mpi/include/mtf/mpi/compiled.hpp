#pragma once
// Functions that are the same in every program are declared in their headers and defined in mtf/mpi/code/. The library
// mtf::mpi_compiled has them; a program that links it has MTF_MPI_COMPILED and only declares them. Without it, which is
// the default, each header includes its code, and they are inline: already where they are declared, as virtual
// functions that are not would be compiled in every file, used or not.

#if !defined(MTF_MPI_COMPILED)
// Before the declaration of such a function.
#define MTF_MPI_CODE inline
#else
#define MTF_MPI_CODE
#endif
