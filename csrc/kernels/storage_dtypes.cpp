#include "kernels/storage_dtypes.h"

#include <array>
#include <cmath>
#include <limits>

namespace flambeau {
namespace {

// ---- eight-bit floats ---------------------------------------------------------------------------
// Formats of the OCP 8-bit Floating Point Specification (OFP8, rev. 1.0, 2023: e4m3fn, e5m2), of
// Noune et al., "8-bit Numerical Formats for Deep Neural Networks", 2022 (fnuz: one zero, one NaN,
// no infinity), and of the OCP Microscaling Formats specification (e8m0fnu: powers of two).

enum class Beyond : uint8_t { Largest, Infinity, NaN };  // what a number that is too large becomes

struct Format {
  int mantissa, bias;
  double largest;
  Beyond beyond;
  bool one_nan;  // 0x80, and no negative zero
};
constexpr Format kE4m3fn{3, 7, 448, Beyond::Largest, false};
constexpr Format kE4m3fnuz{3, 8, 240, Beyond::NaN, true};
constexpr Format kE5m2{2, 15, 57344, Beyond::Infinity, false};
constexpr Format kE5m2fnuz{2, 16, 57344, Beyond::NaN, true};

template <const Format& F>
struct Float8 {
  uint8_t bits;
  static constexpr uint8_t kNaN = F.one_nan ? 0x80 : 0x7f;
  static constexpr uint8_t kInfinity = 0x7c;

  static Float8 of(float x) {
    if (std::isnan(x)) return {kNaN};
    const uint8_t sign = std::signbit(x) ? 0x80 : 0;
    double value = std::abs(double(x));
    if (value != 0 && !std::isinf(value)) {  // to the grid of its exponent, ties to even
      const int exponent = std::max(std::ilogb(value), 1 - F.bias);
      const double step = std::ldexp(1.0, exponent - F.mantissa);
      value = std::nearbyint(value / step) * step;
    }
    if (value > F.largest) {
      if (F.beyond == Beyond::NaN) return {kNaN};
      if (F.beyond == Beyond::Infinity) return {uint8_t(sign | kInfinity)};
      value = F.largest;
    }
    if (value == 0) return {F.one_nan ? uint8_t(0) : sign};
    const int exponent = std::max(std::ilogb(value), 1 - F.bias);
    const int steps = int(std::ldexp(value, F.mantissa - exponent));
    // a subnormal has fewer than 2^mantissa steps, and the exponent field 0
    return {uint8_t(sign | (((exponent + F.bias - 1) << F.mantissa) + steps))};
  }
  float number() const {
    if (F.one_nan ? bits == 0x80 : is_nan()) return std::numeric_limits<float>::quiet_NaN();
    const int magnitude = bits & 0x7f, field = magnitude >> F.mantissa;
    const int steps = magnitude & ((1 << F.mantissa) - 1);
    float value;
    if (F.beyond == Beyond::Infinity && magnitude == kInfinity)
      value = std::numeric_limits<float>::infinity();
    else if (field == 0)
      value = std::ldexp(float(steps), 1 - F.bias - F.mantissa);
    else
      value = std::ldexp(float(steps + (1 << F.mantissa)), field - F.bias - F.mantissa);
    return bits & 0x80 ? -value : value;
  }
  bool is_nan() const {
    const int magnitude = bits & 0x7f;
    return F.beyond == Beyond::Infinity ? magnitude > kInfinity : magnitude == 0x7f;
  }
};

struct PowerOfTwo {
  uint8_t bits;
  static PowerOfTwo of(float x) {  // to the nearer power, ties upwards; the sign is lost
    const uint32_t b = std::bit_cast<uint32_t>(x) & 0x7fffffffu;
    if (b >= 0x7f800000u) return {255};
    return {uint8_t((b >> 23) + (b >> 22 & (b >= 0x800000u)))};
  }
  float number() const {
    return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, bits - 127);
  }
};

struct ComplexHalf {
  half_t re, im;
};

// ---- elements as numbers ------------------------------------------------------------------------

template <class T>
constexpr bool is_float8 = requires(T x) { x.number(); };
template <class T>
constexpr bool is_complex_number =
    std::is_same_v<T, complex64_t> || std::is_same_v<T, complex128_t>;

template <class T>
auto number_of(T x) {
  if constexpr (is_float8<T>)
    return x.number();
  else if constexpr (std::is_same_v<T, ComplexHalf>)
    return complex64_t(x.re, x.im);
  else if constexpr (std::is_same_v<T, half_t> || std::is_same_v<T, bfloat16_t>)
    return float(x);
  else
    return x;
}

template <class To, class N>
To element_of(N x) {
  if constexpr (std::is_same_v<To, ComplexHalf>) {
    if constexpr (is_complex_number<N>)
      return {half_t(float(x.real())), half_t(float(x.imag()))};
    else
      return {half_t(float(x)), half_t(0.0f)};
  } else if constexpr (is_complex_number<To>) {
    if constexpr (is_complex_number<N>)
      return To(typename To::value_type(x.real()), typename To::value_type(x.imag()));
    else
      return To(typename To::value_type(x), 0);
  } else if constexpr (is_complex_number<N>) {
    if constexpr (std::is_same_v<To, bool>)
      return x != N(0);
    else
      return element_of<To>(x.real());
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != N(0);
  } else if constexpr (is_float8<To>) {
    return To::of(float(x));
  } else if constexpr (std::is_floating_point_v<N> && std::is_integral_v<To>) {
    // beyond the type they wrap as through int64, of which what fits is defined
    if (!(x > N(-0x1p63) && x < N(0x1p63)))
      return std::is_same_v<To, uint64_t> && x >= N(0x1p63) && x < N(0x1p64) ? To(uint64_t(x))
                                                                             : To(0);
    return To(int64_t(x));
  } else {
    return To(x);
  }
}

template <class To, class From>
void convert(void* out_bytes, const void* const* in, int64_t n, const void*) {
  To* out = static_cast<To*>(out_bytes);
  const From* a = static_cast<const From*>(in[0]);
  for (int64_t i = 0; i < n; i++) {
    if constexpr (std::is_same_v<From, bool>)
      out[i] = element_of<To>(uint8_t(reinterpret_cast<const uint8_t*>(a)[i] != 0));
    else
      out[i] = element_of<To>(number_of(a[i]));
  }
}

// clang-format off
#define FLAMBEAU_ALL_TYPES(X)                                                           \
  X(bool)                                                                               \
  X(uint8_t)                                                                            \
  X(int8_t) X(int16_t) X(int32_t) X(int64_t) X(half_t) X(bfloat16_t) X(float) X(double) \
      X(complex64_t) X(complex128_t) X(uint16_t) X(uint32_t) X(uint64_t) X(ComplexHalf) \
          X(Float8<kE4m3fn>) X(Float8<kE4m3fnuz>) X(Float8<kE5m2>) X(Float8<kE5m2fnuz>) \
              X(PowerOfTwo)
// clang-format on

template <class To>
constexpr std::array<LoopFn, kAllDTypes> row() {
#define FLAMBEAU_CONVERT(From) convert<To, From>,
  return {FLAMBEAU_ALL_TYPES(FLAMBEAU_CONVERT)};
#undef FLAMBEAU_CONVERT
}

}  // namespace

LoopFn storage_converter(DType to, DType from) {
#define FLAMBEAU_ROW(To) row<To>(),
  static const std::array<LoopFn, kAllDTypes> table[kAllDTypes] = {
      FLAMBEAU_ALL_TYPES(FLAMBEAU_ROW)};
#undef FLAMBEAU_ROW
  return table[int(to)][size_t(from)];
}

}  // namespace flambeau
