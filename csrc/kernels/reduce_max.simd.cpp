// Largest elements.
#include "kernels/reduce_extreme.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T>
using Op = ExtremeOp<T, true>;

}  // namespace

extern const ReduceFns reduce_max[kNumDTypes];
const ReduceFns reduce_max[kNumDTypes] = {FLAMBEAU_REAL_LOOPS(Op), kNoReduce, kNoReduce};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
