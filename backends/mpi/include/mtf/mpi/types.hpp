#pragma once
// Element types and combinations in MPI's terms.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/between_ranks.hpp>
#include <mtf/mpi/error.hpp>

namespace mtf::mpi {

inline MPI_Datatype mpi_type(element type) {
  switch (type) {
    case element::f32:
      return MPI_FLOAT;
    case element::f64:
      return MPI_DOUBLE;
    case element::bf16:
      return MPI_UINT16_T;
    case element::i32:
      return MPI_INT32_T;
    case element::i64:
      return MPI_INT64_T;
    case element::boolean:
      return MPI_C_BOOL;
  }
  return MPI_DATATYPE_NULL;
}

// Gives the same bits for (a, b) and (b, a), also for NaN, which wins: algorithms that combine in a different order on
// each rank then still agree. MPI_MAX and MPI_MIN leave NaN open.
template <class T, combine Op>
void mpi_combine(void* in, void* inout, int* length, MPI_Datatype*) {
  auto const* a = static_cast<T const*>(in);
  auto* b = static_cast<T*>(inout);
  for (int i = 0; i < *length; ++i) b[i] = backend::combined<Op>(a[i], b[i]);
}

/// The reductions that MPI lacks, made once: bfloat16 (each pair is combined in float) and max and min with NaN.
class mpi_operations {
 public:
  mpi_operations() {
    make<bfloat16, combine::sum>(0);
    make<bfloat16, combine::max>(1);
    make<bfloat16, combine::min>(2);
    make<float, combine::max>(3);
    make<float, combine::min>(4);
    make<double, combine::max>(5);
    make<double, combine::min>(6);
  }
  ~mpi_operations() {
    for (auto& op : made_)
      if (op != MPI_OP_NULL) MPI_Op_free(&op);
  }
  mpi_operations(mpi_operations const&) = delete;
  mpi_operations& operator=(mpi_operations const&) = delete;

  /// For bool, sum and max mean "any", min means "all".
  [[nodiscard]] MPI_Op find(combine op, element type) const {
    std::size_t const max_or_min = op == combine::max ? 0 : 1;
    switch (type) {
      case element::boolean:
        return op == combine::min ? MPI_LAND : MPI_LOR;
      case element::bf16:
        return op == combine::sum ? made_[0] : made_[1 + max_or_min];
      case element::f32:
        return op == combine::sum ? MPI_SUM : made_[3 + max_or_min];
      case element::f64:
        return op == combine::sum ? MPI_SUM : made_[5 + max_or_min];
      case element::i32:
      case element::i64:
        break;
    }
    return op == combine::sum ? MPI_SUM : op == combine::max ? MPI_MAX : MPI_MIN;
  }

 private:
  template <class T, combine Op>
  void make(std::size_t at) {
    mpi_check(MPI_Op_create(&mpi_combine<T, Op>, 1, &made_[at]), {"MPI_Op_create"});
  }

  std::array<MPI_Op, 7> made_{MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL,
                              MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL};
};

/// `count` elements as one MPI datatype: for moves of more elements than an int counts. `largest` fits in an int.
class block_type {
 public:
  block_type(MPI_Datatype of, std::size_t bytes_each, std::size_t count, std::size_t largest) {
    auto const whole = count / largest;
    MPI_Datatype piece = MPI_DATATYPE_NULL;
    mpi_check(MPI_Type_contiguous(static_cast<int>(largest), of, &piece), {"MPI_Type_contiguous"});
    std::array<int, 2> const lengths{static_cast<int>(whole), static_cast<int>(count % largest)};
    std::array<MPI_Aint, 2> const at{0, static_cast<MPI_Aint>(whole * largest * bytes_each)};
    std::array<MPI_Datatype, 2> const types{piece, of};
    int const code = MPI_Type_create_struct(2, lengths.data(), at.data(), types.data(), &type_);
    MPI_Type_free(&piece);
    mpi_check(code, {"MPI_Type_create_struct"});
    mpi_check(MPI_Type_commit(&type_), {"MPI_Type_commit"});
  }
  // Operations that have started keep the type alive.
  ~block_type() { MPI_Type_free(&type_); }
  block_type(block_type const&) = delete;
  block_type& operator=(block_type const&) = delete;

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace mtf::mpi
