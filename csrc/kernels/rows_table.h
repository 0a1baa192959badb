// Inner loops of softmax and normalisation over lines of a matrix, in float and double. Plain types
// only: the header is also compiled once per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

// Lines lie in rows of n elements, or in columns: `cols` neighbours, elements `stride` apart.
struct SoftmaxFns {
  void (*rows)(void* out, const void* x, int64_t rows, int64_t n, bool log);
  void (*columns)(void* out, const void* x, int64_t n, int64_t cols, int64_t stride, bool log);
  void (*rows_backward)(void* dx, const void* g, const void* y, int64_t rows, int64_t n, bool log);
  void (*columns_backward)(void* dx, const void* g, const void* y, int64_t n, int64_t cols,
                           int64_t stride, bool log);
  // log(sum(exp)) of each row
  void (*logsumexp)(void* out, const void* x, int64_t rows, int64_t n);
  // dx = scale * exp(x - lse)
  void (*exp_scaled)(void* dx, const void* x, int64_t n, double lse, double scale);
};

// w and b may be null. `centred`: subtract the mean (layer norm), or not (RMS norm).
struct NormFns {
  void (*rows)(void* out, void* mean, void* rstd, const void* x, const void* w, const void* b,
               int64_t rows, int64_t n, double eps, bool centred);
  void (*rows_backward)(void* dx, const void* g, const void* x, const void* mean, const void* rstd,
                        const void* w, int64_t rows, int64_t n, bool centred);
  // dw[j] += sum of g * (x - mean) * rstd over rows
  void (*weight_grad)(double* dw, const void* g, const void* x, const void* mean, const void* rstd,
                      int64_t rows, int64_t n);
  // Row r (counted from `first`) or column c belongs to a channel: out = x * scale[channel] +
  // shift[channel]
  void (*affine_rows)(void* out, const void* x, const double* scale, const double* shift,
                      int64_t first, int64_t rows, int64_t n, int64_t channels);
  void (*affine_columns)(void* out, const void* x, const double* scale, const double* shift,
                         int64_t rows, int64_t channels);
  // sums[channel] += g, products[channel] += g * (x - mean[channel])
  void (*sums_row)(double* sum, double* product, const void* g, const void* x, double mean,
                   int64_t n);
  void (*sums_columns)(double* sums, double* products, const void* g, const void* x,
                       const double* mean, int64_t rows, int64_t channels);
  // dx = a[channel] * (g - c[channel]) + b[channel] * (x - mean[channel])
  void (*input_rows)(void* dx, const void* g, const void* x, const double* a, const double* b,
                     const double* c, const double* mean, int64_t first, int64_t rows, int64_t n,
                     int64_t channels);
  void (*input_columns)(void* dx, const void* g, const void* x, const double* a, const double* b,
                        const double* c, const double* mean, int64_t rows, int64_t channels);
};

}  // namespace flambeau
