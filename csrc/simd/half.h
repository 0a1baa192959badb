// float16 and bfloat16 <-> float, single values and arrays. Rounds to nearest even; a NaN keeps its
// sign and leading payload bits and becomes quiet. Single values are straight-line integer code
// that vectorizes inside any loop; arrays use F16C where compiled with it, with results equal to
// the bit.
#pragma once
#include "simd/target.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

FLAMBEAU_INLINE float half_to_float(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  uint32_t normal = (magnitude << 13) + 0x38000000u;
  uint32_t special = (magnitude << 13) | 0x7f800000u | (magnitude > 0x7c00u ? 0x400000u : 0u);
  uint32_t tiny = bits<uint32_t>(float(int32_t(magnitude)) * 0x1p-24f);
  uint32_t r = magnitude >= 0x7c00u ? special : normal;
  r = magnitude < 0x400u ? tiny : r;
  return bits<float>(r | sign);
}

FLAMBEAU_INLINE uint16_t float_to_half(float f) {
  uint32_t x = bits<uint32_t>(f), sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  uint32_t nan = 0x7e00u | (x >> 13 & 0x3ffu);
  // Subnormal result: adding 0.5 shifts the mantissa to its place and rounds.
  uint32_t tiny = bits<uint32_t>(bits<float>(x) + 0.5f) - 0x3f000000u;
  uint32_t normal = (x + 0xfffu + (x >> 13 & 1) - 0x38000000u) >> 13;
  uint32_t r = x < 0x38800000u ? tiny : normal;
  r = x >= 0x477ff000u ? 0x7c00u : r;
  r = x > 0x7f800000u ? nan : r;
  return uint16_t(r | sign);
}

FLAMBEAU_INLINE float bfloat16_to_float(uint16_t h) { return bits<float>(uint32_t(h) << 16); }

FLAMBEAU_INLINE uint16_t float_to_bfloat16(float f) {
  uint32_t x = bits<uint32_t>(f);
  uint32_t rounded = (x + 0x7fffu + (x >> 16 & 1)) >> 16, nan = x >> 16 | 0x40u;
  return uint16_t((x & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

FLAMBEAU_INLINE void half_to_float(float* out, const uint16_t* in, size_t n) {
  size_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(in + i))));
  }
#endif
  for (; i < n; i++) out[i] = half_to_float(in[i]);
}

FLAMBEAU_INLINE void float_to_half(uint16_t* out, const float* in, size_t n) {
  size_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i*)(out + i), h);
  }
#endif
  for (; i < n; i++) out[i] = float_to_half(in[i]);
}

FLAMBEAU_INLINE void bfloat16_to_float(float* out, const uint16_t* in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = bfloat16_to_float(in[i]);
}

FLAMBEAU_INLINE void float_to_bfloat16(uint16_t* out, const float* in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = float_to_bfloat16(in[i]);
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
