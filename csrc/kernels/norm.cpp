// Layer, RMS, group and batch normalisation over the loops of norm.simd.cpp.
#include <cmath>
#include <vector>

#include "kernels/checks.h"
#include "kernels/pointwise.h"
#include "kernels/reduce.h"
#include "kernels/rows.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

void check_floating(const char* op, const Tensor& t) {
  check<NotImplementedError>(t.is_floating(), "\"", op, "\" not implemented for '",
                             info(t.dtype()).name, "'");
}

OptTensor prepared(const OptTensor& t, DType compute) {
  return t ? OptTensor(cast_of(contiguous_of(*t), compute)) : t;
}
const char* bytes_of(const OptTensor& t) { return t ? t->bytes() : nullptr; }

// ---- rows: layer and RMS norm
// ---------------------------------------------------------------------------

struct RowShape {
  int64_t rows = 1, n = 1;
  Dims stat;  // shape of the statistics
};

RowShape row_shape(const char* op, const Tensor& input, const Dims& shape) {
  check(!shape.empty(), op,
        ": Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
        "element, but got normalized_shape = ",
        shape);
  const int64_t lead = input.dim() - int64_t(shape.size());
  bool fits = lead >= 0;
  for (size_t i = 0; fits && i < shape.size(); i++)
    fits = input.sizes()[size_t(lead) + i] == shape[i];
  check(fits, "Given normalized_shape=", shape, ", expected input with shape [*, ", shape,
        "], but got input of size", input.sizes(), " (", op, ")");
  RowShape r;
  for (int64_t d = 0; d < input.dim(); d++) {
    (d < lead ? r.rows : r.n) *= input.sizes()[size_t(d)];
    r.stat.push_back(d < lead ? input.sizes()[size_t(d)] : 1);
  }
  return r;
}

void check_parameter(const char* op, const char* name, const OptTensor& t, const Dims& shape) {
  if (t)
    check(equal(t->sizes(), shape), op, ": Expected ", name,
          " to be of same shape as normalized_shape, but got ", name, " of shape ", t->sizes(),
          " and normalized_shape = ", shape);
}

// Statistics of the rows, as the loops read them.
Tensor statistics(const char* op, const char* name, const Tensor& t, int64_t rows, DType compute) {
  check_count(op, name, t, rows);
  return cast_of(contiguous_of(t), compute);
}

struct RowResult {
  Tensor out, mean, rstd;
};

RowResult normalize_rows(const Tensor& input, const RowShape& s, const OptTensor& weight,
                         const OptTensor& bias, double eps, bool centred) {
  const DType compute = info(input.dtype()).compute;
  Tensor x = cast_of(contiguous_of(input), compute), out = empty(input.sizes(), compute);
  Tensor mean = empty(s.stat, compute), rstd = empty(s.stat, compute);
  const OptTensor w = prepared(weight, compute), b = prepared(bias, compute);
  const NormFns& f = norm_fns(compute);
  const int64_t width = x.itemsize();
  LongWork guard(x.numel() > (1 << 16));
  if (x.numel())
    parallel_for(s.rows, std::max<int64_t>(1, 16384 / s.n), [&](int64_t begin, int64_t end) {
      f.rows(out.bytes() + begin * s.n * width, centred ? mean.bytes() + begin * width : nullptr,
             rstd.bytes() + begin * width, x.bytes() + begin * s.n * width, bytes_of(w),
             bytes_of(b), end - begin, s.n, eps, centred);
    });
  else if (s.rows) {
    fill_kernel(mean, 0);
    fill_kernel(rstd, NAN);
  }
  return {cast_of(out, input.dtype()), mean, rstd};
}

Tensor rows_input_grad(const Tensor& grad, const Tensor& input, const OptTensor& mean,
                       const Tensor& rstd, const OptTensor& weight, int64_t rows, int64_t n) {
  if (input.is_meta() || input.numel() == 0)
    return empty(input.sizes(), input.dtype(), input.device());
  const DType compute = info(input.dtype()).compute;
  Tensor g = cast_of(contiguous_of(grad), compute), x = cast_of(contiguous_of(input), compute),
         out = empty(input.sizes(), compute);
  const OptTensor w = prepared(weight, compute);
  const NormFns& f = norm_fns(compute);
  const int64_t width = x.itemsize();
  LongWork guard(x.numel() > (1 << 16));
  parallel_for(rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * n * width;
    f.rows_backward(out.bytes() + at, g.bytes() + at, x.bytes() + at,
                    mean ? mean->bytes() + begin * width : nullptr, rstd.bytes() + begin * width,
                    bytes_of(w), end - begin, n, mean.has_value());
  });
  return cast_of(out, input.dtype());
}

// Sums of blocks of rows, added up in the order of the blocks.
template <class F>
std::vector<double> sum_blocks(int64_t rows, int64_t n, F&& f) {
  const int64_t block = std::max<int64_t>(16, (rows + 31) / 32), count = (rows + block - 1) / block;
  std::vector<double> parts(size_t(std::max<int64_t>(count, 1) * n), 0.0);
  parallel_for(count, std::max<int64_t>(1, 16384 / (block * n)), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++)
      f(parts.data() + k * n, k * block, std::min(rows, (k + 1) * block));
  });
  for (int64_t k = 1; k < count; k++)
    for (int64_t i = 0; i < n; i++) parts[size_t(i)] += parts[size_t(k * n + i)];
  parts.resize(size_t(n));
  return parts;
}

Tensor from_doubles(const double* v, IntSpan shape, DType dtype) {
  Tensor out = empty(shape, dtype);
  convert_elements(out.bytes(), dtype, v, DType::Float64, out.numel());
  return out;
}

// ---- channels: batch norm
// -------------------------------------------------------------------------------

// A dense tensor as blocks of `inner` elements of one channel (channels repeat), or as rows of
// channels.
struct Channels {
  Tensor data;
  int64_t count, inner, rows;
  MemoryFormat format = MemoryFormat::Contiguous;

  Channels(const Tensor& t, DType compute, std::optional<MemoryFormat> want = {})
      : count(t.sizes()[1]) {
    for (auto m : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
      if (want ? *want == m
               : t.dim() == (m == MemoryFormat::ChannelsLast ? 4 : 5) && !t.is_contiguous() &&
                     t.is_contiguous(m))
        format = m;
    if (format == MemoryFormat::Contiguous)
      data = contiguous_of(t);
    else
      data = t.is_contiguous(format) ? t : ops::contiguous(t, format);
    data = cast_of(data, compute);
    inner = format == MemoryFormat::Contiguous && count
                ? t.numel() / std::max<int64_t>(1, count * t.sizes()[0])
                : 1;
    rows = inner == 1 ? t.numel() / std::max<int64_t>(count, 1) : t.sizes()[0] * count;
  }
  bool columns() const { return inner == 1; }
};

Dims other_dims(const Tensor& t) {
  Dims dims{0};
  for (int64_t d = 2; d < t.dim(); d++) dims.push_back(d);
  return dims;
}

std::vector<double> doubles(const OptTensor& t, int64_t n, double otherwise) {
  std::vector<double> v(size_t(n), otherwise);
  if (t) convert_elements(v.data(), DType::Float64, contiguous_of(*t).bytes(), t->dtype(), n);
  return v;
}

Tensor apply_affine(const Tensor& input, const std::vector<double>& scale,
                    const std::vector<double>& shift) {
  const DType compute = info(input.dtype()).compute;
  if (input.numel() == 0) return empty(input.sizes(), input.dtype());
  Channels x(input, compute);
  Tensor out = flambeau::empty(input.sizes(), compute, Device{}, x.format);
  const NormFns& f = norm_fns(compute);
  const int64_t line = x.columns() ? x.count : x.inner, width = x.data.itemsize();
  LongWork guard(input.numel() > (1 << 16));
  parallel_for(x.rows, std::max<int64_t>(1, 16384 / line), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * line * width;
    if (x.columns())
      f.affine_columns(out.bytes() + at, x.data.bytes() + at, scale.data(), shift.data(),
                       end - begin, x.count);
    else
      f.affine_rows(out.bytes() + at, x.data.bytes() + at, scale.data(), shift.data(), begin,
                    end - begin, line, x.count);
  });
  return cast_of(out, input.dtype());
}

struct ChannelSums {
  std::vector<double> sum, product;
};

// Of the gradient, and of gradient times centred input.
ChannelSums channel_sums(const Channels& g, const Channels& x, const std::vector<double>& mean) {
  ChannelSums out{std::vector<double>(size_t(x.count), 0.0),
                  std::vector<double>(size_t(x.count), 0.0)};
  const NormFns& f = norm_fns(x.data.dtype());
  const int64_t width = x.data.itemsize();
  if (x.columns()) {
    std::vector<double> both =
        sum_blocks(x.rows, 2 * x.count, [&](double* to, int64_t begin, int64_t end) {
          const int64_t at = begin * x.count * width;
          f.sums_columns(to, to + x.count, g.data.bytes() + at, x.data.bytes() + at, mean.data(),
                         end - begin, x.count);
        });
    out.sum.assign(both.begin(), both.begin() + x.count);
    out.product.assign(both.begin() + x.count, both.end());
    return out;
  }
  const int64_t samples = x.rows / x.count;
  parallel_for(x.count, std::max<int64_t>(1, 16384 / (samples * x.inner)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t c = begin; c < end; c++)
                   for (int64_t s = 0; s < samples; s++) {
                     const int64_t at = (s * x.count + c) * x.inner * width;
                     f.sums_row(&out.sum[size_t(c)], &out.product[size_t(c)], g.data.bytes() + at,
                                x.data.bytes() + at, mean[size_t(c)], x.inner);
                   }
               });
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, const Dims& shape,
                                                     const OptTensor& weight, const OptTensor& bias,
                                                     double eps) {
  const RowShape s = row_shape("layer_norm", input, shape);
  check_parameter("layer_norm", "weight", weight, shape);
  check_parameter("layer_norm", "bias", bias, shape);
  check_floating("LayerNormKernelImpl", input);
  const DType compute = info(input.dtype()).compute;
  if (input.is_meta())
    return {empty(input.sizes(), input.dtype(), input.device()),
            empty(s.stat, compute, input.device()), empty(s.stat, compute, input.device())};
  RowResult r = normalize_rows(input, s, weight, bias, eps, true);
  return {r.out, r.mean, r.rstd};
}

Tensor _layer_norm_backward(const Tensor& grad, const Tensor& input, const Dims& shape,
                            const OptTensor& mean, const Tensor& rstd, const OptTensor& weight) {
  const char* op = "layer_norm_backward";
  const RowShape s = row_shape(op, input, shape);
  check_floating(op, input);
  check_shape(op, "grad_output", grad, input.sizes());
  check_parameter(op, "weight", weight, shape);
  const DType compute = info(input.dtype()).compute;
  if (input.is_meta()) return empty(input.sizes(), input.dtype(), input.device());
  const OptTensor m = mean ? OptTensor(statistics(op, "mean", *mean, s.rows, compute)) : mean;
  return rows_input_grad(grad, input, m, statistics(op, "rstd", rstd, s.rows, compute), weight,
                         s.rows, s.n);
}

Tensor _layer_norm_weight(const Tensor& grad, const Tensor& input, const Dims& shape,
                          const OptTensor& given_mean, const Tensor& given_rstd) {
  const char* op = "layer_norm_weight";
  const RowShape s = row_shape(op, input, shape);
  check_floating(op, input);
  check_shape(op, "grad_output", grad, input.sizes());
  const DType compute = info(input.dtype()).compute;
  if (input.is_meta()) return empty(shape, compute, input.device());
  const OptTensor mean =
      given_mean ? OptTensor(statistics(op, "mean", *given_mean, s.rows, compute)) : given_mean;
  const Tensor rstd = statistics(op, "rstd", given_rstd, s.rows, compute);
  Tensor g = cast_of(contiguous_of(grad), compute), x = cast_of(contiguous_of(input), compute);
  const NormFns& f = norm_fns(compute);
  const int64_t width = x.itemsize();
  std::vector<double> dw =
      sum_blocks(s.n ? s.rows : 0, s.n, [&](double* to, int64_t begin, int64_t end) {
        const int64_t at = begin * s.n * width;
        f.weight_grad(to, g.bytes() + at, x.bytes() + at,
                      mean ? mean->bytes() + begin * width : nullptr, rstd.bytes() + begin * width,
                      end - begin, s.n);
      });
  return from_doubles(dw.data(), shape, compute);
}

std::tuple<Tensor, Tensor> _rms_norm(const Tensor& input, const Dims& shape,
                                     const OptTensor& weight, double eps) {
  const RowShape s = row_shape("rms_norm", input, shape);
  check_floating("RMSNormKernelImpl", input);
  check_parameter("rms_norm", "weight", weight, shape);
  if (input.is_meta())
    return {empty(input.sizes(), input.dtype(), input.device()),
            empty(s.stat, info(input.dtype()).compute, input.device())};
  RowResult r = normalize_rows(input, s, weight, std::nullopt, eps, false);
  return {r.out, r.rstd};
}

std::tuple<Tensor, Tensor, Tensor> _batch_norm(const Tensor& input, const OptTensor& weight,
                                               const OptTensor& bias, double eps) {
  check_floating("batch_norm", input);
  check_rank("batch_norm", "input", input, 2, 64);
  const int64_t channels = input.sizes()[1];
  check_count("batch_norm", "weight", weight, channels);
  check_count("batch_norm", "bias", bias, channels);
  const DType compute = info(input.dtype()).compute;
  if (input.is_meta())
    return {empty(input.sizes(), input.dtype(), input.device()),
            empty(Dims{channels}, compute, input.device()),
            empty(Dims{channels}, compute, input.device())};
  Reduced r =
      run_reduction(reduce_fns(ReduceOp::Moments, input.dtype()), input, other_dims(input), false);
  const Moments* m = static_cast<const Moments*>(r.acc);
  std::vector<double> scale = doubles(weight, channels, 1), shift = doubles(bias, channels, 0),
                      mean(static_cast<size_t>(channels)), var(static_cast<size_t>(channels));
  for (size_t c = 0; c < size_t(channels); c++) {
    mean[c] = m[c].mean;
    var[c] = m[c].n ? m[c].m2 / m[c].n : NAN;
    scale[c] /= std::sqrt(var[c] + eps);
    shift[c] -= mean[c] * scale[c];
  }
  return {apply_affine(input, scale, shift), from_doubles(mean.data(), Dims{channels}, compute),
          from_doubles(var.data(), Dims{channels}, compute)};
}

Tensor _batch_norm_backward(const Tensor& grad, const Tensor& input, const OptTensor& weight,
                            const Tensor& mean, const Tensor& var, double eps) {
  const char* op = "batch_norm_backward";
  check_floating(op, input);
  check_rank(op, "input", input, 2, 64);
  check_shape(op, "grad_output", grad, input.sizes());
  check_count(op, "weight", weight, input.sizes()[1]);
  check_count(op, "mean", mean, input.sizes()[1]);
  check_count(op, "var", var, input.sizes()[1]);
  if (input.is_meta() || input.numel() == 0)
    return empty(input.sizes(), input.dtype(), input.device());
  const DType compute = info(input.dtype()).compute;
  Channels x(input, compute), g(grad, compute, x.format);
  std::vector<double> m = doubles(mean, x.count, 0), a = doubles(weight, x.count, 1), b(m.size()),
                      c(m.size()), v = doubles(var, x.count, 0);
  LongWork guard(input.numel() > (1 << 16));
  ChannelSums sums = channel_sums(g, x, m);
  const double n = double(input.numel() / x.count);
  for (size_t i = 0; i < m.size(); i++) {
    const double rstd2 = 1 / (v[i] + eps);
    a[i] *= std::sqrt(rstd2);
    b[i] = -a[i] * rstd2 * sums.product[i] / n;
    c[i] = sums.sum[i] / n;
  }
  Tensor out = flambeau::empty(input.sizes(), compute, Device{}, x.format);
  const NormFns& f = norm_fns(compute);
  const int64_t line = x.columns() ? x.count : x.inner, width = x.data.itemsize();
  parallel_for(x.rows, std::max<int64_t>(1, 16384 / line), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * line * width;
    char* to = out.bytes() + at;
    const char *gp = g.data.bytes() + at, *xp = x.data.bytes() + at;
    if (x.columns())
      f.input_columns(to, gp, xp, a.data(), b.data(), c.data(), m.data(), end - begin, x.count);
    else
      f.input_rows(to, gp, xp, a.data(), b.data(), c.data(), m.data(), begin, end - begin, line,
                   x.count);
  });
  return cast_of(out, input.dtype());
}

Tensor _channel_products(const Tensor& grad, const Tensor& input, const Tensor& mean) {
  check_floating("batch_norm_backward", input);
  check_rank("batch_norm_backward", "input", input, 2, 64);
  check_shape("batch_norm_backward", "grad_output", grad, input.sizes());
  check_count("batch_norm_backward", "mean", mean, input.sizes()[1]);
  const DType compute = info(input.dtype()).compute;
  const int64_t channels = input.sizes()[1];
  if (input.is_meta()) return empty(Dims{channels}, compute, input.device());
  Channels x(input, compute), g(grad, compute, x.format);
  if (input.numel() == 0)
    return from_doubles(std::vector<double>(size_t(channels), 0.0).data(), Dims{channels}, compute);
  ChannelSums sums = channel_sums(g, x, doubles(mean, channels, 0));
  return from_doubles(sums.product.data(), Dims{channels}, compute);
}

Tensor _channel_affine(const Tensor& self, const Tensor& scale, const Tensor& shift) {
  check_floating("batch_norm", self);
  check_rank("batch_norm", "input", self, 2, 64);
  check_count("batch_norm", "scale", scale, self.sizes()[1]);
  check_count("batch_norm", "shift", shift, self.sizes()[1]);
  if (self.is_meta()) return empty(self.sizes(), self.dtype(), self.device());
  return apply_affine(self, doubles(scale, self.sizes()[1], 1), doubles(shift, self.sizes()[1], 0));
}

Tensor _group_norm_weight(const Tensor& grad, const Tensor& input, const Tensor& mean,
                          const Tensor& rstd) {
  const char* op = "group_norm_backward";
  check_floating(op, input);
  check_rank(op, "input", input, 2, 64);
  check_shape(op, "grad_output", grad, input.sizes());
  check_rank(op, "mean", mean, 2, 2);
  check_shape(op, "rstd", rstd, mean.sizes());
  const DType compute = info(input.dtype()).compute;
  const int64_t samples = input.sizes()[0], channels = input.sizes()[1];
  check(mean.sizes()[0] == samples && mean.sizes()[1] > 0 && channels % mean.sizes()[1] == 0, op,
        ": statistics of shape ", mean.sizes(), " do not fit input of shape ", input.sizes());
  if (input.is_meta()) return empty(Dims{channels}, compute, input.device());
  std::vector<double> dw(size_t(channels), 0.0);
  if (input.numel()) {
    Tensor g = cast_of(contiguous_of(grad), compute), x = cast_of(contiguous_of(input), compute);
    const int64_t groups = mean.sizes()[1], inner = x.numel() / (samples * channels),
                  width = x.itemsize();
    std::vector<double> m = doubles(mean, samples * groups, 0),
                        r = doubles(rstd, samples * groups, 0);
    const NormFns& f = norm_fns(compute);
    parallel_for(channels, std::max<int64_t>(1, 16384 / (samples * inner)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t c = begin; c < end; c++)
                     for (int64_t s = 0; s < samples; s++) {
                       const size_t group = size_t(s * groups + c / (channels / groups));
                       const int64_t at = (s * channels + c) * inner * width;
                       double sum = 0, product = 0;
                       f.sums_row(&sum, &product, g.bytes() + at, x.bytes() + at, m[group], inner);
                       dw[size_t(c)] += product * r[group];
                     }
                 });
  }
  return from_doubles(dw.data(), Dims{channels}, compute);
}

std::tuple<Tensor, Tensor, Tensor> _group_norm(const Tensor& input, int64_t groups,
                                               const OptTensor& weight, const OptTensor& bias,
                                               double eps) {
  check_floating("GroupNormKernelImpl", input);
  check_rank("group_norm", "input", input, 2, 64);
  check(groups > 0 && input.sizes()[1] % groups == 0, "group_norm: ", groups,
        " groups do not divide the channels of input of shape ", input.sizes());
  check_count("group_norm", "weight", weight, input.sizes()[1]);
  check_count("group_norm", "bias", bias, input.sizes()[1]);
  const int64_t samples = input.sizes()[0], channels = input.sizes()[1];
  const DType compute = info(input.dtype()).compute;
  if (input.is_meta())
    return {empty(input.sizes(), input.dtype(), input.device()),
            empty(Dims{samples, groups}, compute, input.device()),
            empty(Dims{samples, groups}, compute, input.device())};
  Tensor x = contiguous_of(input);
  const int64_t n = samples ? input.numel() / (samples * groups) : 0;
  Reduced r =
      run_reduction(reduce_fns(ReduceOp::Moments, x.dtype()),
                    alias(x, Dims{samples * groups, n}, Dims{n, 1}, x.offset()), Dims{1}, false);
  const Moments* m = static_cast<const Moments*>(r.acc);
  std::vector<double> w = doubles(weight, channels, 1), b = doubles(bias, channels, 0);
  std::vector<double> scale(static_cast<size_t>(samples * channels)), shift(scale.size()),
      mean(static_cast<size_t>(samples * groups)), rstd(mean.size());
  for (int64_t s = 0; s < samples * groups; s++) {
    mean[size_t(s)] = m[s].mean;
    rstd[size_t(s)] = m[s].n ? 1 / std::sqrt(m[s].m2 / m[s].n + eps) : NAN;
  }
  for (int64_t k = 0; k < samples * channels; k++) {
    const size_t s = size_t(k / (channels / groups)), c = size_t(k % channels);
    scale[size_t(k)] = w[c] * rstd[s];
    shift[size_t(k)] = b[c] - mean[s] * scale[size_t(k)];
  }
  Tensor out = x;
  if (x.numel()) {  // as one sample of samples * channels channels
    const int64_t inner = x.numel() / (samples * channels);
    Tensor flat = apply_affine(
        alias(x, Dims{1, samples * channels, inner}, Dims{x.numel(), inner, 1}, x.offset()), scale,
        shift);
    out = alias(flat, input.sizes(), contiguous_strides(input.sizes()), flat.offset());
  } else {
    out = empty(input.sizes(), input.dtype());
  }
  return {out, from_doubles(mean.data(), Dims{samples, groups}, compute),
          from_doubles(rstd.data(), Dims{samples, groups}, compute)};
}

}  // namespace flambeau::kernels
