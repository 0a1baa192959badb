// Pooling kernels on (N, C, D, H, W).
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/checks.h"
#include "kernels/index.h"
#include "kernels/pointwise.h"
#include "kernels/pool.h"
#include "kernels/pool_table.h"
#include "kernels/resample.h"
#include "kernels/targets.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(target)      \
  namespace target {                  \
  extern const PoolFns pool_table[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

int64_t pooled_size(int64_t n, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode) {
  const int64_t span = n + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  int64_t out = (span >= 0 ? span : span - stride + 1) / stride + 1;  // rounded down
  // the last window must start inside the input or its left padding
  if (ceil_mode && (out - 1) * stride >= n + padding) out--;
  return out;
}

namespace kernels {
namespace {

struct Plane {
  int64_t in[3], out[3], count;
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
};

// Of sizes (N, C, D, H, W).
Plane plane_of(const char* op, IntSpan sizes) {
  check(sizes.size() == 5, op, ": expected 5 dimensions, but got sizes ", Dims(sizes));
  check_sizes(op, "sizes", sizes);
  Plane p;
  p.count = sizes[0] * sizes[1];
  for (size_t d = 0; d < 3; d++) p.in[d] = sizes[d + 2];
  return p;
}

Dims out_sizes(IntSpan sizes, const Plane& p) {
  return {sizes[0], sizes[1], p.out[0], p.out[1], p.out[2]};
}

// Which results keep channels last: of max_pool those in two and three dimensions, of the others
// those in one and two.
MemoryFormat pooled_format(const Tensor& self, const Plane& p, bool is_max_pool) {
  const int rank = p.in[0] > 1 ? 3 : p.in[1] > 1 ? 2 : 1;
  if (self.is_contiguous() || rank == (is_max_pool ? 1 : 3)) return MemoryFormat::Contiguous;
  return suggest_memory_format(self);
}

void pool_outputs(const char* op, Plane& p, const Dims& kernel, const Dims& stride,
                  const Dims& padding, const Dims& dilation, bool ceil_mode) {
  check_steps(op, "kernel_size", kernel, 3, 1);
  check_steps(op, "stride", stride, 3, 1);
  check_steps(op, "padding", padding, 3, 0);
  check_steps(op, "dilation", dilation, 3, 1);
  for (size_t d = 0; d < 3; d++) {
    p.out[d] = pooled_size(p.in[d], kernel[d], stride[d], padding[d], dilation[d], ceil_mode);
    check(p.out[d] >= 0, op, ": Output size is too small: ", p.out[d], " in dimension ", d,
          " for windows of ", kernel);
  }
}
void adaptive_outputs(const char* op, Plane& p, const Dims& size) {
  check_steps(op, "output_size", size, 3, 0);
  for (size_t d = 0; d < 3; d++) p.out[d] = size[d];
}

// [begin, end) of a window along one axis, cut to the input.
struct Range {
  int64_t begin, end;
};
Range adaptive(int64_t i, int64_t n, int64_t out) {
  return {i * n / out, ((i + 1) * n + out - 1) / out};
}

template <class F>
void each_plane(const Plane& p, F&& f) {
  parallel_for(p.count, std::max<int64_t>(1, 8192 / std::max<int64_t>(p.out_size(), 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t c = begin; c < end; c++) f(c);
               });
}

// Calls f(output index, z range, y range, x range).
template <class W, class F>
void each_window(const Plane& p, W&& window, F&& f) {
  int64_t o = 0;
  for (int64_t z = 0; z < p.out[0]; z++)
    for (int64_t y = 0; y < p.out[1]; y++)
      for (int64_t x = 0; x < p.out[2]; x++, o++) f(o, window(0, z), window(1, y), window(2, x));
}

template <class T>
void largest(const T* in, const Plane& p, Range z, Range y, Range x, int64_t step_z, int64_t step_y,
             int64_t step_x, T& best, int64_t& at) {
  at = -1;
  for (int64_t i = z.begin; i < z.end; i += step_z)
    for (int64_t j = y.begin; j < y.end; j += step_y)
      for (int64_t k = x.begin; k < x.end; k += step_x) {
        int64_t position = (i * p.in[1] + j) * p.in[2] + k;
        T v = in[position];
        if (at < 0 || v > best || v != v) {
          best = v;
          at = position;
        }
      }
}

template <class F>
void visit_pool(DType t, const char* op, F&& f) {
  visit(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      f(tag);
    else
      fail<NotImplementedError>("\"", op, "\" not implemented for '", info(t).name, "'");
  });
}

template <class T, class W>
void max_plane(const T* in, const Plane& p, IntSpan dilation, W&& window, T* to, int64_t* where) {
  each_window(p, window, [&](int64_t o, Range a, Range b, Range d) {
    T best = T();
    int64_t at;
    largest(in, p, a, b, d, dilation[0], dilation[1], dilation[2], best, at);
    to[o] = at < 0 ? std::numeric_limits<T>::lowest() : best;
    if (where) where[o] = std::max<int64_t>(at, 0);
  });
}

// Windows of one size on planes of float: a row of them at a time.
struct RegularMax {
  const Dims &kernel, &stride, &padding, &dilation;
  std::vector<int32_t> first;  // where the windows of a row start
  bool empty_windows = false;

  RegularMax(const Plane& p, const Dims& kernel, const Dims& stride, const Dims& padding,
             const Dims& dilation)
      : kernel(kernel), stride(stride), padding(padding), dilation(dilation) {
    if (!fits(p)) return;
    first.resize(size_t(p.out[2]));
    for (int64_t i = 0; i < p.out[2]; i++) {
      const Range x = (*this)(p, 2, i);
      first[size_t(i)] = int32_t(x.begin);
      empty_windows |= x.begin >= x.end;
    }
  }
  Range operator()(const Plane& p, int d, int64_t i) const {
    const size_t k = size_t(d);
    int64_t begin = i * stride[k] - padding[k],
            end = std::min(begin + (kernel[k] - 1) * dilation[k] + 1, p.in[k]);
    if (begin < 0) begin += (-begin + dilation[k] - 1) / dilation[k] * dilation[k];
    return {begin, end};
  }
  static const PoolFns& functions() {
    static const PoolFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(pool_table, 0),
                                             FLAMBEAU_TABLE_AVX2(pool_table, 0),
                                             FLAMBEAU_TABLE_AVX512(pool_table, 0)};
    return *tables[chosen_target()];
  }
  static bool fits(const Plane& p) {
    return p.in_size() <= std::numeric_limits<int32_t>::max() - p.in[2];
  }
  void plane(const float* in, const Plane& p, float* to, int64_t* where) const {
    const RowWindows row{p.out[2], stride[2], padding[2], dilation[2], kernel[2], p.in[2]};
    std::vector<int32_t> places(where ? first.size() : 0);
    if (empty_windows)
      return max_plane(
          in, p, dilation, [&](int d, int64_t i) { return (*this)(p, d, i); }, to, where);
    for (int64_t z = 0; z < p.out[0]; z++)
      for (int64_t y = 0; y < p.out[1]; y++, to += row.count) {
        const Range a = (*this)(p, 0, z), b = (*this)(p, 1, y);
        const bool none = a.begin >= a.end || b.begin >= b.end;
        std::fill_n(
            to, row.count,
            none ? std::numeric_limits<float>::lowest() : -std::numeric_limits<float>::infinity());
        const int32_t start = int32_t((a.begin * p.in[1] + b.begin) * p.in[2]);
        for (size_t i = 0; i < places.size(); i++) places[i] = none ? 0 : start + first[i];
        for (int64_t i = a.begin; i < a.end; i += dilation[0])
          for (int64_t j = b.begin; j < b.end; j += dilation[1]) {
            const int64_t base = (i * p.in[1] + j) * p.in[2];
            functions().max_row(in + base, int32_t(base), row, to, where ? places.data() : nullptr);
          }
        if (where) where = std::copy(places.begin(), places.end(), where);
      }
  }
};

// The largest number of each window and, where `positions`, its position. `plane(in, out,
// positions)` does one plane.
template <class F>
std::tuple<Tensor, Tensor> max_over(const char* op, const Tensor& self, const Plane& p,
                                    bool is_max_pool, bool positions, F&& plane) {
  const MemoryFormat format = pooled_format(self, p, is_max_pool);
  const Dims sizes = out_sizes(self.sizes(), p);
  Tensor out = flambeau::empty(sizes, self.dtype(), self.device(), format), at;
  if (positions) at = flambeau::empty(sizes, DType::Int64, self.device(), format);
  if (out.is_meta() || out.numel() == 0) return {out, at};
  DType t = info(self.dtype()).compute;
  Tensor x = contiguous_of(cast_of(self, t)),
         y = t == out.dtype() && out.is_contiguous() ? out : flambeau::empty(sizes, t), places = at;
  if (positions && !at.is_contiguous()) places = flambeau::empty(sizes, DType::Int64);
  visit_pool(t, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_plane(p, [&](int64_t c) {
      plane(x.data<T>() + c * p.in_size(), y.data<T>() + c * p.out_size(),
            positions ? places.data<int64_t>() + c * p.out_size() : nullptr);
    });
  });
  if (!y.is_same(out)) copy_kernel(out, y);
  if (positions && !places.is_same(at)) copy_kernel(at, places);
  return {out, at};
}

std::tuple<Tensor, Tensor> regular_max_pool(const Tensor& self, const Dims& kernel,
                                            const Dims& stride, const Dims& padding,
                                            const Dims& dilation, bool ceil_mode, bool positions) {
  Plane p = plane_of("max_pool", self.sizes());
  pool_outputs("max_pool", p, kernel, stride, padding, dilation, ceil_mode);
  const RegularMax windows(p, kernel, stride, padding, dilation);
  return max_over(
      "max_pool", self, p, true, positions, [&]<class T>(const T* in, T* to, int64_t* where) {
        if constexpr (std::is_same_v<T, float>)
          if (RegularMax::fits(p)) return windows.plane(in, p, to, where);
        max_plane(in, p, dilation, [&](int d, int64_t i) { return windows(p, d, i); }, to, where);
      });
}

}  // namespace

std::tuple<Tensor, Tensor> _max_pool(const Tensor& self, const Dims& kernel, const Dims& stride,
                                     const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return regular_max_pool(self, kernel, stride, padding, dilation, ceil_mode, true);
}
Tensor _max_pool_values(const Tensor& self, const Dims& kernel, const Dims& stride,
                        const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return std::get<0>(regular_max_pool(self, kernel, stride, padding, dilation, ceil_mode, false));
}

std::tuple<Tensor, Tensor> _adaptive_max_pool(const Tensor& self, const Dims& output_size) {
  Plane p = plane_of("adaptive_max_pool", self.sizes());
  adaptive_outputs("adaptive_max_pool", p, output_size);
  const Dims dilation{1, 1, 1};
  return max_over(
      "adaptive_max_pool", self, p, false, true, [&]<class T>(const T* in, T* to, int64_t* where) {
        max_plane(
            in, p, dilation, [&](int d, int64_t i) { return adaptive(i, p.in[d], p.out[d]); }, to,
            where);
      });
}

Tensor _place_in_plane(const Tensor& grad, const Tensor& at, const Dims& size) {
  const char* op = "max_pool_backward";
  Plane p = plane_of(op, size);
  check_rank(op, "grad_output", grad, 5, 5);
  for (size_t d = 0; d < 3; d++) p.out[d] = grad.sizes()[d + 2];
  check_shape(op, "grad_output", grad, out_sizes(size, p));
  check_shape(op, "indices", at, grad.sizes());
  check(at.dtype() == DType::Int64, op, ": expected indices of dtype int64, but got ", at.dtype());
  Tensor out = flambeau::empty(size, grad.dtype(), grad.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType t = info(grad.dtype()).compute;
  Tensor from = contiguous_of(cast_of(grad, t)), places = contiguous_of(at),
         sums = flambeau::empty(size, t);
  check_positions(places, p.in_size(), op, false);
  visit_pool(t, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t in = p.in_size(), n = p.out_size();
    LongWork guard(out.numel() > (1 << 16));
    parallel_for(p.count, std::max<int64_t>(1, 16384 / in), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++) {
        T* to = sums.data<T>() + c * in;
        const T* v = from.data<T>() + c * n;
        const int64_t* where = places.data<int64_t>() + c * n;
        std::fill(to, to + in, T(0));
        for (int64_t i = 0; i < n; i++) to[where[i]] = T(to[where[i]] + v[i]);
      }
    });
  });
  return cast_of(sums, grad.dtype());
}

namespace {

struct AvgWindow {
  Plane p;
  Dims kernel, stride, padding;
  bool include_pad;
  int64_t divisor;
  Range range(int d, int64_t i) const {
    size_t k = size_t(d);
    int64_t begin = i * stride[k] - padding[k], end = std::min(begin + kernel[k], p.in[k]);
    return {std::max<int64_t>(begin, 0), end};
  }
  // What the sum of output (z, y, x) is divided by.
  double share(int64_t z, int64_t y, int64_t x) const {
    if (divisor != 0) return double(divisor);
    double n = 1;
    int64_t at[3] = {z, y, x};
    for (int d = 0; d < 3; d++) {
      size_t k = size_t(d);
      int64_t begin = at[d] * stride[k] - padding[k],
              end = std::min(begin + kernel[k], p.in[k] + padding[k]);
      if (!include_pad) {
        begin = std::max<int64_t>(begin, 0);
        end = std::min(end, p.in[k]);
      }
      n *= double(std::max<int64_t>(end - begin, 0));
    }
    return n;
  }
};

AvgWindow avg_window(IntSpan sizes, const Dims& kernel, const Dims& stride, const Dims& padding,
                     bool ceil_mode, bool include_pad, int64_t divisor) {
  AvgWindow w{plane_of("avg_pool", sizes), kernel, stride, padding, include_pad, divisor};
  pool_outputs("avg_pool", w.p, kernel, stride, padding, Dims{1, 1, 1}, ceil_mode);
  return w;
}

// The windows of one dimension; none when a table of them would be large.
template <class R>
std::optional<Axis> window_axis(const Plane& p, int d, R&& range) {
  int64_t taps = 1;
  for (int64_t i = 0; i < p.out[d]; i++) {
    const Range r = range(d, i);
    taps = std::max(taps, r.end - r.begin);
  }
  if (p.in[d] > (1 << 22) || p.out[d] > (1 << 22) / taps) return {};
  Axis axis(p.in[d], p.out[d], taps);
  for (int64_t i = 0; i < p.out[d]; i++) {
    const Range r = range(d, i);
    for (int64_t k = 0; k < r.end - r.begin; k++) axis.set(i, k, r.begin + k, 1);
  }
  return axis;
}

// `average` of float and double: sums along one dimension after the other. False where it does not
// apply.
template <bool Forward, class T, class R, class S>
bool average_by_axes(const T* from, T* to, const Plane& p, R&& range, S&& share) {
  if (p.in_size() == 0) return false;
  const auto& fns = resample_fns<T>();
  const int64_t size = p.out_size();
  const Range whole[3] = {range(0, 0), range(1, 0), range(2, 0)};
  bool global = size == 1;
  for (int d = 0; d < 3; d++) global &= whole[d].begin == 0 && whole[d].end == p.in[d];
  if (global) {
    const T n = T(share(0, 0, 0));
    const int64_t in = p.in_size();
    parallel_for(p.count, std::max<int64_t>(1, 16384 / in), [&](int64_t begin, int64_t end) {
      if (Forward) return fns.means(from + begin * in, in, end - begin, n, to + begin);
      for (int64_t c = begin; c < end; c++)
        std::fill(to + c * in, to + (c + 1) * in, T(from[c] / n));
    });
    return true;
  }
  std::optional<Axis> axes[3];
  for (int d = 0; d < 3; d++)
    if (!(axes[d] = window_axis(p, d, range))) return false;
  std::vector<T> counts(static_cast<size_t>(size));
  int64_t o = 0;
  for (int64_t z = 0; z < p.out[0]; z++)
    for (int64_t y = 0; y < p.out[1]; y++)
      for (int64_t x = 0; x < p.out[2]; x++, o++) {
        const T n = T(share(z, y, x));
        counts[size_t(o)] = n != T(0) ? n : T(1);  // an empty window's sum is 0
      }
  if (Forward) {
    resample(from, to, p.count, *axes[0], *axes[1], *axes[2]);
    each_plane(p, [&](int64_t c) { fns.divide(to + c * size, counts.data(), size); });
  } else {
    std::vector<T> parts(from, from + p.count * size);
    each_plane(p, [&](int64_t c) { fns.divide(parts.data() + c * size, counts.data(), size); });
    resample(parts.data(), to, p.count, axes[0]->transposed(), axes[1]->transposed(),
             axes[2]->transposed());
  }
  return true;
}

// Sums windows (Forward) or spreads gradients over them; `range(d, i)` and `share(z, y, x)`
// describe the windows.
template <bool Forward, class R, class S>
Tensor average(const char* op, const Tensor& source, const Plane& p, IntSpan result_sizes,
               R&& range, S&& share) {
  Tensor out = flambeau::empty(result_sizes, source.dtype(), source.device(),
                               pooled_format(source, p, false));
  if (out.is_meta() || out.numel() == 0) return out;
  DType t = info(source.dtype()).compute;
  Tensor a = contiguous_of(cast_of(source, t)),
         b = t == out.dtype() && out.is_contiguous() ? out : flambeau::empty(result_sizes, t);
  visit_pool(t, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T *in_data = Forward ? a.data<T>() : b.data<T>(),
      *out_data = Forward ? b.data<T>() : a.data<T>();
    if constexpr (std::is_floating_point_v<T>)
      if (p.out_size() > 0 && average_by_axes<Forward>(a.data<T>(), b.data<T>(), p, range, share))
        return;
    if (!Forward) std::fill(in_data, in_data + b.numel(), T(0));
    each_plane(p, [&](int64_t c) {
      T *in = in_data + c * p.in_size(), *to = out_data + c * p.out_size();
      int64_t o = 0;
      for (int64_t z = 0; z < p.out[0]; z++)
        for (int64_t y = 0; y < p.out[1]; y++)
          for (int64_t x = 0; x < p.out[2]; x++, o++) {
            Range rz = range(0, z), ry = range(1, y), rx = range(2, x);
            const T n = T(share(z, y, x));
            T sum = T(0);
            const T part = Forward ? T(0) : T(to[o] / n);
            for (int64_t i = rz.begin; i < rz.end; i++)
              for (int64_t j = ry.begin; j < ry.end; j++)
                for (int64_t k = rx.begin; k < rx.end; k++) {
                  T& v = in[(i * p.in[1] + j) * p.in[2] + k];
                  if (Forward)
                    sum = T(sum + v);
                  else
                    v = T(v + part);
                }
            if (Forward) to[o] = n != T(0) ? T(sum / n) : T(0);
          }
    });
  });
  if (!b.is_same(out)) copy_kernel(out, b);
  return out;
}

}  // namespace

Tensor _avg_pool(const Tensor& self, const Dims& kernel, const Dims& stride, const Dims& padding,
                 bool ceil_mode, bool include_pad, int64_t divisor) {
  AvgWindow w = avg_window(self.sizes(), kernel, stride, padding, ceil_mode, include_pad, divisor);
  return average<true>(
      "avg_pool", self, w.p, out_sizes(self.sizes(), w.p),
      [&](int d, int64_t i) { return w.range(d, i); },
      [&](int64_t z, int64_t y, int64_t x) { return w.share(z, y, x); });
}
Tensor _avg_pool_backward(const Tensor& grad, const Dims& size, const Dims& kernel,
                          const Dims& stride, const Dims& padding, bool ceil_mode, bool include_pad,
                          int64_t divisor) {
  AvgWindow w = avg_window(size, kernel, stride, padding, ceil_mode, include_pad, divisor);
  check_shape("avg_pool_backward", "grad_output", grad, out_sizes(size, w.p));
  return average<false>(
      "avg_pool_backward", grad, w.p, size, [&](int d, int64_t i) { return w.range(d, i); },
      [&](int64_t z, int64_t y, int64_t x) { return w.share(z, y, x); });
}

namespace {
template <bool Forward>
Tensor adaptive_average(const Tensor& source, const Plane& p, IntSpan result) {
  auto range = [&](int d, int64_t i) { return adaptive(i, p.in[d], p.out[d]); };
  return average<Forward>(
      "adaptive_avg_pool", source, p, result, range, [&](int64_t z, int64_t y, int64_t x) {
        Range a = range(0, z), b = range(1, y), c = range(2, x);
        return double((a.end - a.begin) * (b.end - b.begin) * (c.end - c.begin));
      });
}
}  // namespace

Tensor _adaptive_avg_pool(const Tensor& self, const Dims& output_size) {
  Plane p = plane_of("adaptive_avg_pool", self.sizes());
  adaptive_outputs("adaptive_avg_pool", p, output_size);
  return adaptive_average<true>(self, p, out_sizes(self.sizes(), p));
}
Tensor _adaptive_avg_pool_backward(const Tensor& grad, const Dims& size) {
  Plane p = plane_of("adaptive_avg_pool_backward", size);
  check_rank("adaptive_avg_pool_backward", "grad_output", grad, 5, 5);
  for (size_t d = 0; d < 3; d++) p.out[d] = grad.sizes()[d + 2];
  check_shape("adaptive_avg_pool_backward", "grad_output", grad, out_sizes(size, p));
  return adaptive_average<false>(grad, p, size);
}

}  // namespace kernels
}  // namespace flambeau
