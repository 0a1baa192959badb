#include "core/dtype.h"

#include "core/scalar.h"

namespace flambeau {

const DTypeInfo kDTypes[kNumDTypes] = {
    {"bool", 1, Category::Bool, DType::Bool, DType::Bool},
    {"uint8", 1, Category::Integral, DType::UInt8, DType::UInt8},
    {"int8", 1, Category::Integral, DType::Int8, DType::Int8},
    {"int16", 2, Category::Integral, DType::Int16, DType::Int16},
    {"int32", 4, Category::Integral, DType::Int32, DType::Int32},
    {"int64", 8, Category::Integral, DType::Int64, DType::Int64},
    {"float16", 2, Category::Floating, DType::Float16, DType::Float32},
    {"bfloat16", 2, Category::Floating, DType::BFloat16, DType::Float32},
    {"float32", 4, Category::Floating, DType::Float32, DType::Float32},
    {"float64", 8, Category::Floating, DType::Float64, DType::Float64},
    {"complex64", 8, Category::Complex, DType::Float32, DType::Complex64},
    {"complex128", 16, Category::Complex, DType::Float64, DType::Complex128},
};

DType complex_dtype(DType t) {
  if (is_complex(t)) return t;
  return t == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) > category(b)) std::swap(a, b);
  // b is of the higher or equal category
  if (category(a) != category(b)) {
    if (is_complex(b) && is_floating(a)) return a == DType::Float64 ? DType::Complex128 : b;
    return b;
  }
  if (is_integral(a)) {
    if (a == DType::UInt8) std::swap(a, b);
    if (b == DType::UInt8) return a == DType::Int8 ? DType::Int16 : a;
    return std::max(a, b);
  }
  if (is_floating(a)) {
    if ((a == DType::Float16 && b == DType::BFloat16) ||
        (a == DType::BFloat16 && b == DType::Float16))
      return DType::Float32;
    return std::max(a, b);
  }
  return std::max(a, b);
}

static DType g_default = DType::Float32;
DType default_dtype() { return g_default; }
void set_default_dtype(DType t) {
  check<TypeError>(is_floating(t),
                   "only floating-point types are supported as the default type, got ", t);
  g_default = t;
}

namespace {
template <class F>
Scalar combine(const Scalar& a, const Scalar& b, F f) {
  if (a.is_complex() || b.is_complex()) return Scalar(f(a.to_complex(), b.to_complex()));
  if (a.is_float() || b.is_float()) return Scalar(f(a.to_double(), b.to_double()));
  return Scalar(f(a.to_int(), b.to_int()));
}
}  // namespace

Scalar operator*(const Scalar& a, const Scalar& b) {
  return combine(a, b, [](auto x, auto y) { return x * y; });
}
Scalar operator+(const Scalar& a, const Scalar& b) {
  return combine(a, b, [](auto x, auto y) { return x + y; });
}
Scalar operator-(const Scalar& a, const Scalar& b) {
  return combine(a, b, [](auto x, auto y) { return x - y; });
}
Scalar operator/(const Scalar& a, const Scalar& b) {
  if (a.is_complex() || b.is_complex()) return Scalar(a.to_complex() / b.to_complex());
  return Scalar(a.to_double() / b.to_double());
}
Scalar conj(const Scalar& a) {
  if (!a.is_complex()) return a;
  auto z = a.to_complex();
  return Scalar(std::conj(z));
}
std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.is_bool()) return out << (s.to_bool() ? "True" : "False");
  if (s.is_integral()) return out << s.to_int();
  if (!s.is_complex()) return out << s.to_double();
  auto z = s.to_complex();
  return out << '(' << z.real() << (z.imag() < 0 ? "" : "+") << z.imag() << "j)";
}

}  // namespace flambeau
