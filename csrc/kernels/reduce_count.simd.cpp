// Numbers of elements that are not zero.
#include "kernels/reduce_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T>
struct CountOp {
  using In = T;
  using Acc = int64_t;
  using Out = int64_t;
  static constexpr bool divides = false;
  FLAMBEAU_INLINE int64_t identity() { return 0; }
  FLAMBEAU_INLINE uint8_t map(Computed<T> x) { return truth(x); }
  template <class A>
  FLAMBEAU_INLINE A merge(A a, A b) {
    return A(a + b);
  }
};

}  // namespace

extern const ReduceFns reduce_count[kNumDTypes];
const ReduceFns reduce_count[kNumDTypes] = {FLAMBEAU_ALL_LOOPS(CountOp)};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
