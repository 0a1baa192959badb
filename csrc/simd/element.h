// Elements as they lie in memory, and as kernels compute with them.
#pragma once
#include "simd/half.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

struct HalfBits {
  uint16_t bits;
};
struct BFloat16Bits {
  uint16_t bits;
};

template <class T>
FLAMBEAU_INLINE T load(T v) {
  return v;
}
FLAMBEAU_INLINE float load(HalfBits v) { return half_to_float(v.bits); }
FLAMBEAU_INLINE float load(BFloat16Bits v) { return bfloat16_to_float(v.bits); }
template <class To, class A>
FLAMBEAU_INLINE To store(A v) {
  if constexpr (__is_same(To, HalfBits))
    return {float_to_half(float(v))};
  else if constexpr (__is_same(To, BFloat16Bits))
    return {float_to_bfloat16(float(v))};
  else
    return To(v);
}

// Element i, ready to compute with. A bool is read as a byte: GCC vectorizes no load of bool.
template <class T>
FLAMBEAU_INLINE auto element(const T* p, int64_t i) {
  if constexpr (__is_same(T, bool))
    return reinterpret_cast<const uint8_t*>(p)[i] != 0;
  else
    return load(p[i]);
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
