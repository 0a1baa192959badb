// Sums that leave NaN out.
#include "kernels/reduce_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T>
struct NanSumOp {
  using In = T;
  using Acc = Accumulator<T>;
  using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static constexpr bool divides = !std::is_integral_v<T>;
  FLAMBEAU_INLINE Acc identity() { return Acc(0); }
  FLAMBEAU_INLINE Acc map(Computed<T> v) {
    if constexpr (std::is_floating_point_v<Computed<T>>)
      return v != v ? Acc(0) : Acc(v);
    else
      return widen<Acc>(v);
  }
  FLAMBEAU_INLINE Acc merge(Acc a, Acc b) { return a + b; }
};

}  // namespace

extern const ReduceFns reduce_nansum[kNumDTypes];
const ReduceFns reduce_nansum[kNumDTypes] = {FLAMBEAU_ALL_LOOPS(NanSumOp)};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
