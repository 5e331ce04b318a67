#pragma once
// The MPI backend: collectives over mesh axes between processes, and the frame of a program.
#include <mtf/mpi/collectives.hpp>
#include <mtf/mpi/device.hpp>
#include <mtf/mpi/error.hpp>
#include <mtf/mpi/run.hpp>
