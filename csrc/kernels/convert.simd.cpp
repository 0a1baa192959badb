// Conversion of contiguous elements between any two dtypes.
#include "simd/loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class To, class From>
struct Cast {
  FLAMBEAU_INLINE To apply(From x) {
    if constexpr (__is_same(To, bool))
      return x != From(0);
    else if constexpr (__is_same(To, HalfBits))
      return {float_to_half(float(x))};
    else if constexpr (__is_same(To, BFloat16Bits))
      return {float_to_bfloat16(float(x))};
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4)
      return To(int32_t(x));  // wraps, as going through a wider integer does
    else
      return To(x);
  }
};
template <class To, class P>
struct Cast<To, Complex<P>> {
  FLAMBEAU_INLINE To apply(Complex<P> z) {
    if constexpr (__is_same(To, bool))
      return z.re != 0 || z.im != 0;
    else
      return Cast<To, P>::apply(z.re);
  }
};
template <class Q, class From>
struct Cast<Complex<Q>, From> {
  FLAMBEAU_INLINE Complex<Q> apply(From x) { return {Q(x), Q(0)}; }
};
template <class Q, class P>
struct Cast<Complex<Q>, Complex<P>> {
  FLAMBEAU_INLINE Complex<Q> apply(Complex<P> z) { return {Q(z.re), Q(z.im)}; }
};

template <class To, class From>
void convert(void* out_bytes, const void* const* in, int64_t n, const void*) {
  To* out = static_cast<To*>(out_bytes);
  const From* a = static_cast<const From*>(in[0]);
  if constexpr (__is_same(To, HalfBits) && __is_same(From, float)) {
    float_to_half(reinterpret_cast<uint16_t*>(out), a, size_t(n));
  } else if constexpr (__is_same(From, HalfBits) && __is_same(To, float)) {
    half_to_float(out, reinterpret_cast<const uint16_t*>(a), size_t(n));
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
      auto x = element(a, i);
      out[i] = Cast<To, decltype(x)>::apply(x);
    }
  }
}

#define ROW(To)                                                              \
  {convert<To, bool>,     convert<To, uint8_t>,        convert<To, int8_t>,  \
   convert<To, int16_t>,  convert<To, int32_t>,        convert<To, int64_t>, \
   convert<To, HalfBits>, convert<To, BFloat16Bits>,   convert<To, float>,   \
   convert<To, double>,   convert<To, Complex<float>>, convert<To, Complex<double>>}

}  // namespace

// [to][from]
extern const LoopFn convert_table[kNumDTypes][kNumDTypes];
const LoopFn convert_table[kNumDTypes][kNumDTypes] = {
    ROW(bool),    ROW(uint8_t), ROW(int8_t),         ROW(int16_t),
    ROW(int32_t), ROW(int64_t), ROW(HalfBits),       ROW(BFloat16Bits),
    ROW(float),   ROW(double),  ROW(Complex<float>), ROW(Complex<double>)};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
