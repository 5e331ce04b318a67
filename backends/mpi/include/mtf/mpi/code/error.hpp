#pragma once
// The text of MPI's failures.
#include <cstddef>
#include <string>

#include <mtf/backend/between_ranks.hpp>
#include <mtf/mpi/error.hpp>

namespace mtf::mpi {

std::string mpi_text(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return "MPI error " + std::to_string(code);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string mpi_place::text() const { return backend::place_text(call, axes, mesh); }

void mpi_check(int code, mpi_place const& at) {
  if (code != MPI_SUCCESS) throw mpi_error(at.text() + " failed: " + mpi_text(code));
}

}  // namespace mtf::mpi
