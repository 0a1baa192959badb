// Inner loops of reductions by rows and by columns, for any operation and element type.
#pragma once
#include "kernels/reduce_lanes.h"
#include "kernels/reduce_table.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

template <class T>
using Computed = decltype(load(T()));

// The accumulator of sums: double for floats, int64 for integers.
template <class T>
struct AccumulatorOf {
  using type = int64_t;
};
template <Floating T>
struct AccumulatorOf<T> {
  using type = double;
};
template <class T>
struct AccumulatorOf<Complex<T>> {
  using type = Complex<double>;
};
template <class T>
using Accumulator = typename AccumulatorOf<Computed<T>>::type;

template <class A, class T>
FLAMBEAU_INLINE A widen(T v) {
  if constexpr (requires { v.re; })
    return A(double(v.re), double(v.im));
  else
    return A(v);
}

// What an operation defines: In, the element type; Acc, the accumulator; Out, its natural result;
// identity(); map(x), an element as a part; merge(a, b); and whether results are divided.

template <class Op>
struct Loops {
  using T = typename Op::In;
  using A = typename Op::Acc;
  static void rows(void* acc, const void* in, int64_t count, int64_t n, int64_t stride) {
    const T* x = static_cast<const T*>(in);
    for (int64_t r = 0; r < count; r++, x += stride)
      static_cast<A*>(acc)[r] = reduce_lanes(
          n, Op::identity(), [x](int64_t i) { return Op::map(element(x, i)); },
          [](auto a, auto b) { return Op::merge(a, b); });
  }
  static void columns(void* acc, const void* in, int64_t rows, int64_t cols, int64_t stride) {
    const T* x = static_cast<const T*>(in);
    reduce_columns(
        static_cast<A*>(acc), rows, cols, Op::identity(),
        [x, stride](int64_t r, int64_t c) { return Op::map(element(x, r * stride + c)); },
        [](auto a, auto b) { return Op::merge(a, b); });
  }
  static void combine(void* acc, const void* other, int64_t n) {
    A* a = static_cast<A*>(acc);
    const A* b = static_cast<const A*>(other);
    for (int64_t i = 0; i < n; i++) a[i] = Op::merge(a[i], b[i]);
  }
  static void finish(void* out, const void* acc, int64_t n, double divisor) {
    using Out = typename Op::Out;
    const A* a = static_cast<const A*>(acc);
    for (int64_t i = 0; i < n; i++) {
      A v = a[i];
      if constexpr (Op::divides) v = divisor == 1 ? v : v / divisor;
      if constexpr (requires { v.re; })
        static_cast<Out*>(out)[i] = Out(v.re, v.im);
      else
        static_cast<Out*>(out)[i] = store<Out>(v);
    }
  }
  static constexpr ReduceFns fns{int(sizeof(A)), rows, columns, combine, finish};
};

constexpr ReduceFns kNoReduce{};

// Rows of a table by dtype; those an operation lacks stay empty.
#define FLAMBEAU_REAL_LOOPS(Op)                                                                   \
  Loops<Op<bool>>::fns, Loops<Op<uint8_t>>::fns, Loops<Op<int8_t>>::fns, Loops<Op<int16_t>>::fns, \
      Loops<Op<int32_t>>::fns, Loops<Op<int64_t>>::fns, Loops<Op<HalfBits>>::fns,                 \
      Loops<Op<BFloat16Bits>>::fns, Loops<Op<float>>::fns, Loops<Op<double>>::fns
#define FLAMBEAU_ALL_LOOPS(Op) \
  FLAMBEAU_REAL_LOOPS(Op), Loops<Op<Complex<float>>>::fns, Loops<Op<Complex<double>>>::fns
#define FLAMBEAU_FLOAT_LOOPS(L)                                                       \
  kNoReduce, kNoReduce, kNoReduce, kNoReduce, kNoReduce, kNoReduce, L<HalfBits>::fns, \
      L<BFloat16Bits>::fns, L<float>::fns, L<double>::fns

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
