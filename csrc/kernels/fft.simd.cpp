// Passes of Fourier transforms over columns side by side. The code is written once for a type V
// that is a vector of this instruction set or, for what is left over, one number: the operations on
// each element are the same. The compiler must not vectorize it further (CMakeLists.txt): GCC makes
// fused operations of products that are added and subtracted in turn, whatever -ffp-contract says.
#include <utility>

#include "kernels/fft_table.h"
#include "simd/target.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T>
constexpr int kLanes = kBytes / int(sizeof(T));

template <int N, class F>
FLAMBEAU_INLINE void each(F&& f) {
  [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, N>());
}

// ---- reading and writing ------------------------------------------------------------------------

template <class V, class T>
FLAMBEAU_INLINE V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
FLAMBEAU_INLINE void store(T* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// Element N * odd + 2k + odd of the concatenation, and its inverse.
template <int odd, class V, int... k>
FLAMBEAU_INLINE V every_other(V a, V b, std::integer_sequence<int, k...>) {
  return __builtin_shufflevector(a, b, (2 * k + odd)...);
}
template <int high, class V, int... k>
FLAMBEAU_INLINE V interleaved(V a, V b, std::integer_sequence<int, k...>) {
  constexpr int n = sizeof...(k);
  return __builtin_shufflevector(a, b, (high * n / 2 + k / 2 + (k & 1) * n)...);
}

// That numbers lie in pairs is known to the compiler, which of a pair counts as the real part is
// not: a branch that always goes the same way costs less than a second copy of all passes.
template <class T, bool paired, class V>
FLAMBEAU_INLINE void read(const T* re, const T* im, int64_t at, bool swapped, V& a, V& b) {
  if constexpr (!paired) {
    a = load<V>(re + at);
    b = load<V>(im + at);
  } else {
    if constexpr (sizeof(V) == sizeof(T)) {
      a = re[2 * at];
      b = re[2 * at + 1];
    } else {
      using Index = std::make_integer_sequence<int, kLanes<T>>;
      const V low = load<V>(re + 2 * at), high = load<V>(re + 2 * at + kLanes<T>);
      a = every_other<0>(low, high, Index());
      b = every_other<1>(low, high, Index());
    }
    if (swapped) std::swap(a, b);
  }
}

template <class T, bool paired, class V>
FLAMBEAU_INLINE void write(T* re, T* im, int64_t at, bool swapped, V a, V b) {
  if constexpr (!paired) {
    store(re + at, a);
    store(im + at, b);
  } else {
    if (swapped) std::swap(a, b);
    if constexpr (sizeof(V) == sizeof(T)) {
      re[2 * at] = a;
      re[2 * at + 1] = b;
    } else {
      using Index = std::make_integer_sequence<int, kLanes<T>>;
      store(re + 2 * at, interleaved<0>(a, b, Index()));
      store(re + 2 * at + kLanes<T>, interleaved<1>(a, b, Index()));
    }
  }
}

// Elements at, at - 1, …
template <class V, int... k>
FLAMBEAU_INLINE V backwards(V a, std::integer_sequence<int, k...>) {
  return __builtin_shufflevector(a, a, (int(sizeof...(k)) - 1 - k)...);
}
template <class T, bool paired, class V>
FLAMBEAU_INLINE void read_back(const T* re, const T* im, int64_t at, V& a, V& b) {
  if constexpr (sizeof(V) == sizeof(T)) {
    read<T, paired>(re, im, at, false, a, b);
  } else {
    using Index = std::make_integer_sequence<int, kLanes<T>>;
    read<T, paired>(re, im, at - kLanes<T> + 1, false, a, b);
    a = backwards(a, Index());
    b = backwards(b, Index());
  }
}

// f(V tag, position) over [0, n): whole vectors, then single numbers.
template <class T, class F>
FLAMBEAU_INLINE void each_vector(int64_t n, F&& f) {
  using V = typename VectorOf<T>::type;
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) f(V(), i);
  for (; i < n; i++) f(T(), i);
}

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

// ---- transposing --------------------------------------------------------------------------------

// Transposes W vectors in place by log2(W) rounds of interleaving.
template <int W, int rounds, class V>
FLAMBEAU_INLINE void transpose(V* v) {
  if constexpr (rounds > 0) {
    using Index = std::make_integer_sequence<int, W>;
    V t[W];
    each<W / 2>([&](auto i) __attribute__((always_inline)) {
      t[2 * i] = interleaved<0>(v[i], v[i + W / 2], Index());
      t[2 * i + 1] = interleaved<1>(v[i], v[i + W / 2], Index());
    });
    transpose<W, rounds - 1>(t);
    each<W>([&](auto i) __attribute__((always_inline)) { v[i] = t[i]; });
  }
}

template <class T>
struct Fft {
  using V = typename VectorOf<T>::type;
  static constexpr int W = kLanes<T>, kRounds = W == 16 ? 4 : W == 8 ? 3 : W == 4 ? 2 : 1;

  static void columns(const FftColumns& plan, const FftMatrix& in, const FftMatrix& out,
                      int64_t cols, void* work, double scale) {
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

  static void twist(const FftMatrix& in, const FftMatrix& factor, const FftMatrix& out,
                    int64_t rows, int64_t cols) {
    const T *xr = static_cast<T*>(in.re), *xi = static_cast<T*>(in.im);
    const T *wr = static_cast<T*>(factor.re), *wi = static_cast<T*>(factor.im);
    T *yr = static_cast<T*>(out.re), *yi = static_cast<T*>(out.im);
    auto one = [&](int64_t r, int64_t c) {
      const int64_t a = r * in.row + c, f = r * factor.row + c, b = c * out.row + r;
      yr[b] = xr[a] * wr[f] - xi[a] * wi[f];
      yi[b] = xi[a] * wr[f] + xr[a] * wi[f];
    };
    int64_t r = 0;
    for (; r + W <= rows; r += W) {
      int64_t c = 0;
      for (; c + W <= cols; c += W) {
        V re[W], im[W];
        each<W>([&](auto k) __attribute__((always_inline)) {
          const int64_t a = (r + k) * in.row + c, f = (r + k) * factor.row + c;
          const V x = load<V>(xr + a), y = load<V>(xi + a), u = load<V>(wr + f),
                  v = load<V>(wi + f);
          re[k] = x * u - y * v;
          im[k] = y * u + x * v;
        });
        transpose<W, kRounds>(re);
        transpose<W, kRounds>(im);
        each<W>([&](auto k) __attribute__((always_inline)) {
          store(yr + (c + k) * out.row + r, re[k]);
          store(yi + (c + k) * out.row + r, im[k]);
        });
      }
      for (; c < cols; c++)
        for (int64_t k = r; k < r + W; k++) one(k, c);
    }
    for (; r < rows; r++)
      for (int64_t c = 0; c < cols; c++) one(r, c);
  }

  template <bool paired_in, bool paired_out>
  static void multiply_as(const FftMatrix& in, const FftMatrix& factor, const FftMatrix& out,
                          int64_t n, T scale) {
    const T *xr = static_cast<T*>(in.re), *xi = static_cast<T*>(in.im);
    const T *wr = static_cast<T*>(factor.re), *wi = static_cast<T*>(factor.im);
    T *yr = static_cast<T*>(out.re), *yi = static_cast<T*>(out.im);
    const bool x_swapped = in.form == FftForm::Swapped, y_swapped = out.form == FftForm::Swapped;
    each_vector<T>(n, [&](auto tag, int64_t i) __attribute__((always_inline)) {
      using X = decltype(tag);
      X a, b, c, d;
      read<T, paired_in>(xr, xi, i, x_swapped, a, b);
      read<T, false>(wr, wi, i, false, c, d);
      write<T, paired_out>(yr, yi, i, y_swapped, X((a * c - b * d) * scale),
                           X((b * c + a * d) * scale));
    });
  }
  static void multiply(const FftMatrix& in, const FftMatrix& factor, const FftMatrix& out,
                       int64_t n, double scale) {
    const T s = T(scale);
    if (in.form != FftForm::Planar) return multiply_as<true, false>(in, factor, out, n, s);
    if (out.form != FftForm::Planar) return multiply_as<false, true>(in, factor, out, n, s);
    multiply_as<false, false>(in, factor, out, n, s);
  }

  // W x W blocks of lines through registers, what is left over one by one.
  template <bool paired>
  static void gather_as(const FftMatrix& lines, const FftMatrix& columns, int64_t n,
                        int64_t count) {
    const T *xr = static_cast<T*>(lines.re), *xi = static_cast<T*>(lines.im);
    T *yr = static_cast<T*>(columns.re), *yi = static_cast<T*>(columns.im);
    const bool swapped = lines.form == FftForm::Swapped;
    auto one = [&](int64_t l, int64_t i) {
      T a, b;
      read<T, paired>(xr, xi, l * lines.row + i, swapped, a, b);
      yr[i * columns.row + l] = a;
      yi[i * columns.row + l] = b;
    };
    int64_t l = 0;
    for (; l + W <= count; l += W) {
      int64_t i = 0;
      for (; i + W <= n; i += W) {
        V re[W], im[W];
        each<W>([&](auto k) __attribute__((always_inline)) {
          read<T, paired>(xr, xi, (l + k) * lines.row + i, swapped, re[k], im[k]);
        });
        transpose<W, kRounds>(re);
        transpose<W, kRounds>(im);
        each<W>([&](auto k) __attribute__((always_inline)) {
          store(yr + (i + k) * columns.row + l, re[k]);
          store(yi + (i + k) * columns.row + l, im[k]);
        });
      }
      for (int64_t k = l; k < l + W; k++)
        for (int64_t r = i; r < n; r++) one(k, r);
    }
    for (; l < count; l++)
      for (int64_t i = 0; i < n; i++) one(l, i);
  }
  static void gather(const FftMatrix& lines, const FftMatrix& columns, int64_t n, int64_t count) {
    if (lines.form == FftForm::Planar) return gather_as<false>(lines, columns, n, count);
    gather_as<true>(lines, columns, n, count);
  }

  template <bool paired>
  static void scatter_as(const FftMatrix& columns, const FftMatrix& lines, int64_t n, int64_t count,
                         T scale) {
    const T *xr = static_cast<T*>(columns.re), *xi = static_cast<T*>(columns.im);
    T *yr = static_cast<T*>(lines.re), *yi = static_cast<T*>(lines.im);
    const bool swapped = lines.form == FftForm::Swapped;
    auto one = [&](int64_t l, int64_t i) {
      write<T, paired>(yr, yi, l * lines.row + i, swapped, T(xr[i * columns.row + l] * scale),
                       T(xi[i * columns.row + l] * scale));
    };
    int64_t l = 0;
    for (; l + W <= count; l += W) {
      int64_t i = 0;
      for (; i + W <= n; i += W) {
        V re[W], im[W];
        each<W>([&](auto k) __attribute__((always_inline)) {
          re[k] = load<V>(xr + (i + k) * columns.row + l) * scale;
          im[k] = load<V>(xi + (i + k) * columns.row + l) * scale;
        });
        transpose<W, kRounds>(re);
        transpose<W, kRounds>(im);
        each<W>([&](auto k) __attribute__((always_inline)) {
          write<T, paired>(yr, yi, (l + k) * lines.row + i, swapped, re[k], im[k]);
        });
      }
      for (int64_t k = l; k < l + W; k++)
        for (int64_t r = i; r < n; r++) one(k, r);
    }
    for (; l < count; l++)
      for (int64_t i = 0; i < n; i++) one(l, i);
  }
  static void scatter(const FftMatrix& columns, const FftMatrix& lines, int64_t n, int64_t count,
                      double scale) {
    const T s = T(scale);
    if (lines.form == FftForm::Planar) return scatter_as<false>(columns, lines, n, count, s);
    scatter_as<true>(columns, lines, n, count, s);
  }

  // With the even and odd elements' transforms E and O: Z = E + iO, X[k] = E[k] + w^k O[k].
  static void split_real(const FftMatrix& half, const FftMatrix& roots, void* out, int64_t h,
                         double scale) {
    const T *zr = static_cast<T*>(half.re), *zi = static_cast<T*>(half.im);
    const T *wr = static_cast<T*>(roots.re), *wi = static_cast<T*>(roots.im), s = T(scale * 0.5);
    T* y = static_cast<T*>(out);
    y[0] = (zr[0] + zi[0]) * T(scale);
    y[1] = 0;
    y[2 * h] = (zr[0] - zi[0]) * T(scale);
    y[2 * h + 1] = 0;
    each_vector<T>(h - 1, [&](auto tag, int64_t i) __attribute__((always_inline)) {
      using X = decltype(tag);
      X ar, ai, br, bi, c, d;
      read<T, false>(zr, zi, i + 1, false, ar, ai);
      read_back<T, false>(zr, zi, h - 1 - i, br, bi);
      read<T, false>(wr, wi, i + 1, false, c, d);
      const X er = ar + br, ei = ai - bi, o = ai + bi, oi = br - ar;
      write<T, true>(y, y, i + 1, false, X((er + (o * c - oi * d)) * s),
                     X((ei + (oi * c + o * d)) * s));
    });
  }
  static void join_real(const void* in, const FftMatrix& roots, const FftMatrix& half, int64_t h) {
    const T* x = static_cast<const T*>(in);
    const T *wr = static_cast<T*>(roots.re), *wi = static_cast<T*>(roots.im);
    T *zr = static_cast<T*>(half.re), *zi = static_cast<T*>(half.im);
    zr[0] = x[0] + x[2 * h];
    zi[0] = x[0] - x[2 * h];
    each_vector<T>(h - 1, [&](auto tag, int64_t i) __attribute__((always_inline)) {
      using X = decltype(tag);
      X ar, ai, br, bi, c, d;
      read<T, true>(x, x, i + 1, false, ar, ai);
      read_back<T, true>(x, x, h - 1 - i, br, bi);
      read<T, false>(wr, wi, i + 1, false, c, d);
      const X er = ar + br, ei = ai - bi, dr = ar - br, di = ai + bi;
      const X o = dr * c + di * d, oi = di * c - dr * d;
      write<T, false>(zr, zi, i + 1, false, X(er - oi), X(ei + o));
    });
  }
  static constexpr FftFns fns{columns, twist, multiply, gather, scatter, split_real, join_real};
};

}  // namespace

// [0] float, [1] double
extern const FftFns fft_table[2];
const FftFns fft_table[2] = {Fft<float>::fns, Fft<double>::fns};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
