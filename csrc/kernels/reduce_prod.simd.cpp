// Products.
#include "kernels/reduce_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T>
struct ProdOp {
  using In = T;
  using Acc = Accumulator<T>;
  using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static constexpr bool divides = false;
  FLAMBEAU_INLINE Acc identity() { return Acc(1); }
  FLAMBEAU_INLINE Acc map(Computed<T> x) { return widen<Acc>(x); }
  FLAMBEAU_INLINE Acc merge(Acc a, Acc b) {
    if constexpr (std::is_integral_v<Acc>)
      return Acc(uint64_t(a) * uint64_t(b));
    else
      return a * b;
  }
};

}  // namespace

extern const ReduceFns reduce_prod[kNumDTypes];
const ReduceFns reduce_prod[kNumDTypes] = {FLAMBEAU_ALL_LOOPS(ProdOp)};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
