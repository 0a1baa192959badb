// The inner loop of every pointwise operator: contiguous blocks, one functor, vectorized by the
// compiler.
#pragma once
#include "simd/complex.h"
#include "simd/element.h"
#include "simd/logic.h"

namespace flambeau {

using LoopFn = void (*)(void* out, const void* const* in, int64_t n, const void* params);
constexpr int kNumDTypes = 12;

namespace FLAMBEAU_TARGET_NS {

template <class T>
struct RealType {
  using type = T;
};
template <class T>
struct RealType<Complex<T>> {
  using type = T;
};
template <class T>
using RealOf = typename RealType<T>::type;

// Parameter i lies 16·i bytes into the block.
template <class T>
FLAMBEAU_INLINE T param(const void* params, int i) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(params) + 16 * i);
}

template <class T, bool AsBool>
struct InputType {
  using type = T;
};
template <class T>
struct InputType<T, true> {
  using type = bool;
};

// F: functor; R: result type; T: compute type; Inputs, Params: how many; Bools: inputs read as
// bool.
template <class F, class R, class T, int Inputs, int Params, int Bools>
void loop(void* out_bytes, const void* const* in, int64_t n, const void* params) {
  R* out = static_cast<R*>(out_bytes);
  using A = typename InputType<T, (Bools & 1) != 0>::type;
  const A* a = Inputs > 0 ? static_cast<const A*>(in[0]) : nullptr;
  const T* b = Inputs > 1 ? static_cast<const T*>(in[1]) : nullptr;
  const T* c = Inputs > 2 ? static_cast<const T*>(in[2]) : nullptr;
  const T* d = Inputs > 3 ? static_cast<const T*>(in[3]) : nullptr;
  const T p0 = Params > 0 ? param<T>(params, 0) : T(), p1 = Params > 1 ? param<T>(params, 1) : T();
  const T p2 = Params > 2 ? param<T>(params, 2) : T(), p3 = Params > 3 ? param<T>(params, 3) : T();
  auto at = [&](int64_t i) -> R {
    auto call = [&](auto... x) -> R {
      if constexpr (Params == 0)
        return R(F::apply(x...));
      else if constexpr (Params == 1)
        return R(F::apply(x..., p0));
      else if constexpr (Params == 2)
        return R(F::apply(x..., p0, p1));
      else if constexpr (Params == 3)
        return R(F::apply(x..., p0, p1, p2));
      else
        return R(F::apply(x..., p0, p1, p2, p3));
    };
    if constexpr (Inputs == 1)
      return call(element(a, i));
    else if constexpr (Inputs == 2)
      return call(element(a, i), element(b, i));
    else if constexpr (Inputs == 3)
      return call(element(a, i), element(b, i), element(c, i));
    else
      return call(element(a, i), element(b, i), element(c, i), element(d, i));
  };
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) out[i] = at(i);
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
