// Cumulative sums, products, extremes: one pass along a dimension, columns side by side.
#include <cmath>
#include <vector>

#include "kernels/pointwise.h"
#include "kernels/reduce.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

// Wide enough that long sums of float stay accurate.
template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<half_t> {
  using type = double;
};
template <>
struct WideOf<bfloat16_t> {
  using type = double;
};
template <>
struct WideOf<complex64_t> {
  using type = complex128_t;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class To, class From>
To narrowed(From v) {
  if constexpr (std::is_same_v<To, half_t> || std::is_same_v<To, bfloat16_t>)
    return To(float(v));
  else
    return To(v);
}
template <class To, class From>
To widened(From v) {
  if constexpr (std::is_same_v<From, half_t> || std::is_same_v<From, bfloat16_t>)
    return To(float(v));
  else
    return To(v);
}

// f(in, out, n, step) for each line along `dim`; the lines of one outer block are `inner`
// neighbours.
template <class F>
void each_line(const Tensor& x, int64_t dim, F&& f) {
  const Around a(x.sizes(), dim);
  LongWork guard(x.numel() > (1 << 18));
  parallel_for(a.outer * a.inner, std::max<int64_t>(1, 16384 / std::max<int64_t>(a.n, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; k++)
                   f(k / a.inner * a.n * a.inner + k % a.inner, a.n, a.inner);
               });
}

// Running values of all columns of a block, row by row: memory is read in order.
template <class T, class Step>
void scan_columns(const T* x, T* y, int64_t n, int64_t inner, int64_t cols, Wide<T> first,
                  Step step) {
  std::vector<Wide<T>> state(size_t(cols), first);
  for (int64_t r = 0; r < n; r++)
    for (int64_t c = 0; c < cols; c++) {
      state[size_t(c)] = step(state[size_t(c)], widened<Wide<T>>(x[r * inner + c]));
      y[r * inner + c] = narrowed<T>(state[size_t(c)]);
    }
}

// Running sums of one line after `carry`, four at a time: one addition in the chain instead of
// four.
template <class T>
void sum_line(const T* x, T* y, int64_t n, Wide<T> carry) {
  using W = Wide<T>;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const W a = widened<W>(x[i]), b = W(a + widened<W>(x[i + 1])), c = widened<W>(x[i + 2]),
            d = W(c + widened<W>(x[i + 3]));
    y[i] = narrowed<T>(W(carry + a));
    y[i + 1] = narrowed<T>(W(carry + b));
    y[i + 2] = narrowed<T>(W(carry + W(b + c)));
    carry = W(carry + W(b + d));
    y[i + 3] = narrowed<T>(carry);
  }
  for (; i < n; i++) {
    carry = W(carry + widened<W>(x[i]));
    y[i] = narrowed<T>(carry);
  }
}

// The running sums of a long line: those of its blocks first, then each block from where the ones
// before it end.
template <class T>
void sum_long_line(const T* x, T* y, int64_t n) {
  constexpr int64_t block = 16384;
  using W = Wide<T>;
  std::vector<W> carry(size_t((n + block - 1) / block));
  auto each_block = [&](auto f) {
    parallel_for(int64_t(carry.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; k++) f(k, k * block, std::min(block, n - k * block));
    });
  };
  each_block([&](int64_t k, int64_t at, int64_t count) {
    W part[8] = {};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
      for (int l = 0; l < 8; l++) part[l] = W(part[l] + widened<W>(x[at + i + l]));
    for (; i < count; i++) part[0] = W(part[0] + widened<W>(x[at + i]));
    for (int w = 4; w; w /= 2)
      for (int l = 0; l < w; l++) part[l] = W(part[l] + part[l + w]);
    carry[size_t(k)] = part[0];
  });
  W before = W(0);
  for (W& c : carry) {
    const W sum = c;
    c = before;
    before = W(before + sum);
  }
  each_block([&](int64_t k, int64_t at, int64_t count) {
    sum_line(x + at, y + at, count, carry[size_t(k)]);
  });
}

template <bool Sums, class Step>
Tensor scan(const Tensor& self, int64_t dim, std::optional<DType> dtype, int first, Step step) {
  const int64_t d = wrap_dim(dim, self.dim());
  const DType to =
      dtype.value_or(category(self.dtype()) <= Category::Integral ? DType::Int64 : self.dtype());
  Tensor out = empty(self.sizes(), to, self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor x = cast_of(contiguous_of(self), to);
  const Around a(x.sizes(), d);
  visit(to, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      const T* in = x.data<T>();
      T* y = out.data<T>();
      if (a.inner == 1) {
        if constexpr (Sums) {
          if (a.n > 32768 && a.outer < 8) {
            LongWork guard(x.numel() > (1 << 18));
            for (int64_t k = 0; k < a.outer; k++) sum_long_line(in + k * a.n, y + k * a.n, a.n);
          } else {
            each_line(x, d, [&](int64_t at, int64_t n, int64_t) {
              sum_line(in + at, y + at, n, Wide<T>(0));
            });
          }
          return;
        }
        each_line(x, d, [&](int64_t at, int64_t n, int64_t) {
          Wide<T> v = Wide<T>(first);
          for (int64_t i = 0; i < n; i++) {
            v = step(v, widened<Wide<T>>(in[at + i]));
            y[at + i] = narrowed<T>(v);
          }
        });
        return;
      }
      constexpr int64_t strip = 128;
      const int64_t strips = (a.inner + strip - 1) / strip;
      LongWork guard(x.numel() > (1 << 18));
      parallel_for(a.outer * strips, std::max<int64_t>(1, 16384 / (a.n * std::min(strip, a.inner))),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t k = begin; k < end; k++) {
                       const int64_t c = k % strips * strip, at = k / strips * a.n * a.inner + c;
                       scan_columns(in + at, y + at, a.n, a.inner, std::min(strip, a.inner - c),
                                    Wide<T>(first), step);
                     }
                   });
    } else {
      fail<NotImplementedError>("cumulative operators have no result of dtype bool");
    }
  });
  return out;
}

template <class T>
bool is_nan(T v) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return std::isnan(double(v));
}

std::tuple<Tensor, Tensor> extreme_scan(const char* op, bool largest, const Tensor& self,
                                        int64_t dim) {
  check<NotImplementedError>(!self.is_complex(), op, "(): complex numbers have no order");
  const int64_t d = wrap_dim(dim, self.dim());
  Tensor values = empty(self.sizes(), self.dtype(), self.device()),
         indices = empty(self.sizes(), DType::Int64, self.device());
  if (self.is_meta() || self.numel() == 0) return {values, indices};
  Tensor x = contiguous_of(self);
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, complex64_t> && !std::is_same_v<T, complex128_t>) {
      const T* in = x.data<T>();
      T* v = values.data<T>();
      int64_t* at = indices.data<int64_t>();
      using C =
          std::conditional_t<std::is_same_v<T, half_t> || std::is_same_v<T, bfloat16_t>, float, T>;
      each_line(x, d, [&](int64_t start, int64_t n, int64_t step) {
        C best = C(in[start]);
        int64_t where = 0;
        for (int64_t i = 0; i < n; i++) {
          const C e = C(in[start + i * step]);
          if (is_nan(e) || (!is_nan(best) && (largest ? e >= best : e <= best))) {
            best = e;
            where = i;
          }
          v[start + i * step] = T(best);
          at[start + i * step] = where;
        }
      });
    }
  });
  return {values, indices};
}

template <class C>
C log_add(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    const C high = std::max(a, b), low = std::min(a, b);
    return high == low && std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
  } else {
    if (a.real() < b.real()) std::swap(a, b);
    if (std::isinf(b.real()) && b.real() < 0) return a;
    return a + std::log(C(1) + std::exp(b - a));
  }
}

}  // namespace

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan<true>(self, dim, dtype, 0, [](auto a, auto b) { return decltype(a)(a + b); });
}
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan<false>(self, dim, dtype, 1, [](auto a, auto b) { return decltype(a)(a * b); });
}
std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim) {
  return extreme_scan("cummax", true, self, dim);
}
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim) {
  return extreme_scan("cummin", false, self, dim);
}

Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim());
  check<NotImplementedError>(is_differentiable(self.dtype()),
                             "\"logcumsumexp_out_cpu\" not implemented for '",
                             info(self.dtype()).name, "'");
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor x = contiguous_of(self);
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_integral_v<T>) {
      const T* in = x.data<T>();
      T* y = out.data<T>();
      each_line(x, d, [&](int64_t at, int64_t n, int64_t step) {
        Wide<T> v = widened<Wide<T>>(in[at]);
        y[at] = narrowed<T>(v);
        for (int64_t i = 1; i < n; i++) {
          v = log_add(v, widened<Wide<T>>(in[at + i * step]));
          y[at + i * step] = narrowed<T>(v);
        }
      });
    }
  });
  return out;
}

}  // namespace flambeau::kernels
