// Element types, their properties and promotion, and dispatch from the run-time tag to a C++ type.
#pragma once
#include <complex>
#include <cstdint>
#include <ostream>

#include "core/error.h"
#include "core/half.h"

namespace flambeau {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
  // For storage: no kernel has loops for them; they are converted, and otherwise moved as bytes.
  UInt16,
  UInt32,
  UInt64,
  Complex32,
  Float8_e4m3fn,
  Float8_e4m3fnuz,
  Float8_e5m2,
  Float8_e5m2fnuz,
  Float8_e8m0fnu,
};
constexpr int kNumDTypes = 12;  // those that kernels have loops for
constexpr int kAllDTypes = 21;

// Categories in order of promotion: a Python number lifts a tensor's dtype only to a higher one.
enum class Category : uint8_t { Bool, Integral, Floating, Complex };

struct DTypeInfo {
  const char* name;
  uint8_t size;
  Category category;
  DType real;               // the dtype of real(x); itself when not complex
  DType compute;            // what kernels compute in: float32 for the 16-bit floats
  const char* scalar_type;  // PyTorch's older name, in messages
};
extern const DTypeInfo kDTypes[kAllDTypes];

inline const DTypeInfo& info(DType t) { return kDTypes[int(t)]; }
inline int64_t itemsize(DType t) { return info(t).size; }
inline Category category(DType t) { return info(t).category; }
inline bool is_complex(DType t) { return category(t) == Category::Complex; }
inline bool is_floating(DType t) { return category(t) == Category::Floating; }
inline bool is_integral(DType t) { return category(t) == Category::Integral; }
inline bool is_storage_only(DType t) { return int(t) >= kNumDTypes; }
inline bool is_unsigned(DType t) {
  return t == DType::UInt8 || (t >= DType::UInt16 && t <= DType::UInt64);
}
inline bool is_signed(DType t) {
  return t != DType::Bool && !is_unsigned(t) && t != DType::Float8_e8m0fnu;
}
inline bool is_differentiable(DType t) { return category(t) >= Category::Floating; }
inline DType real_dtype(DType t) { return info(t).real; }
DType complex_dtype(DType t);  // float32 -> complex64 …
DType promote(DType a, DType b);
inline std::ostream& operator<<(std::ostream& out, DType t) {
  return out << "torch." << info(t).name;
}

// The dtype of new floating tensors without one given (set_default_dtype).
DType default_dtype();
void set_default_dtype(DType t);

using complex64_t = std::complex<float>;
using complex128_t = std::complex<double>;

template <class T>
struct DTypeOf;
// clang-format off
#define FLAMBEAU_DTYPES(X)                                                             \
  X(bool, Bool) X(uint8_t, UInt8) X(int8_t, Int8) X(int16_t, Int16) X(int32_t, Int32)  \
  X(int64_t, Int64) X(half_t, Float16) X(bfloat16_t, BFloat16) X(float, Float32)       \
  X(double, Float64) X(complex64_t, Complex64) X(complex128_t, Complex128)
// clang-format on
#define FLAMBEAU_DTYPE_OF(T, D)              \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::D; \
  };
FLAMBEAU_DTYPES(FLAMBEAU_DTYPE_OF)
#undef FLAMBEAU_DTYPE_OF

template <class T>
struct TypeTag {
  using type = T;
};

[[noreturn]] void fail_storage_only(DType t);

// Calls f(TypeTag<T>{}) for the C++ type of `t`. Use: visit(t, [&](auto tag) { using T = typename
// decltype(tag)::type; … });
template <class F>
decltype(auto) visit(DType t, F&& f) {
  switch (t) {
#define FLAMBEAU_CASE(T, D) \
  case DType::D:            \
    return f(TypeTag<T>{});
    FLAMBEAU_DTYPES(FLAMBEAU_CASE)
#undef FLAMBEAU_CASE
    default:
      fail_storage_only(t);
  }
}

// Only the element width matters: copies, gathers, sorts of bytes. f gets an unsigned or 16-byte
// type.
struct Bytes16 {
  uint64_t lo, hi;
};
template <class F>
decltype(auto) visit_width(int64_t size, F&& f) {
  switch (size) {
    case 1:
      return f(TypeTag<uint8_t>{});
    case 2:
      return f(TypeTag<uint16_t>{});
    case 4:
      return f(TypeTag<uint32_t>{});
    case 8:
      return f(TypeTag<uint64_t>{});
    default:
      return f(TypeTag<Bytes16>{});
  }
}

// float32 and float64 only; `what` names the operator in the error.
template <class F>
decltype(auto) visit_float(DType t, const char* what, F&& f) {
  if (t == DType::Float32) return f(TypeTag<float>{});
  if (t == DType::Float64) return f(TypeTag<double>{});
  fail<Error>("\"", what, "\" not implemented for '", info(t).name, "'");
}

}  // namespace flambeau
