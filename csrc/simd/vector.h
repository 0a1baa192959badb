// Explicit vectors of the widest kind of this instruction set, for loops that the compiler would
// not arrange by itself.
#pragma once
#include "simd/target.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class V, class T>
FLAMBEAU_INLINE V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
FLAMBEAU_INLINE void store(T* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

}  // namespace
}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
