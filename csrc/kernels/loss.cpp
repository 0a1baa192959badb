// Losses of class numbers: negative log-likelihood, and cross entropy fused with softmax.
#include <atomic>
#include <vector>

#include "kernels/checks.h"
#include "kernels/pointwise.h"
#include "kernels/reduce.h"
#include "kernels/rows.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

constexpr int kNone = 0, kMean = 1;

// Input as samples x classes x inner, and class numbers samples x inner.
struct Classes {
  int64_t samples, classes, inner;
  Dims losses;  // shape without reduction
  Tensor target;
  std::vector<double> weight;  // empty: all 1
  int64_t ignored;

  Classes(const char* op, IntSpan sizes, const Tensor& t, const OptTensor& w, int64_t ignore_index)
      : ignored(ignore_index) {
    check(!sizes.empty(), op, ": input tensor should be 1D or 2D");
    check_sizes(op, "input", sizes);
    const bool single = sizes.size() == 1;
    classes = sizes[single ? 0 : 1];
    samples = single ? 1 : sizes[0];
    inner = 1;
    if (!single) losses.push_back(sizes[0]);
    for (size_t d = 2; d < sizes.size(); d++) {
      losses.push_back(sizes[d]);
      inner *= sizes[d];
    }
    check(!single || t.dim() == 0, "size mismatch (got input: ", Dims(sizes),
          ", target: ", t.sizes(), ") (", op, ")");
    if (!equal(t.sizes(), losses)) {
      const int64_t given = t.dim() ? t.sizes()[0] : 0;
      check<ValueError>(!single && t.dim() > 0 && given == samples, "Expected input batch_size (",
                        samples, ") to match target batch_size (", given, ").");
      fail("Expected target size ", losses, ", got ", t.sizes());
    }
    check(t.dtype() == DType::Int64 || t.dtype() == DType::UInt8,
          "expected target dtype to be Long or Byte, but got ", t.dtype(), " (", op,
          "); convert it with .long()");
    if (w)
      check(w->dim() == 1 && w->numel() == classes,
            "weight tensor should be defined either for all ", classes,
            " classes or no classes but got weight tensor of shape: ", w->sizes());
    if (t.is_meta()) return;
    target = cast_of(contiguous_of(t), DType::Int64);
    if (w) {
      weight.resize(size_t(classes));
      convert_elements(weight.data(), DType::Float64, contiguous_of(*w).bytes(), w->dtype(),
                       classes);
    }
    const int64_t* p = target.data<int64_t>();
    for (int64_t i = 0; i < target.numel(); i++)
      if ((p[i] < 0 || p[i] >= classes) && p[i] != ignored) [[unlikely]]
        fail<IndexError>("Target ", p[i], " is out of bounds. (element ", i, " of target; ", op,
                         " has classes 0 to ", classes - 1, ")");
  }
  const int64_t* targets() const { return target.data<int64_t>(); }
  int64_t count() const { return samples * inner; }
  double weight_of(int64_t c) const {
    return c == ignored ? 0 : weight.empty() ? 1 : weight[size_t(c)];
  }
  double total() const {
    double sum = 0;
    for (int64_t i = 0; i < count(); i++) sum += weight_of(targets()[i]);
    return sum;
  }
};

Tensor scalar_of(double v, DType dtype) {
  Tensor t = empty(Dims{}, dtype);
  convert_elements(t.bytes(), dtype, &v, DType::Float64, 1);
  return t;
}

double value_of(const Tensor& t) {
  double v;
  convert_elements(&v, DType::Float64, t.bytes(), t.dtype(), 1);
  return v;
}

// Weighted losses as a result of the given reduction.
Tensor reduce_losses(const Classes& c, const double* losses, int64_t reduction, double total,
                     DType dtype) {
  if (reduction == kNone) {
    Tensor out = empty(c.losses, dtype);
    convert_elements(out.bytes(), dtype, losses, DType::Float64, c.count());
    return out;
  }
  double sum = 0;
  reduce_fns(ReduceOp::Sum, DType::Float64).rows(&sum, losses, 1, c.count(), 0);
  return scalar_of(reduction == kMean ? sum / total : sum, dtype);
}

// The factor of each loss: weight times incoming gradient.
std::vector<double> loss_factors(const Classes& c, const Tensor& grad, int64_t reduction,
                                 const Tensor& total) {
  check_shape("nll_loss_backward", "grad_output", grad, reduction == kNone ? c.losses : Dims{});
  check_count("nll_loss_backward", "total_weight", total, 1);
  std::vector<double> f(size_t(c.count()));
  Tensor g = contiguous_of(grad);
  if (reduction == kNone) {
    convert_elements(f.data(), DType::Float64, g.bytes(), g.dtype(), c.count());
    for (int64_t i = 0; i < c.count(); i++)
      f[size_t(i)] = c.targets()[i] == c.ignored ? 0 : f[size_t(i)] * c.weight_of(c.targets()[i]);
    return f;
  }
  const double scale = value_of(g) / (reduction == kMean ? value_of(total) : 1);
  for (int64_t i = 0; i < c.count(); i++)
    f[size_t(i)] = c.targets()[i] == c.ignored ? 0 : scale * c.weight_of(c.targets()[i]);
  return f;
}

}  // namespace

std::tuple<Tensor, Tensor> _nll_loss(const Tensor& self, const Tensor& target,
                                     const OptTensor& weight, int64_t reduction,
                                     int64_t ignore_index) {
  check<NotImplementedError>(self.is_floating(), "\"nll_loss_out_frame\" not implemented for '",
                             info(self.dtype()).name, "'");
  Classes c("nll_loss", self.sizes(), target, weight, ignore_index);
  const DType dtype = self.dtype();
  if (self.is_meta())
    return {empty(reduction == kNone ? c.losses : Dims{}, dtype, self.device()),
            empty(Dims{}, dtype, self.device())};
  Tensor x = contiguous_of(self);
  std::vector<double> losses(size_t(c.count()));
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, half_t> ||
                  std::is_same_v<T, bfloat16_t>)
      for (int64_t i = 0; i < c.count(); i++) {
        const int64_t t = c.targets()[i],
                      at = (i / c.inner * c.classes + t) * c.inner + i % c.inner;
        if (t == c.ignored)
          losses[size_t(i)] = 0;
        else if constexpr (std::is_floating_point_v<T>)
          losses[size_t(i)] = -double(x.data<T>()[at]) * c.weight_of(t);
        else
          losses[size_t(i)] = -double(float(x.data<T>()[at])) * c.weight_of(t);
      }
  });
  const double total = c.total();
  return {reduce_losses(c, losses.data(), reduction, total, dtype),
          scalar_of(total, info(dtype).compute)};
}

Tensor _nll_loss_backward(const Tensor& grad, const Dims& size, const Tensor& target,
                          const OptTensor& weight, int64_t reduction, int64_t ignore_index,
                          const Tensor& total_weight) {
  Classes c("nll_loss", size, target, weight, ignore_index);
  Tensor out = empty(size, grad.dtype(), grad.device());
  if (out.is_meta()) return out;
  fill_kernel(out, 0);
  std::vector<double> f = loss_factors(c, grad, reduction, total_weight);
  visit(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, half_t> ||
                  std::is_same_v<T, bfloat16_t>)
      for (int64_t i = 0; i < c.count(); i++) {
        const int64_t t = c.targets()[i];
        if (t == c.ignored) continue;
        if constexpr (std::is_floating_point_v<T>)
          out.data<T>()[(i / c.inner * c.classes + t) * c.inner + i % c.inner] = T(-f[size_t(i)]);
        else
          out.data<T>()[(i / c.inner * c.classes + t) * c.inner + i % c.inner] =
              T(float(-f[size_t(i)]));
      }
  });
  return out;
}

std::tuple<Tensor, Tensor, Tensor> _cross_entropy(const Tensor& self, const Tensor& target,
                                                  const OptTensor& weight, int64_t reduction,
                                                  int64_t ignore_index) {
  check<NotImplementedError>(self.is_floating(),
                             "\"log_softmax_lastdim_kernel_impl\" not implemented for '",
                             info(self.dtype()).name, "'");
  check_rank("cross_entropy", "input", self, 1, 2);
  Classes c("cross_entropy", self.sizes(), target, weight, ignore_index);
  const DType dtype = self.dtype(), compute = info(dtype).compute;
  if (self.is_meta())
    return {empty(reduction == kNone ? c.losses : Dims{}, dtype, self.device()),
            empty(Dims{}, compute, self.device()), empty(Dims{c.count()}, compute, self.device())};
  Tensor x = cast_of(contiguous_of(self), compute), lse = empty(Dims{c.count()}, compute);
  const int64_t width = x.itemsize();
  std::vector<double> losses(size_t(c.count()));
  LongWork guard(x.numel() > (1 << 16));
  visit_float(compute, "cross_entropy", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = x.template data<T>();
    parallel_for(c.count(), std::max<int64_t>(1, 4096 / std::max<int64_t>(c.classes, 1)),
                 [&](int64_t begin, int64_t end) {
                   softmax_fns(compute).logsumexp(lse.bytes() + begin * width,
                                                  p + begin * c.classes, end - begin, c.classes);
                   for (int64_t i = begin; i < end; i++) {
                     const int64_t t = c.targets()[i];
                     losses[size_t(i)] = t == c.ignored
                                             ? 0
                                             : c.weight_of(t) * (double(lse.template data<T>()[i]) -
                                                                 double(p[i * c.classes + t]));
                   }
                 });
  });
  const double total = c.total();
  return {reduce_losses(c, losses.data(), reduction, total, dtype), scalar_of(total, compute), lse};
}

Tensor _cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                               const OptTensor& weight, int64_t reduction, int64_t ignore_index,
                               const Tensor& total_weight, const Tensor& logsumexp) {
  check_real_floating("cross_entropy_backward", "input", self);
  check_rank("cross_entropy_backward", "input", self, 1, 2);
  if (self.is_meta()) return empty(self.sizes(), self.dtype(), self.device());
  Classes c("cross_entropy", self.sizes(), target, weight, ignore_index);
  const DType compute = info(self.dtype()).compute;
  check_count("cross_entropy_backward", "logsumexp", logsumexp, c.count());
  const Tensor lse = cast_of(contiguous_of(logsumexp), compute);
  Tensor x = cast_of(contiguous_of(self), compute), out = empty(self.sizes(), compute);
  std::vector<double> f = loss_factors(c, grad, reduction, total_weight);
  const SoftmaxFns& fns = softmax_fns(compute);
  LongWork guard(x.numel() > (1 << 16));
  visit_float(compute, "cross_entropy", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(c.count(), std::max<int64_t>(1, 4096 / std::max<int64_t>(c.classes, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; i++) {
                     T* to = out.template data<T>() + i * c.classes;
                     const int64_t t = c.targets()[i];
                     if (t == c.ignored) {
                       std::fill(to, to + c.classes, T(0));
                       continue;
                     }
                     fns.exp_scaled(to, x.template data<T>() + i * c.classes, c.classes,
                                    double(lse.template data<T>()[i]), f[size_t(i)]);
                     to[t] = T(double(to[t]) - f[size_t(i)]);
                   }
                 });
  });
  return cast_of(out, self.dtype());
}

}  // namespace flambeau::kernels
