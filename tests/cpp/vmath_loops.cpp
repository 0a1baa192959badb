// Plain loops over the vector math, as the pointwise kernels write them; see vmath_loops.h.
#include "vmath_loops.h"

#include "simd/half.h"
#include "simd/vmath.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

#define UNARY(T, f)                                                           \
  static void loop_##f(T* __restrict out, const T* __restrict in, size_t n) { \
    for (size_t i = 0; i < n; i++) out[i] = f(in[i]);                         \
  }
#define BINARY(T, f)                                                                    \
  static void loop_##f(T* __restrict out, const T* __restrict a, const T* __restrict b, \
                       size_t n) {                                                      \
    for (size_t i = 0; i < n; i++) out[i] = f(a[i], b[i]);                              \
  }
// clang-format off
#define FLOAT_UNARY(X)                                                                            \
  X(exp)                                                                                          \
  X(exp2)                                                                                         \
  X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh)  \
      X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sigmoid) X(erf) X(erfc) X(sqrt) X(rsqrt)       \
          X(normal_cdf) X(floor) X(ceil) X(trunc) X(round) X(sign) X(silu) X(logsigmoid)          \
              X(softplus) X(mish) X(gelu) X(gelu_tanh) X(sinc) X(half_round_trip)                 \
                  X(bfloat16_round_trip) X(lgamma) X(digamma) X(i0) X(i0e) X(i1) X(i1e) X(erfinv) \
                      X(ndtri) X(log_ndtr)
#define FLOAT_BINARY(X)                                                                            \
  X(pow)                                                                                           \
  X(atan2)                                                                                         \
  X(hypot) X(fmod) X(remainder) X(floor_divide) X(maximum) X(minimum) X(fmax) X(fmin) X(nextafter) \
      X(copysign) X(logaddexp) X(logaddexp2) X(xlogy) X(xlog1py) X(heaviside) X(fused)
#define DOUBLE_UNARY(X)                                                                      \
  X(exp)                                                                                     \
  X(expm1)                                                                                   \
  X(log) X(log1p) X(sin) X(cos) X(tanh) X(sigmoid) X(erf) X(floor) X(ceil) X(trunc) X(round) \
      X(rsqrt) X(exp2) X(erfc) X(lgamma) X(digamma) X(i0) X(i1) X(erfinv) X(ndtri) X(log_ndtr)
#define DOUBLE_BINARY(X) X(pow) X(remainder) X(floor_divide) X(nextafter)

FLAMBEAU_INLINE float half_round_trip(float x) { return half_to_float(float_to_half(x)); }
FLAMBEAU_INLINE float bfloat16_round_trip(float x) {
  return bfloat16_to_float(float_to_bfloat16(x));
}
// a·b − rounded(a·b): nothing but the rounding of the product survives.
FLAMBEAU_INLINE float fused(float a, float b) { return fma(a, b, -(a * b)); }

namespace float_loops {
// The array conversions, whose vector path must agree with the single values'.
static void loop_half_array(float* out, const float* in, size_t n) {
  uint16_t halves[256];
  for (size_t i = 0; i < n; i += 256) {
    size_t count = n - i < 256 ? n - i : 256;
    float_to_half(halves, in + i, count);
    half_to_float(out + i, halves, count);
  }
}
#define X(f) UNARY(float, f)
FLOAT_UNARY(X)
#undef X
#define X(f) BINARY(float, f)
FLOAT_BINARY(X)
#undef X
static const MathLoop<float> table[] = {{"half_array", loop_half_array, nullptr},
#define X(f) {#f, loop_##f, nullptr},
                                        FLOAT_UNARY(X)
#undef X
#define X(f) {#f, nullptr, loop_##f},
                                            FLOAT_BINARY(X)
#undef X
};
}  // namespace float_loops

namespace double_loops {
static void loop_sin_array(double* out, const double* in, size_t n) { sin_array(out, in, n); }
static void loop_cos_array(double* out, const double* in, size_t n) { cos_array(out, in, n); }
#define X(f) UNARY(double, f)
DOUBLE_UNARY(X)
#undef X
#define X(f) BINARY(double, f)
DOUBLE_BINARY(X)
#undef X
static const MathLoop<double> table[] = {{"sin_array", loop_sin_array, nullptr},
                                         {"cos_array", loop_cos_array, nullptr},
#define X(f) {#f, loop_##f, nullptr},
                                         DOUBLE_UNARY(X)
#undef X
#define X(f) {#f, nullptr, loop_##f},
                                             DOUBLE_BINARY(X)
#undef X
};
}  // namespace double_loops

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau

#define PASTE(a, b) a##b
#define TABLE_NAME(ns) PASTE(loops_, ns)
#define TEXT(x) #x
#define TARGET_TEXT(ns) TEXT(ns)
namespace target = flambeau::FLAMBEAU_TARGET_NS;
extern const MathLoops TABLE_NAME(FLAMBEAU_TARGET_NS) = {
    TARGET_TEXT(FLAMBEAU_TARGET_NS), target::float_loops::table, target::double_loops::table,
    sizeof(target::float_loops::table) / sizeof(MathLoop<float>),
    sizeof(target::double_loops::table) / sizeof(MathLoop<double>)};
// clang-format on
