// Windows of short-time transforms, and the frequencies of a transform's results.
#include <cmath>
#include <vector>

#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;

DType result_dtype(const char* op, std::optional<DType> dtype) {
  const DType t = dtype.value_or(default_dtype());
  check(is_differentiable(t), op, " expects floating point dtypes, got: ", t);
  return t;
}

// value(n, N) for n < length, computed in double.
template <class F>
Tensor window(const char* op, int64_t length, bool periodic, std::optional<DType> dtype,
              std::optional<Device> device, F&& value) {
  const DType t = result_dtype(op, dtype);
  check(length >= 0, op, " requires non-negative window_length, got window_length=", length);
  Tensor out = empty(Dims{length}, t, device.value_or(Device{}));
  if (out.is_meta() || length == 0) return out;
  std::vector<double> v(size_t(length), 1.0);
  const double total = double(periodic ? length : length - 1);
  if (length > 1)
    for (int64_t n = 0; n < length; n++) v[size_t(n)] = value(double(n), total);
  convert_elements(out.bytes(), t, v.data(), DType::Float64, length);
  return out;
}

// The modified Bessel function of order 0, by its power series; all terms are positive. Scaled by
// exp(-x), so that quotients of large values do not overflow.
double scaled_bessel_i0(double x) {
  if (x > 700) {  // the asymptotic series: its terms fall by n^2 / 2x
    double term = 1, sum = 1;
    for (int k = 1; k < 20; k++) {
      term *= (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x);
      sum += term;
    }
    return sum / std::sqrt(2 * kPi * x);
  }
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-17; k++) {
    term *= x / (2.0 * k) * (x / (2.0 * k));
    sum += term;
  }
  return sum * std::exp(-x);
}

// The quotient of integer positions and the length of the signal.
Tensor frequencies(const char* op, int64_t n, double d, int64_t count, int64_t positive,
                   std::optional<DType> dtype, std::optional<Device> device) {
  const DType t = dtype.value_or(default_dtype());
  check(is_differentiable(t), op, " requires a floating point or complex dtype");
  check(n >= 0, "Trying to create tensor with negative dimension ", n, ": [", n, "] (", op, ")");
  Tensor out = empty(Dims{count}, t, device.value_or(Device{}));
  if (out.is_meta()) return out;
  std::vector<double> v(static_cast<size_t>(count));
  const bool wide = t == DType::Float64 || t == DType::Complex128;
  const double step = wide ? 1.0 / (double(n) * d) : double(float(1.0 / (double(n) * d)));
  for (int64_t k = 0; k < count; k++) v[size_t(k)] = double(k < positive ? k : k - n) * step;
  convert_elements(out.bytes(), t, v.data(), DType::Float64, count);
  return out;
}

}  // namespace

Tensor hann_window(int64_t length, bool periodic, std::optional<DType> dtype,
                   std::optional<Device> device) {
  return window("hann_window", length, periodic, dtype, device,
                [](double n, double total) { return 0.5 - 0.5 * std::cos(2 * kPi * n / total); });
}

Tensor hamming_window(int64_t length, bool periodic, double alpha, double beta,
                      std::optional<DType> dtype, std::optional<Device> device) {
  return window("hamming_window", length, periodic, dtype, device, [=](double n, double total) {
    return alpha - beta * std::cos(2 * kPi * n / total);
  });
}

Tensor blackman_window(int64_t length, bool periodic, std::optional<DType> dtype,
                       std::optional<Device> device) {
  return window("blackman_window", length, periodic, dtype, device, [](double n, double total) {
    const double angle = 2 * kPi * n / total;
    return 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
  });
}

Tensor bartlett_window(int64_t length, bool periodic, std::optional<DType> dtype,
                       std::optional<Device> device) {
  return window("bartlett_window", length, periodic, dtype, device,
                [](double n, double total) { return 1 - std::abs(2 * n / total - 1); });
}

Tensor kaiser_window(int64_t length, bool periodic, double beta, std::optional<DType> dtype,
                     std::optional<Device> device) {
  const double b = std::abs(beta), bottom = scaled_bessel_i0(b);
  return window("kaiser_window", length, periodic, dtype, device, [=](double n, double total) {
    const double r = 2 * n / total - 1, x = b * std::sqrt(std::max(0.0, 1 - r * r));
    return scaled_bessel_i0(x) / bottom * std::exp(x - b);
  });
}

Tensor fft_fftfreq(int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device) {
  return frequencies("fftfreq", n, d, std::max<int64_t>(n, 0), n / 2 + n % 2, dtype, device);
}

Tensor fft_rfftfreq(int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device) {
  return frequencies("rfftfreq", n, d, n < 0 ? 0 : n / 2 + 1, n / 2 + 1, dtype, device);
}

}  // namespace flambeau::kernels
