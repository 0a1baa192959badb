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

}  // namespace

extern const ReduceFns reduce_sum[kNumDTypes];
const ReduceFns reduce_sum[kNumDTypes] = {FLAMBEAU_ALL_LOOPS(SumOp)};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
