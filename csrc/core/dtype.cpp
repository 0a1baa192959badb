#include "core/dtype.h"

#include "core/scalar.h"

namespace flambeau {

const DTypeInfo kDTypes[kAllDTypes] = {
    {"bool", 1, Category::Bool, DType::Bool, DType::Bool, "Bool"},
    {"uint8", 1, Category::Integral, DType::UInt8, DType::UInt8, "Byte"},
    {"int8", 1, Category::Integral, DType::Int8, DType::Int8, "Char"},
    {"int16", 2, Category::Integral, DType::Int16, DType::Int16, "Short"},
    {"int32", 4, Category::Integral, DType::Int32, DType::Int32, "Int"},
    {"int64", 8, Category::Integral, DType::Int64, DType::Int64, "Long"},
    {"float16", 2, Category::Floating, DType::Float16, DType::Float32, "Half"},
    {"bfloat16", 2, Category::Floating, DType::BFloat16, DType::Float32, "BFloat16"},
    {"float32", 4, Category::Floating, DType::Float32, DType::Float32, "Float"},
    {"float64", 8, Category::Floating, DType::Float64, DType::Float64, "Double"},
    {"complex64", 8, Category::Complex, DType::Float32, DType::Complex64, "ComplexFloat"},
    {"complex128", 16, Category::Complex, DType::Float64, DType::Complex128, "ComplexDouble"},
    {"uint16", 2, Category::Integral, DType::UInt16, DType::Int32, "UInt16"},
    {"uint32", 4, Category::Integral, DType::UInt32, DType::Int64, "UInt32"},
    {"uint64", 8, Category::Integral, DType::UInt64, DType::Int64, "UInt64"},
    {"complex32", 4, Category::Complex, DType::Float16, DType::Complex64, "ComplexHalf"},
    {"float8_e4m3fn", 1, Category::Floating, DType::Float8_e4m3fn, DType::Float32, "Float8_e4m3fn"},
    {"float8_e4m3fnuz", 1, Category::Floating, DType::Float8_e4m3fnuz, DType::Float32,
     "Float8_e4m3fnuz"},
    {"float8_e5m2", 1, Category::Floating, DType::Float8_e5m2, DType::Float32, "Float8_e5m2"},
    {"float8_e5m2fnuz", 1, Category::Floating, DType::Float8_e5m2fnuz, DType::Float32,
     "Float8_e5m2fnuz"},
    {"float8_e8m0fnu", 1, Category::Floating, DType::Float8_e8m0fnu, DType::Float32,
     "Float8_e8m0fnu"},
};

DType complex_dtype(DType t) {
  if (is_complex(t)) return t;
  check(!is_storage_only(t), "Unknown Complex ScalarType for ", info(t).scalar_type);
  if (t == DType::Float16) return DType::Complex32;
  return t == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

void fail_storage_only(DType t) {
  fail<NotImplementedError>("not implemented for '", info(t).scalar_type,
                            "': convert the tensor to another dtype first");
}

namespace {
// The common dtype where one of two different ones is only for storage.
DType promote_storage_only(DType a, DType b) {
  auto refuse = [&](const char* types) {
    fail("Promotion for ", types, " is not supported, attempted to promote ", info(a).scalar_type,
         " and ", info(b).scalar_type, ": convert one of them");
  };
  auto is_float8 = [](DType t) { return t >= DType::Float8_e4m3fn; };
  if (is_float8(a) || is_float8(b)) refuse("Float8 Types");
  if (is_integral(a) && is_storage_only(a) && is_floating(b)) return b;
  if (is_integral(b) && is_storage_only(b) && is_floating(a)) return a;
  if (!is_complex(a) && !is_complex(b)) refuse("uint16, uint32, uint64 types");
  const DType other = a == DType::Complex32 ? b : a;
  if (is_storage_only(other) || (a != DType::Complex32 && b != DType::Complex32))
    refuse("uint16, uint32, uint64 types");
  if (is_complex(other)) return other;
  if (other == DType::Float64) return DType::Complex128;
  return other == DType::BFloat16 || other == DType::Float32 ? DType::Complex64 : DType::Complex32;
}
}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_storage_only(a) || is_storage_only(b)) return promote_storage_only(a, b);
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
  check<TypeError>(is_floating(t) && !is_storage_only(t),
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
