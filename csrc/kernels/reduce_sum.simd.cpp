// Sums. Floats accumulate in double, integers in int64.
#include "kernels/reduce_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T>
struct SumOp {
  using In = T;
  using Acc = Accumulator<T>;
  using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  // Narrow numbers are added in their own kind before they are widened: eight cannot overflow an
  // int32, and cost a float three roundings.
  using Part =
      std::conditional_t<std::is_same_v<Computed<T>, float>, float,
                         std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, int32_t, Acc>>;
  static constexpr bool divides = !std::is_integral_v<T>;
  FLAMBEAU_INLINE Acc identity() { return Acc(0); }
  FLAMBEAU_INLINE Part map(Computed<T> x) { return widen<Part>(x); }
  template <class A>
  FLAMBEAU_INLINE A merge(A a, A b) {
    return a + b;
  }
};

// Long rows as eight streams side by side: the processor fetches ahead in each, which nearly
// doubles the rate from memory.
template <class Op>
struct Streams {
  using T = typename Op::In;
  using A = typename Op::Acc;
  static constexpr int64_t kLong = 1 << 14;

  static A sum(const T* x, int64_t n) {
    const int64_t part = n / 8 / kLanes * kLanes;
    auto at = [x](int64_t i) { return Op::map(element(x, i)); };
    A lane[kLanes];
    for (int l = 0; l < kLanes; l++) lane[l] = A(0);
    for (int64_t i = 0; i < part; i += kLanes)
      for (int l = 0; l < kLanes; l++) {
        const int64_t a = i + l, b = a + 4 * part;
        lane[l] = lane[l] + A(((at(a) + at(a + part)) + (at(a + 2 * part) + at(a + 3 * part))) +
                              ((at(b) + at(b + part)) + (at(b + 2 * part) + at(b + 3 * part))));
      }
    for (int w = kLanes / 2; w; w /= 2)
      for (int l = 0; l < w; l++) lane[l] = lane[l] + lane[l + w];
    A rest;
    Loops<Op>::rows(&rest, x + 8 * part, 1, n - 8 * part, 0);
    return lane[0] + rest;
  }
  static void rows(void* acc, const void* in, int64_t count, int64_t n, int64_t stride) {
    if (n < kLong) return Loops<Op>::rows(acc, in, count, n, stride);
    const T* x = static_cast<const T*>(in);
    for (int64_t r = 0; r < count; r++, x += stride) static_cast<A*>(acc)[r] = sum(x, n);
  }
  static constexpr ReduceFns fns{int(sizeof(A)), rows, Loops<Op>::columns, Loops<Op>::combine,
                                 Loops<Op>::finish};
};

}  // namespace

extern const ReduceFns reduce_sum[kNumDTypes];
const ReduceFns reduce_sum[kNumDTypes] = {
    Loops<SumOp<bool>>::fns,           Loops<SumOp<uint8_t>>::fns,
    Loops<SumOp<int8_t>>::fns,         Loops<SumOp<int16_t>>::fns,
    Streams<SumOp<int32_t>>::fns,      Streams<SumOp<int64_t>>::fns,
    Loops<SumOp<HalfBits>>::fns,       Loops<SumOp<BFloat16Bits>>::fns,
    Streams<SumOp<float>>::fns,        Streams<SumOp<double>>::fns,
    Loops<SumOp<Complex<float>>>::fns, Loops<SumOp<Complex<double>>>::fns};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
