// Passes of Fourier transforms over columns side by side.
#include "kernels/fft_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

// ---- butterflies: transforms of 2 to 8 numbers --------------------------------------------------

template <class V>
struct Complex {
  V re, im;
};
template <class V>
FLAMBEAU_INLINE Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
FLAMBEAU_INLINE Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
// -i * a
template <class V>
FLAMBEAU_INLINE Complex<V> turned(Complex<V> a) {
  return {a.im, -a.re};
}

template <class V>
FLAMBEAU_INLINE void butterfly4(Complex<V>& a, Complex<V>& b, Complex<V>& c, Complex<V>& d) {
  const Complex<V> s = a + c, t = a - c, u = b + d, v = turned(b - d);
  a = s + u;
  b = t + v;
  c = s - u;
  d = t - v;
}

constexpr double kCos3[3] = {1, -0.5, -0.5};
constexpr double kSin3[3] = {0, 0.86602540378443864676, -0.86602540378443864676};
constexpr double kCos5[5] = {1, 0.30901699437494742410, -0.80901699437494742410,
                             -0.80901699437494742410, 0.30901699437494742410};
constexpr double kSin5[5] = {0, 0.95105651629515357212, 0.58778525229247312917,
                             -0.58778525229247312917, -0.95105651629515357212};
constexpr double kCos7[7] = {1,
                             0.62348980185873353053,
                             -0.22252093395631440429,
                             -0.90096886790241912624,
                             -0.90096886790241912624,
                             -0.22252093395631440429,
                             0.62348980185873353053};
constexpr double kSin7[7] = {0,
                             0.78183148246802980871,
                             0.97492791218182360702,
                             0.43388373911755812048,
                             -0.43388373911755812048,
                             -0.97492791218182360702,
                             -0.78183148246802980871};

// Odd sizes: sums and differences of mirrored elements share the products.
template <class T, int R, class V>
FLAMBEAU_INLINE void butterfly_odd(Complex<V>* a) {
  constexpr int h = R / 2;
  constexpr const double* cosine = R == 3 ? kCos3 : R == 5 ? kCos5 : kCos7;
  constexpr const double* sine = R == 3 ? kSin3 : R == 5 ? kSin5 : kSin7;
  const Complex<V> first = a[0];
  Complex<V> sum[h], difference[h];
  each<h>([&](auto k) __attribute__((always_inline)) {
    sum[k] = a[k + 1] + a[R - 1 - k];
    difference[k] = a[k + 1] - a[R - 1 - k];
    a[0] = a[0] + sum[k];
  });
  each<h>([&](auto j) __attribute__((always_inline)) {
    Complex<V> c = first, s{};
    each<h>([&](auto k) __attribute__((always_inline)) {
      constexpr int turn = (j + 1) * (k + 1) % R;
      constexpr T x = T(cosine[turn]), y = T(sine[turn]);
      c.re = c.re + x * sum[k].re;
      c.im = c.im + x * sum[k].im;
      if constexpr (k == 0) {
        s.re = y * difference[k].re;
        s.im = y * difference[k].im;
      } else {
        s.re = s.re + y * difference[k].re;
        s.im = s.im + y * difference[k].im;
      }
    });
    a[j + 1] = c + turned(s);
    a[R - 1 - j] = c - turned(s);
  });
}

template <class T, int R, class V>
FLAMBEAU_INLINE void butterfly(Complex<V>* a) {
  if constexpr (R == 2) {
    const Complex<V> s = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = s;
  } else if constexpr (R == 4) {
    butterfly4(a[0], a[1], a[2], a[3]);
  } else if constexpr (R == 8) {
    const T half_root = T(0.70710678118654752440);
    Complex<V> e[4] = {a[0] + a[4], a[1] + a[5], a[2] + a[6], a[3] + a[7]};
    Complex<V> o[4] = {a[0] - a[4], a[1] - a[5], a[2] - a[6], a[3] - a[7]};
    o[1] = {half_root * (o[1].re + o[1].im), half_root * (o[1].im - o[1].re)};
    o[2] = turned(o[2]);
    o[3] = {half_root * (o[3].im - o[3].re), -(half_root * (o[3].re + o[3].im))};
    butterfly4(e[0], e[1], e[2], e[3]);
    butterfly4(o[0], o[1], o[2], o[3]);
    each<4>([&](auto k) __attribute__((always_inline)) {
      a[2 * k] = e[k];
      a[2 * k + 1] = o[k];
    });
  } else {
    butterfly_odd<T, R>(a);
  }
}

// ---- a pass -------------------------------------------------------------------------------------

template <class T>
struct Lines {
  const T* xr;
  const T* xi;
  T* yr;
  T* yi;
  int64_t from, to;  // distance of the rows of a butterfly
  bool x_swapped, y_swapped;
};

template <class T, int R, bool paired_in, bool paired_out, bool twiddled>
FLAMBEAU_INLINE void butterflies(const Lines<T>& l, int64_t cols, const T* w, T scale) {
  each_vector<T>(cols, [&](auto tag, int64_t q) __attribute__((always_inline)) {
    using V = decltype(tag);
    Complex<V> a[R];
    each<R>([&](auto k) __attribute__((always_inline)) {
      read<T, paired_in>(l.xr, l.xi, k * l.from + q, l.x_swapped, a[k].re, a[k].im);
    });
    butterfly<T, R>(a);
    each<R>([&](auto j) __attribute__((always_inline)) {
      V re = a[j].re, im = a[j].im;
      if constexpr (twiddled && j > 0) {
        const T c = w[2 * (j - 1)], s = w[2 * (j - 1) + 1];
        re = a[j].re * c - a[j].im * s;
        im = a[j].im * c + a[j].re * s;
      }
      if constexpr (paired_out) {
        re = re * scale;
        im = im * scale;
      }
      write<T, paired_out>(l.yr, l.yi, j * l.to + q, l.y_swapped, re, im);
    });
  });
}

template <class T>
T* at(void* base, bool paired, int64_t index) {
  return static_cast<T*>(base) + (paired ? 2 * index : index);
}

// Rows (p + m k) * groups + g become rows (R p + j) * groups + g.
template <class T, int R, bool paired_in, bool paired_out>
void pass(const FftMatrix& x, const FftMatrix& y, int64_t m, int64_t groups, int64_t cols,
          const T* w, T scale) {
  for (int64_t p = 0; p < m; p++, w += 2 * (R - 1))
    for (int64_t g = 0; g < groups; g++) {
      const int64_t from = (p * groups + g) * x.row, to = (R * p * groups + g) * y.row;
      const Lines<T> l{at<T>(x.re, paired_in, from), at<T>(x.im, paired_in, from),
                       at<T>(y.re, paired_out, to),  at<T>(y.im, paired_out, to),
                       m * groups * x.row,           groups * y.row,
                       x.form == FftForm::Swapped,   y.form == FftForm::Swapped};
      // only the last pass writes pairs, and there m is 1
      if (paired_out || p == 0)
        butterflies<T, R, paired_in, paired_out, false>(l, cols, w, scale);
      else
        butterflies<T, R, paired_in, false, true>(l, cols, w, scale);
    }
}

template <class T, bool paired_in, bool paired_out>
void pass_of(int64_t radix, const FftMatrix& x, const FftMatrix& y, int64_t m, int64_t groups,
             int64_t cols, const void* twiddles, T scale) {
  const T* w = static_cast<const T*>(twiddles);
  switch (radix) {
    case 2:
      return pass<T, 2, paired_in, paired_out>(x, y, m, groups, cols, w, scale);
    case 3:
      return pass<T, 3, paired_in, paired_out>(x, y, m, groups, cols, w, scale);
    case 4:
      return pass<T, 4, paired_in, paired_out>(x, y, m, groups, cols, w, scale);
    case 5:
      return pass<T, 5, paired_in, paired_out>(x, y, m, groups, cols, w, scale);
    case 7:
      return pass<T, 7, paired_in, paired_out>(x, y, m, groups, cols, w, scale);
    default:
      return pass<T, 8, paired_in, paired_out>(x, y, m, groups, cols, w, scale);
  }
}

template <class T>
void pass_between(int64_t radix, const FftMatrix& x, const FftMatrix& y, int64_t m, int64_t groups,
                  int64_t cols, const void* w, T scale) {
  const bool paired_in = x.form != FftForm::Planar, paired_out = y.form != FftForm::Planar;
  if (groups > 1 && !paired_in && !paired_out && x.row == cols && y.row == cols) {
    cols *= groups;  // rows without gaps: one long row
    FftMatrix a = x, b = y;
    a.row = b.row = cols;
    return pass_of<T, false, false>(radix, a, b, m, 1, cols, w, scale);
  }
  if (paired_in && paired_out)
    return pass_of<T, true, true>(radix, x, y, m, groups, cols, w, scale);
  if (paired_in) return pass_of<T, true, false>(radix, x, y, m, groups, cols, w, scale);
  if (paired_out) return pass_of<T, false, true>(radix, x, y, m, groups, cols, w, scale);
  pass_of<T, false, false>(radix, x, y, m, groups, cols, w, scale);
}

template <class T>
void columns(const FftColumns& plan, const FftMatrix& in, const FftMatrix& out, int64_t cols,
             void* work, double scale) {
  const int64_t size = plan.n * cols;
  T* w = static_cast<T*>(work);
  const FftMatrix buffer[2] = {{w, w + size, cols, FftForm::Planar},
                               {w + 2 * size, w + 3 * size, cols, FftForm::Planar}};
  FftMatrix x = in;
  int64_t groups = 1;
  for (int64_t i = 0; i < plan.count; i++) {
    const FftPass& p = plan.passes[i];
    const FftMatrix& y = i + 1 == plan.count ? out : buffer[i % 2];
    pass_between<T>(p.radix, x, y, p.m, groups, cols, p.twiddles, T(scale));
    groups *= p.radix;
    x = y;
  }
}

}  // namespace

void fft_columns_float(const FftColumns& plan, const FftMatrix& in, const FftMatrix& out,
                       int64_t cols, void* work, double scale) {
  columns<float>(plan, in, out, cols, work, scale);
}
void fft_columns_double(const FftColumns& plan, const FftMatrix& in, const FftMatrix& out,
                        int64_t cols, void* work, double scale) {
  columns<double>(plan, in, out, cols, work, scale);
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
