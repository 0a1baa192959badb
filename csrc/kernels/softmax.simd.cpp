// Softmax of lines: maximum, exponentials and sum, scale. Columns are handled side by side.
#include "kernels/reduce_lanes.h"
#include "kernels/rows_table.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

constexpr int64_t kStrip = 128;

// e^x · kLift for x <= 0, in one step: lifted, numbers below the normal ones keep their digits
// until they are divided by a sum that is lifted as well.
template <class T>
constexpr T kLift = T(1);
template <>
constexpr float kLift<float> = 0x1p24f;
FLAMBEAU_INLINE float lifted_exp(float x) {
  const auto reduced = reduce_exp(x < -104.0f ? -104.0f : x);
  return (1.0f + (reduced.high + exp_tail(reduced))) * power_of_two(reduced.shifted + 24.0f);
}
FLAMBEAU_INLINE double lifted_exp(double x) { return exp(x); }

template <class T>
FLAMBEAU_INLINE double exp_sum(const T* x, int64_t n, T top) {
  T buffer[256];
  double total = 0;
  for (int64_t i = 0; i < n; i += 256) {
    const int64_t m = n - i < 256 ? n - i : 256;
    for (int64_t k = 0; k < m; k++) buffer[k] = lifted_exp(x[i + k] - top);
    total += double(sum_lanes(buffer, m));
  }
  return total / double(kLift<T>);
}

template <class T>
FLAMBEAU_INLINE void difference(T* out, const T* a, const T* b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) out[i] = a[i] - b[i];
}
template <class T>
FLAMBEAU_INLINE void exponential(T* out, const T* x, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) out[i] = exp(x[i]);
}

template <class T>
FLAMBEAU_INLINE T finite_or_zero(T x) {
  return isinf(x) ? T(0) : x;
}

template <class T>
struct Softmax {
  static void rows(void* out, const void* in, int64_t rows, int64_t n, bool log_form) {
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
      const T top = max_lanes(x, n);
      if (log_form) {
        const T shift = T(log(exp_sum(x, n, top)));
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - top) - shift;
      } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) y[i] = lifted_exp(x[i] - top);
        const T scale = T(1 / double(sum_lanes(y, n)));
        for (int64_t i = 0; i < n; i++) y[i] = y[i] * scale;
      }
    }
  }
  static void columns(void* out, const void* in, int64_t n, int64_t cols, int64_t stride,
                      bool log_form) {
    T top[kStrip];
    double total[kStrip];
    for (int64_t begin = 0; begin < cols; begin += kStrip) {
      const int64_t width = cols - begin < kStrip ? cols - begin : kStrip;
      const T* x = static_cast<const T*>(in) + begin;
      T* y = static_cast<T*>(out) + begin;
      for (int64_t c = 0; c < width; c++) {
        top[c] = -kInf<T>;
        total[c] = 0;
      }
      for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < width; c++) top[c] = maximum(top[c], x[r * stride + c]);
      T line[kStrip];
      for (int64_t r = 0; r < n; r++) {
        T* to = y + r * stride;
        T* powers = log_form ? line : to;
        difference(to, x + r * stride, top, width);
        exponential(powers, to, width);
        for (int64_t c = 0; c < width; c++) total[c] += double(powers[c]);
      }
      T factor[kStrip];
      for (int64_t c = 0; c < width; c++) factor[c] = T(log_form ? log(total[c]) : 1 / total[c]);
      for (int64_t r = 0; r < n; r++) {
        T* to = y + r * stride;
        if (log_form)
          difference(to, to, factor, width);
        else
          for (int64_t c = 0; c < width; c++) to[c] = to[c] * factor[c];
      }
    }
  }
  static void rows_backward(void* out, const void* grad, const void* output, int64_t rows,
                            int64_t n, bool log_form) {
    const T *g = static_cast<const T*>(grad), *y = static_cast<const T*>(output);
    T* dx = static_cast<T*>(out);
    auto add = [](double a, double b) { return a + b; };
    for (int64_t r = 0; r < rows; r++, g += n, y += n, dx += n) {
      if (log_form) {
        const T total = sum_lanes(g, n);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) dx[i] = g[i] - exp(y[i]) * total;
      } else {
        const T total =
            T(reduce_lanes(n, 0.0, [g, y](int64_t i) { return double(g[i]) * double(y[i]); }, add));
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) dx[i] = y[i] * (g[i] - total);
      }
    }
  }
  static void columns_backward(void* out, const void* grad, const void* output, int64_t n,
                               int64_t cols, int64_t stride, bool log_form) {
    double total[kStrip];
    for (int64_t begin = 0; begin < cols; begin += kStrip) {
      const int64_t width = cols - begin < kStrip ? cols - begin : kStrip;
      const T *g = static_cast<const T*>(grad) + begin, *y = static_cast<const T*>(output) + begin;
      T* dx = static_cast<T*>(out) + begin;
      for (int64_t c = 0; c < width; c++) total[c] = 0;
      for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < width; c++)
          total[c] += double(g[r * stride + c]) * (log_form ? 1.0 : double(y[r * stride + c]));
      T sum[kStrip], powers[kStrip];
      for (int64_t c = 0; c < width; c++) sum[c] = T(total[c]);
      for (int64_t r = 0; r < n; r++) {
        const T *gr = g + r * stride, *yr = y + r * stride;
        T* to = dx + r * stride;
        if (log_form) {
          exponential(powers, yr, width);
#pragma GCC ivdep
          for (int64_t c = 0; c < width; c++) to[c] = gr[c] - powers[c] * sum[c];
        } else {
#pragma GCC ivdep
          for (int64_t c = 0; c < width; c++) to[c] = yr[c] * (gr[c] - sum[c]);
        }
      }
    }
  }
  static void logsumexp(void* out, const void* in, int64_t rows, int64_t n) {
    const T* x = static_cast<const T*>(in);
    for (int64_t r = 0; r < rows; r++, x += n) {
      const T top = finite_or_zero(max_lanes(x, n));
      static_cast<T*>(out)[r] = T(log(exp_sum(x, n, top)) + double(top));
    }
  }
  static void exp_scaled(void* out, const void* in, int64_t n, double lse, double scale) {
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    const T l = T(lse), s = T(scale);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) y[i] = exp(x[i] - l) * s;
  }
  static constexpr SoftmaxFns fns{rows,      columns,   rows_backward, columns_backward,
                                  logsumexp, exp_scaled};
};

}  // namespace

// [0] float, [1] double
extern const SoftmaxFns softmax_table[2];
const SoftmaxFns softmax_table[2] = {Softmax<float>::fns, Softmax<double>::fns};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
