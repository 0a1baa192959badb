// Moves of Fourier transforms: transposed, multiplied by factors, between lines and columns,
// between real and complex.
#include "kernels/fft_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

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
  static constexpr FftFns fns{sizeof(T) == 4 ? fft_columns_float : fft_columns_double,
                              twist,
                              multiply,
                              gather,
                              scatter,
                              split_real,
                              join_real};
};

}  // namespace

// [0] float, [1] double
extern const FftFns fft_table[2];
const FftFns fft_table[2] = {Fft<float>::fns, Fft<double>::fns};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
