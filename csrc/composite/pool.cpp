// Public pooling operators: checks, and the way from 1, 2 or 3 dimensions to the kernels' five.
#include "kernels/pool.h"
#include "autograd/formulas_pool.h"
#include "autograd/node.h"
#include "kernels/checks.h"
#include "ops/all.h"

namespace flambeau {
namespace ops {
namespace {

Tensor to_five(const Tensor& x, int64_t rank) {
  Tensor t = x.dim() == rank + 1 ? unsqueeze(x, 0) : x;
  for (int64_t d = rank; d < 3; d++) t = unsqueeze(t, 2);
  return t;
}
Tensor from_five(Tensor t, const Tensor& like, int64_t rank) {
  for (int64_t d = rank; d < 3; d++) t = squeeze_dim(t, 2);
  return like.dim() == rank + 1 ? squeeze_dim(t, 0) : t;
}
Dims to_three(const Dims& v, int64_t fill) {
  Dims out = v;
  while (out.size() < 3) out.insert(0, fill);
  return out;
}

void check_input(const char* op, const Tensor& x, int64_t rank) {
  check(x.dim() == rank + 1 || x.dim() == rank + 2, op, rank, "d() Expected ", rank + 1, "D or ",
        rank + 2, "D input tensor, but got ", x.sizes());
  for (int64_t d = x.dim() - rank - 1; d < x.dim(); d++)
    check(
        x.sizes()[size_t(d)] > 0, op, rank,
        "d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
        x.sizes(), " with dimension ", d, " being empty");
}

struct Window {
  Dims kernel, stride, padding, dilation;
};
Window window(const char* op, const Tensor& x, int64_t rank, const Dims& kernel,
              const std::optional<Dims>& stride, const Dims& padding, const Dims& dilation,
              bool ceil_mode) {
  check_input(op, x, rank);
  Window w{kernel, stride && !stride->empty() ? *stride : kernel, padding, dilation};
  for (size_t d = 0; d < size_t(rank); d++) {
    for (auto* v : {&w.kernel, &w.stride, &w.padding, &w.dilation})
      check((*v)[d] <= kLargestStep, op, rank, "d: integer out of range: ", *v);
    check(w.kernel[d] > 0, op, rank, "d: kernel size should be greater than zero, but got ",
          w.kernel);
    check(w.stride[d] > 0, "stride should not be zero (", op, rank, "d), got ", w.stride);
    check(w.dilation[d] > 0, op, rank, "d: dilation should be greater than zero, but got ",
          w.dilation);
    check(w.padding[d] >= 0, op, rank, "d: padding must be non-negative, but got ", w.padding);
    check(w.padding[d] <= ((w.kernel[d] - 1) * w.dilation[d] + 1) / 2,
          "pad should be at most half of effective kernel size, but got pad=", w.padding[d],
          ", kernel_size=", w.kernel[d], " and dilation=", w.dilation[d]);
    int64_t n = x.sizes()[size_t(x.dim() - rank) + d];
    int64_t out = pooled_size(n, w.kernel[d], w.stride[d], w.padding[d], w.dilation[d], ceil_mode);
    check(out >= 1, "Given input size: ", x.sizes(), ". Calculated output size in dimension ", d,
          ": ", out, ". Output size is too small (", op, rank, "d)");
  }
  return w;
}

std::tuple<Tensor, Tensor> max_pool(int64_t rank, const Tensor& x, const Dims& kernel,
                                    const std::optional<Dims>& stride, const Dims& padding,
                                    const Dims& dilation, bool ceil_mode) {
  Window w = window("max_pool", x, rank, kernel, stride, padding, dilation, ceil_mode);
  auto [out, at] = _max_pool(to_five(x, rank), to_three(w.kernel, 1), to_three(w.stride, 1),
                             to_three(w.padding, 0), to_three(w.dilation, 1), ceil_mode);
  return {from_five(out, x, rank), from_five(at, x, rank)};
}

Tensor max_pool_values(int64_t rank, const Tensor& x, const Dims& kernel,
                       const std::optional<Dims>& stride, const Dims& padding, const Dims& dilation,
                       bool ceil_mode) {
  if (any_wants_grad(x))  // the positions are what the gradient needs
    return std::get<0>(max_pool(rank, x, kernel, stride, padding, dilation, ceil_mode));
  Window w = window("max_pool", x, rank, kernel, stride, padding, dilation, ceil_mode);
  return from_five(_max_pool_values(to_five(x, rank), to_three(w.kernel, 1), to_three(w.stride, 1),
                                    to_three(w.padding, 0), to_three(w.dilation, 1), ceil_mode),
                   x, rank);
}

Tensor avg_pool(int64_t rank, const Tensor& x, const Dims& kernel,
                const std::optional<Dims>& stride, const Dims& padding, bool ceil_mode,
                bool include_pad, std::optional<int64_t> divisor) {
  Window w = window("avg_pool", x, rank, kernel, stride, padding, Dims(size_t(rank), 1), ceil_mode);
  check(!divisor || *divisor != 0, "divisor must be not zero");
  return from_five(_avg_pool(to_five(x, rank), to_three(w.kernel, 1), to_three(w.stride, 1),
                             to_three(w.padding, 0), ceil_mode, include_pad, divisor.value_or(0)),
                   x, rank);
}

void check_adaptive(const char* op, const Tensor& x, int64_t rank, const Dims& size) {
  check_input(op, x, rank);
  for (int64_t s : size)
    check(s >= 0, op, rank,
          "d: elements of output_size must be greater than or equal to 0 but received ", size);
}

}  // namespace

// UNCAST: what autocast puts its casts in front of.
#define FLAMBEAU_POOL(N, UNCAST, DIVISOR_PARAM, DIVISOR)                                \
  std::tuple<Tensor, Tensor> max_pool##N##d_with_indices(                               \
      const Tensor& self, const Dims& kernel, const std::optional<Dims>& stride,        \
      const Dims& padding, const Dims& dilation, bool ceil_mode) {                      \
    return max_pool(N, self, kernel, stride, padding, dilation, ceil_mode);             \
  }                                                                                     \
  Tensor max_pool##N##d##UNCAST(const Tensor& self, const Dims& kernel,                 \
                                const std::optional<Dims>& stride, const Dims& padding, \
                                const Dims& dilation, bool ceil_mode) {                 \
    return max_pool_values(N, self, kernel, stride, padding, dilation, ceil_mode);      \
  }                                                                                     \
  Tensor avg_pool##N##d##UNCAST(const Tensor& self, const Dims& kernel,                 \
                                const std::optional<Dims>& stride, const Dims& padding, \
                                bool ceil_mode, bool include_pad DIVISOR_PARAM) {       \
    return avg_pool(N, self, kernel, stride, padding, ceil_mode, include_pad, DIVISOR); \
  }                                                                                     \
  Tensor adaptive_avg_pool##N##d##UNCAST(const Tensor& self, const Dims& size) {        \
    check_adaptive("adaptive_avg_pool", self, N, size);                                 \
    return from_five(_adaptive_avg_pool(to_five(self, N), to_three(size, 1)), self, N); \
  }                                                                                     \
  std::tuple<Tensor, Tensor> adaptive_max_pool##N##d##UNCAST(const Tensor& self,        \
                                                             const Dims& size) {        \
    check_adaptive("adaptive_max_pool", self, N, size);                                 \
    auto [out, at] = _adaptive_max_pool(to_five(self, N), to_three(size, 1));           \
    return {from_five(out, self, N), from_five(at, self, N)};                           \
  }
#define FLAMBEAU_COMMA ,
FLAMBEAU_POOL(1, , , std::nullopt)
FLAMBEAU_POOL(2, , FLAMBEAU_COMMA std::optional<int64_t> divisor, divisor)
FLAMBEAU_POOL(3, _uncast, FLAMBEAU_COMMA std::optional<int64_t> divisor, divisor)
#undef FLAMBEAU_COMMA
#undef FLAMBEAU_POOL

namespace {

std::tuple<Tensor, Tensor> fractional_max_pool(int64_t rank, const Tensor& x, const Dims& kernel,
                                               const Dims& output, const Tensor& samples) {
  static const char* names[] = {"time", "height", "width"};
  check_input("fractional_max_pool", x, rank);
  const bool batched = x.dim() == rank + 2;
  const int64_t n = batched ? x.size(0) : 1, channels = x.size(-rank - 1);
  check(x.dtype() == samples.dtype(), "Expect _random_samples to have the same dtype as input");
  check(samples.dim() == 3, "Expect _random_samples to have 3 dimensions; got ", samples.dim());
  check(samples.size(0) >= n, "Expect _random_samples.size(0) no less than input batch size.");
  check(samples.size(1) == channels,
        "Expect _random_samples.size(1) equals to input channel size.");
  check(samples.size(2) == rank, "Expect _random_samples.size(2) equals to ", rank, "; got ",
        samples.size(2), ".");
  for (int64_t d = 0; d < rank; d++) {
    const int64_t in = x.size(d - rank), k = kernel[size_t(d)], out = output[size_t(d)];
    check(k > 0 && out >= 0, "fractional_max_pool", rank,
          "d(): kernel_size must be positive and output_size not negative, but got kernel_size=",
          kernel, " and output_size=", output);
    check(out + k - 1 <= in, "fractional_max_pool", rank, "d(): pool ", names[3 - rank + d], " ", k,
          " too large relative to input ", names[3 - rank + d], " ", in);
  }
  // of planes, the first sample is for the width
  Tensor r = narrow(samples, 0, 0, n);
  if (rank == 2) r = constant_pad_nd(flip(r, Dims{2}), Dims{1, 0}, 0);
  auto [out, at] =
      _fractional_max_pool(to_five(x, rank), to_three(kernel, 1), to_three(output, 1), r);
  return {from_five(out, x, rank), from_five(at, x, rank)};
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d_uncast(const Tensor& self, const Dims& kernel,
                                                        const Dims& output, const Tensor& samples) {
  return fractional_max_pool(2, self, kernel, output, samples);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d_uncast(const Tensor& self, const Dims& kernel,
                                                        const Dims& output, const Tensor& samples) {
  return fractional_max_pool(3, self, kernel, output, samples);
}

}  // namespace ops

namespace formulas {
using namespace ops;

Tensor take_in_plane(const Tensor& t, const Tensor& at) {
  const Dims& s = t.sizes();
  return reshape(
      gather(reshape(t, Dims{s[0], s[1], s[2] * s[3] * s[4]}), 2,
             reshape(at, Dims{s[0], s[1], at.numel() / std::max<int64_t>(s[0] * s[1], 1)}), false),
      at.sizes());
}
Tensor cut_to(const Tensor& t, const Dims& sizes) {
  Tensor out = t;
  for (size_t d = 0; d < sizes.size(); d++)
    if (out.sizes()[d] != sizes[d]) out = narrow(out, int64_t(d), 0, sizes[d]);
  return out;
}
Dims inner_sizes(const Dims& sizes) { return {sizes[2], sizes[3], sizes[4]}; }

}  // namespace formulas
}  // namespace flambeau
