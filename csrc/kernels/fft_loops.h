// What the passes of a Fourier transform and the moves between them share: vectors, and reading and
// writing complex numbers. The code is written once for a type V that is a vector of this
// instruction set or, for what is left over, one number: the operations on each element are the
// same. The compiler must not vectorize it further (CMakeLists.txt): GCC makes fused operations of
// products that are added and subtracted in turn, whatever -ffp-contract says.
#pragma once
#include <utility>

#include "kernels/fft_table.h"
#include "simd/target.h"
#include "simd/vector.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// FftFns::columns
void fft_columns_float(const FftColumns& plan, const FftMatrix& in, const FftMatrix& out,
                       int64_t cols, void* work, double scale);
void fft_columns_double(const FftColumns& plan, const FftMatrix& in, const FftMatrix& out,
                        int64_t cols, void* work, double scale);

namespace {

template <class T>
constexpr int kLanes = kBytes / int(sizeof(T));

template <int N, class F>
FLAMBEAU_INLINE void each(F&& f) {
  [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, N>());
}

// ---- reading and writing ------------------------------------------------------------------------

// Element N * odd + 2k + odd of the concatenation, and its inverse.
template <int odd, class V, int... k>
FLAMBEAU_INLINE V every_other(V a, V b, std::integer_sequence<int, k...>) {
  return __builtin_shufflevector(a, b, (2 * k + odd)...);
}
template <int high, class V, int... k>
FLAMBEAU_INLINE V interleaved(V a, V b, std::integer_sequence<int, k...>) {
  constexpr int n = sizeof...(k);
  return __builtin_shufflevector(a, b, (high * n / 2 + k / 2 + (k & 1) * n)...);
}

// That numbers lie in pairs is known to the compiler, which of a pair counts as the real part is
// not: a branch that always goes the same way costs less than a second copy of all passes.
template <class T, bool paired, class V>
FLAMBEAU_INLINE void read(const T* re, const T* im, int64_t at, bool swapped, V& a, V& b) {
  if constexpr (!paired) {
    a = load<V>(re + at);
    b = load<V>(im + at);
  } else {
    if constexpr (sizeof(V) == sizeof(T)) {
      a = re[2 * at];
      b = re[2 * at + 1];
    } else {
      using Index = std::make_integer_sequence<int, kLanes<T>>;
      const V low = load<V>(re + 2 * at), high = load<V>(re + 2 * at + kLanes<T>);
      a = every_other<0>(low, high, Index());
      b = every_other<1>(low, high, Index());
    }
    if (swapped) std::swap(a, b);
  }
}

template <class T, bool paired, class V>
FLAMBEAU_INLINE void write(T* re, T* im, int64_t at, bool swapped, V a, V b) {
  if constexpr (!paired) {
    store(re + at, a);
    store(im + at, b);
  } else {
    if (swapped) std::swap(a, b);
    if constexpr (sizeof(V) == sizeof(T)) {
      re[2 * at] = a;
      re[2 * at + 1] = b;
    } else {
      using Index = std::make_integer_sequence<int, kLanes<T>>;
      store(re + 2 * at, interleaved<0>(a, b, Index()));
      store(re + 2 * at + kLanes<T>, interleaved<1>(a, b, Index()));
    }
  }
}

// Elements at, at - 1, …
template <class V, int... k>
FLAMBEAU_INLINE V backwards(V a, std::integer_sequence<int, k...>) {
  return __builtin_shufflevector(a, a, (int(sizeof...(k)) - 1 - k)...);
}
template <class T, bool paired, class V>
FLAMBEAU_INLINE void read_back(const T* re, const T* im, int64_t at, V& a, V& b) {
  if constexpr (sizeof(V) == sizeof(T)) {
    read<T, paired>(re, im, at, false, a, b);
  } else {
    using Index = std::make_integer_sequence<int, kLanes<T>>;
    read<T, paired>(re, im, at - kLanes<T> + 1, false, a, b);
    a = backwards(a, Index());
    b = backwards(b, Index());
  }
}

// f(V tag, position) over [0, n): whole vectors, then single numbers.
template <class T, class F>
FLAMBEAU_INLINE void each_vector(int64_t n, F&& f) {
  using V = typename VectorOf<T>::type;
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) f(V(), i);
  for (; i < n; i++) f(T(), i);
}

}  // namespace
}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
