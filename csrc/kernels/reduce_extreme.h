// The operation of max, min and their positions; a NaN wins.
#pragma once
#include "kernels/reduce_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

template <class T, bool Largest>
struct ExtremeOp {
  using In = T;
  using Acc = Computed<T>;
  using Out = T;
  static constexpr bool divides = false;
  FLAMBEAU_INLINE Acc identity() {
    if constexpr (std::is_floating_point_v<Acc>)
      return Largest ? -kInf<Acc> : kInf<Acc>;
    else if constexpr (__is_same(Acc, bool))
      return !Largest;
    else if constexpr (std::is_unsigned_v<Acc>)
      return Largest ? Acc(0) : Acc(-1);
    else {
      constexpr auto top = std::make_unsigned_t<Acc>(-1) >> 1;
      return Largest ? Acc(-Acc(top) - 1) : Acc(top);
    }
  }
  FLAMBEAU_INLINE Acc map(Acc x) { return x; }
  FLAMBEAU_INLINE Acc merge(Acc a, Acc b) {
    if constexpr (__is_same(Acc, bool))
      return Largest ? a | b : a & b;
    else
      return Largest ? maximum(a, b) : minimum(a, b);
  }
};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
