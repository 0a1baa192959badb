// Scalar: a Python number on its way to a kernel. It never becomes a tensor.
#pragma once
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "core/dtype.h"

namespace flambeau {

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, Float, Complex };
  Scalar() : kind_(Kind::Int), i_(0) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T v) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::Bool;
      i_ = v;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = Kind::Int;
      i_ = int64_t(v);
    } else {
      kind_ = Kind::Float;
      d_ = double(v);
    }
  }
  Scalar(complex128_t z) : kind_(Kind::Complex), d_(z.real()), im_(z.imag()) {}
  Scalar(complex64_t z) : kind_(Kind::Complex), d_(z.real()), im_(z.imag()) {}

  Kind kind() const { return kind_; }
  bool is_bool() const { return kind_ == Kind::Bool; }
  bool is_integral() const { return kind_ <= Kind::Int; }
  bool is_float() const { return kind_ == Kind::Float; }
  bool is_complex() const { return kind_ == Kind::Complex; }
  Category category() const { return Category(uint8_t(kind_)); }
  // The dtype a 0-d tensor made of it would have.
  DType dtype() const {
    switch (kind_) {
      case Kind::Bool:
        return DType::Bool;
      case Kind::Int:
        return DType::Int64;
      case Kind::Float:
        return default_dtype();
      default:
        return complex_dtype(default_dtype());
    }
  }
  // A number of [2^63, 2^64), which only floats can hold; to_int() is its bit pattern.
  static Scalar beyond_int64(uint64_t v) {
    Scalar s{int64_t(v)};
    s.beyond_int64_ = true;
    return s;
  }
  bool is_beyond_int64() const { return beyond_int64_; }
  double to_double() const {
    return is_integral() ? beyond_int64_ ? double(uint64_t(i_)) : double(i_) : d_;
  }
  int64_t to_int() const { return is_integral() ? i_ : int64_t(d_); }
  bool to_bool() const { return is_integral() ? i_ != 0 : d_ != 0 || (is_complex() && im_ != 0); }
  complex128_t to_complex() const { return {to_double(), is_complex() ? im_ : 0.0}; }
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return to_bool();
    else if constexpr (std::is_integral_v<T>)
      return T(to_int());
    else if constexpr (std::is_same_v<T, complex64_t>) {
      auto z = to_complex();
      return {float(z.real()), float(z.imag())};
    } else if constexpr (std::is_same_v<T, complex128_t>)
      return to_complex();
    else if constexpr (std::is_same_v<T, double>)
      return to_double();
    else
      return T(float(to_double()));
  }
  bool operator==(const Scalar& o) const {
    if (is_integral() && o.is_integral()) return i_ == o.i_;
    auto a = to_complex(), b = o.to_complex();
    return a == b;
  }
  Scalar operator-() const {
    if (is_integral()) return Scalar(-i_);
    return is_complex() ? Scalar(complex128_t{-d_, -im_}) : Scalar(-d_);
  }

 private:
  Kind kind_;
  bool beyond_int64_ = false;
  union {
    int64_t i_;
    double d_;
  };
  double im_ = 0;
};

Scalar operator*(const Scalar& a, const Scalar& b);
Scalar operator+(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a, const Scalar& b);
Scalar operator/(const Scalar& a, const Scalar& b);
Scalar conj(const Scalar& a);
std::ostream& operator<<(std::ostream& out, const Scalar& s);

}  // namespace flambeau
