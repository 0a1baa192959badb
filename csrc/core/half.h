// float16 and bfloat16 as storage types: arithmetic happens in float, rounding to nearest even.
#pragma once
#include <bit>
#include <cstdint>

namespace flambeau {

inline float half_to_float(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000u) << 16, exponent = (h >> 10) & 31, mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  float tiny = float(mantissa) * 0x1p-24f;  // subnormal or zero
  return std::bit_cast<float>(std::bit_cast<uint32_t>(tiny) | sign);
}

inline uint16_t float_to_half(float f) {
  uint32_t x = std::bit_cast<uint32_t>(f), sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  if (x > 0x7f800000u) return uint16_t(sign | 0x7e00u | (x >> 13 & 0x3ffu));
  if (x >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // rounds to infinity
  if (x < 0x38800000u) {  // subnormal: adding 0.5 shifts the mantissa to its place and rounds
    float shifted = std::bit_cast<float>(x) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  uint32_t rounded = x + 0xfffu + (x >> 13 & 1);
  return uint16_t(sign | (rounded - 0x38000000u) >> 13);
}

inline float bfloat16_to_float(uint16_t h) { return std::bit_cast<float>(uint32_t(h) << 16); }

inline uint16_t float_to_bfloat16(float f) {
  uint32_t x = std::bit_cast<uint32_t>(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return uint16_t(x >> 16 | 0x40u);
  return uint16_t((x + 0x7fffu + (x >> 16 & 1)) >> 16);
}

struct half_t {
  uint16_t bits = 0;
  half_t() = default;
  half_t(float f) : bits(float_to_half(f)) {}
  operator float() const { return half_to_float(bits); }
};

struct bfloat16_t {
  uint16_t bits = 0;
  bfloat16_t() = default;
  bfloat16_t(float f) : bits(float_to_bfloat16(f)) {}
  operator float() const { return bfloat16_to_float(bits); }
};

}  // namespace flambeau
