// Loops of layer, RMS and batch normalisation.
#include "kernels/reduce_lanes.h"
#include "kernels/rows_table.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T>
struct Norm {
  static void rows(void* out, void* means, void* rstds, const void* in, const void* weight,
                   const void* bias, int64_t rows, int64_t n, double eps, bool centred) {
    const T *x = static_cast<const T*>(in), *w = static_cast<const T*>(weight),
            *b = static_cast<const T*>(bias);
    T* y = static_cast<T*>(out);
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
      // One pass: sums of the distances from the first element, and of their squares.
      const double origin = centred ? double(x[0]) : 0;
      double sum, squares;
      sum_both(
          n, &sum, &squares, [x, origin](int64_t i) { return double(x[i]) - origin; },
          [x, origin](int64_t i) {
            double d = double(x[i]) - origin;
            return d * d;
          });
      const double offset = centred ? sum / double(n) : 0, mean = origin + offset;
      const double var = squares / double(n) - offset * offset;
      const double rstd = 1 / sqrt((var < 0 ? 0 : var) + eps);
      const T m = T(mean), s = T(rstd);
      if (means) static_cast<T*>(means)[r] = m;
      static_cast<T*>(rstds)[r] = s;
      if (w && b) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * s * w[i] + b[i];
      } else if (w) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * s * w[i];
      } else if (b) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * s + b[i];
      } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * s;
      }
    }
  }
  static void rows_backward(void* out, const void* grad, const void* in, const void* means,
                            const void* rstds, const void* weight, int64_t rows, int64_t n,
                            bool centred) {
    const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in),
            *w = static_cast<const T*>(weight);
    T* dx = static_cast<T*>(out);
    for (int64_t r = 0; r < rows; r++, g += n, x += n, dx += n) {
      const T m = means ? static_cast<const T*>(means)[r] : T(0),
              s = static_cast<const T*>(rstds)[r];
      double sum, product;
      if (w)
        sum_both(
            n, &sum, &product, [g, w](int64_t i) { return double(g[i] * w[i]); },
            [g, w, x, m](int64_t i) { return double(g[i] * w[i]) * double(x[i] - m); });
      else
        sum_both(
            n, &sum, &product, [g](int64_t i) { return double(g[i]); },
            [g, x, m](int64_t i) { return double(g[i]) * double(x[i] - m); });
      if (!centred) sum = 0;
      const T c = T(sum / double(n)), k = T(product / double(n) * double(s) * double(s));
      if (w) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) dx[i] = (g[i] * w[i] - c - (x[i] - m) * k) * s;
      } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) dx[i] = (g[i] - c - (x[i] - m) * k) * s;
      }
    }
  }
  static void weight_grad(double* dw, const void* grad, const void* in, const void* means,
                          const void* rstds, int64_t rows, int64_t n) {
    const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in);
    for (int64_t r = 0; r < rows; r++, g += n, x += n) {
      const T m = means ? static_cast<const T*>(means)[r] : T(0),
              s = static_cast<const T*>(rstds)[r];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) dw[i] += double(g[i] * ((x[i] - m) * s));
    }
  }
  static void affine_rows(void* out, const void* in, const double* scale, const double* shift,
                          int64_t first, int64_t rows, int64_t n, int64_t channels) {
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
      const T a = T(scale[(first + r) % channels]), b = T(shift[(first + r) % channels]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) y[i] = x[i] * a + b;
    }
  }
  static void affine_columns(void* out, const void* in, const double* scale, const double* shift,
                             int64_t rows, int64_t channels) {
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    for (int64_t r = 0; r < rows; r++, x += channels, y += channels) {
#pragma GCC ivdep
      for (int64_t i = 0; i < channels; i++) y[i] = x[i] * T(scale[i]) + T(shift[i]);
    }
  }
  static void sums_row(double* sum, double* product, const void* grad, const void* in, double mean,
                       int64_t n) {
    const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in);
    double s, p;
    sum_both(
        n, &s, &p, [g](int64_t i) { return double(g[i]); },
        [g, x, mean](int64_t i) { return double(g[i]) * (double(x[i]) - mean); });
    *sum += s;
    *product += p;
  }
  static void sums_columns(double* sums, double* products, const void* grad, const void* in,
                           const double* mean, int64_t rows, int64_t channels) {
    const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in);
    for (int64_t r = 0; r < rows; r++, g += channels, x += channels) {
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; c++) {
        sums[c] += double(g[c]);
        products[c] += double(g[c]) * (double(x[c]) - mean[c]);
      }
    }
  }
  static void input_rows(void* out, const void* grad, const void* in, const double* a,
                         const double* b, const double* c, const double* mean, int64_t first,
                         int64_t rows, int64_t n, int64_t channels) {
    const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in);
    T* dx = static_cast<T*>(out);
    for (int64_t r = 0; r < rows; r++, g += n, x += n, dx += n) {
      const int64_t ch = (first + r) % channels;
      const T ta = T(a[ch]), tb = T(b[ch]), tc = T(c[ch]), tm = T(mean[ch]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) dx[i] = ta * (g[i] - tc) + tb * (x[i] - tm);
    }
  }
  static void input_columns(void* out, const void* grad, const void* in, const double* a,
                            const double* b, const double* c, const double* mean, int64_t rows,
                            int64_t channels) {
    const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in);
    T* dx = static_cast<T*>(out);
    for (int64_t r = 0; r < rows; r++, g += channels, x += channels, dx += channels) {
#pragma GCC ivdep
      for (int64_t i = 0; i < channels; i++)
        dx[i] = T(a[i]) * (g[i] - T(c[i])) + T(b[i]) * (x[i] - T(mean[i]));
    }
  }
  static constexpr NormFns fns{rows,     rows_backward, weight_grad, affine_rows,  affine_columns,
                               sums_row, sums_columns,  input_rows,  input_columns};
};

}  // namespace

// [0] float, [1] double
extern const NormFns norm_table[2];
const NormFns norm_table[2] = {Norm<float>::fns, Norm<double>::fns};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
