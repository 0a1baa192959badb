// What the LAPACK kernels share: matrices laid out by columns, loops over the batch, argument
// checks, and LAPACK's routines as overloads of the element type.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include "core/tensor.h"
#include "runtime/parallel.h"

namespace flambeau::linalg {

// ---- layout
inline Dims batch_sizes(const Tensor& a) {
  return Dims(IntSpan(a.sizes()).first(size_t(a.dim() - 2)));
}
inline int64_t batch_count(const Tensor& a) { return product(batch_sizes(a)); }
inline Dims appended(Dims sizes, std::initializer_list<int64_t> more) {
  for (int64_t n : more) sizes.push_back(n);
  return sizes;
}
// Strides of dense matrices that lie column by column, as LAPACK reads them.
Dims column_strides(IntSpan sizes);
Tensor empty_columns(IntSpan sizes, DType dtype, Device device);
// A fresh copy that lies column by column; broadcast to `sizes` where they differ.
Tensor column_copy(const Tensor& a);
Tensor column_copy(const Tensor& a, const Dims& sizes);
Tensor filled(IntSpan sizes, DType dtype, Device device, const Scalar& value);

// f(i) for each of `count` matrices that cost about `flops` each; LAPACK itself has one thread.
template <class F>
void each_matrix(int64_t count, double flops, F&& f) {
  LongWork work(flops * double(count) > 1e6);
  const auto grain = std::max<int64_t>(1, int64_t(1e5 / std::max(flops, 1.0)));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) f(i);
  });
}

template <class T>
bool all_finite(const T* p, int64_t n) {
  return std::all_of(
      p, p + n, [](T v) { return std::isfinite(std::real(v)) && std::isfinite(std::imag(v)); });
}
// Of one triangle of an n x n matrix that lies column by column.
template <class T>
bool triangle_finite(const T* p, int64_t n, bool lower) {
  for (int64_t j = 0; j < n; j++)
    if (!(lower ? all_finite(p + j * n + j, n - j) : all_finite(p + j * n, j + 1))) return false;
  return true;
}
inline double cube(int64_t n) { return double(n) * double(n) * double(n); }

// ---- arguments
void check_matrix(const char* op, const Tensor& a, const char* name = "A");
void check_square(const char* op, const Tensor& a, const char* name = "A");
void check_inexact(const char* op, const Tensor& a, bool low_precision = true);
void check_same(const char* op, const Tensor& a, const Tensor& b, const char* name_b);
void check_pivots(const char* op, const Tensor& pivots, const Tensor& matrix, int64_t n);
// Whether b holds one vector per matrix of a, not matrices.
bool is_vector_case(const Tensor& a, const Tensor& b);
Dims joined_batch(const Tensor& a, const Tensor& b);
lapack_int to_int(int64_t n);

enum class Failure {
  NotPositive,
  SingularInverse,
  SingularSolve,
  ZeroPivot,
  Eigen,
  Svd,
  Rank,
  Ldl
};
// Raises LinAlgError for the first matrix of the batch whose code is not 0.
void check_info(const char* op, const Tensor& info, Failure kind, bool ignore = false);

// ---- element types
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
constexpr bool kComplex = !std::is_same_v<T, Real<T>>;

template <class F>
decltype(auto) visit_lapack(DType t, const char* what, F&& f) {
  switch (t) {
    case DType::Float32:
      return f(TypeTag<float>{});
    case DType::Float64:
      return f(TypeTag<double>{});
    case DType::Complex64:
      return f(TypeTag<complex64_t>{});
    case DType::Complex128:
      return f(TypeTag<complex128_t>{});
    default:
      fail<NotImplementedError>("\"", what, "\" not implemented for '", info(t).name,
                                "'; expected float32, float64, complex64 or complex128");
  }
}

// potrf<double>(…) is scipy_LAPACKE_dpotrf(LAPACK_COL_MAJOR, …): info, 0 for success.
#define FLAMBEAU_LAPACK(name, S, D, C, Z)               \
  template <class T, class... A>                        \
  lapack_int name(A... a) {                             \
    if constexpr (std::is_same_v<T, float>)             \
      return scipy_LAPACKE_##S(LAPACK_COL_MAJOR, a...); \
    else if constexpr (std::is_same_v<T, double>)       \
      return scipy_LAPACKE_##D(LAPACK_COL_MAJOR, a...); \
    else if constexpr (std::is_same_v<T, complex64_t>)  \
      return scipy_LAPACKE_##C(LAPACK_COL_MAJOR, a...); \
    else                                                \
      return scipy_LAPACKE_##Z(LAPACK_COL_MAJOR, a...); \
  }
FLAMBEAU_LAPACK(potrf, spotrf, dpotrf, cpotrf, zpotrf)
FLAMBEAU_LAPACK(potri, spotri, dpotri, cpotri, zpotri)
FLAMBEAU_LAPACK(potrs, spotrs, dpotrs, cpotrs, zpotrs)
FLAMBEAU_LAPACK(getrf, sgetrf, dgetrf, cgetrf, zgetrf)
FLAMBEAU_LAPACK(getri, sgetri, dgetri, cgetri, zgetri)
FLAMBEAU_LAPACK(getrs, sgetrs, dgetrs, cgetrs, zgetrs)
FLAMBEAU_LAPACK(geqrf, sgeqrf, dgeqrf, cgeqrf, zgeqrf)
FLAMBEAU_LAPACK(orgqr, sorgqr, dorgqr, cungqr, zungqr)
FLAMBEAU_LAPACK(ormqr, sormqr, dormqr, cunmqr, zunmqr)
FLAMBEAU_LAPACK(gesdd, sgesdd, dgesdd, cgesdd, zgesdd)
FLAMBEAU_LAPACK(syevd, ssyevd, dsyevd, cheevd, zheevd)
FLAMBEAU_LAPACK(gels, sgels, dgels, cgels, zgels)
FLAMBEAU_LAPACK(gelsy, sgelsy, dgelsy, cgelsy, zgelsy)
FLAMBEAU_LAPACK(gelsd, sgelsd, dgelsd, cgelsd, zgelsd)
FLAMBEAU_LAPACK(gelss, sgelss, dgelss, cgelss, zgelss)
FLAMBEAU_LAPACK(sytrf, ssytrf, dsytrf, csytrf, zsytrf)
FLAMBEAU_LAPACK(sytrs, ssytrs, dsytrs, csytrs, zsytrs)
#undef FLAMBEAU_LAPACK

// A code below zero is a wrong argument or a failed allocation inside LAPACK, never the data.
inline lapack_int no_usage_error(const char* routine, lapack_int code) {
  if (code == LAPACK_WORK_MEMORY_ERROR || code == LAPACK_TRANSPOSE_MEMORY_ERROR)
    fail<OutOfMemory>(routine, ": not enough memory for LAPACK's workspace");
  check(code >= 0, routine, ": LAPACK refused argument ", -code);
  return code;
}

}  // namespace flambeau::linalg
