// Public convolutions: argument checks, unbatched inputs, string padding, bias.
#include <algorithm>

#include "autograd/node.h"
#include "kernels/checks.h"
#include "ops/all.h"

namespace flambeau::ops {
namespace {

Tensor add_bias(const Tensor& out, const OptTensor& bias) {
  if (!bias) return out;
  Dims shape(size_t(out.dim()), 1);
  shape[1] = bias->numel();
  return add(out, reshape(*bias, shape), 1);
}

struct Call {
  const char* name;
  int64_t rank;
  bool transposed;
};

void check_conv(const Call& c, const Tensor& x, const Tensor& w, const OptTensor& bias,
                const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups) {
  check(w.dim() == c.rank + 2, c.name, ": expected ", c.rank + 2,
        "-dimensional weight, but got weight of size ", w.sizes());
  check(groups > 0, c.name, ": non-positive groups is not supported, got ", groups);
  for (int64_t d = 0; d < c.rank; d++) {
    check(padding[size_t(d)] >= 0, c.name, ": negative padding is not supported, got ", padding);
    for (auto* v : {&stride, &padding, &dilation})
      check((*v)[size_t(d)] <= kLargestStep, c.name, ": integer out of range: ", *v);
    check(stride[size_t(d)] > 0, c.name, ": non-positive stride is not supported, got ", stride);
    check(dilation[size_t(d)] > 0, c.name, ": dilation should be greater than zero, got ",
          dilation);
  }
  const int64_t channels = x.sizes()[1];
  check(w.sizes()[0] >= groups, "Given groups=", groups, ", expected weight to be at least ",
        groups, " at dimension 0, but got weight of size ", w.sizes(), " instead (", c.name, ")");
  check(w.sizes()[0] % groups == 0, "Given groups=", groups,
        ", expected weight to be divisible by ", groups, " at dimension 0, but got weight of size ",
        w.sizes(), " instead (", c.name, ")");
  if (c.transposed) {
    check(channels == w.sizes()[0], "Given transposed=1, weight of size ", w.sizes(),
          ", expected input", x.sizes(), " to have ", w.sizes()[0], " channels, but got ", channels,
          " channels instead");
  } else {
    check(w.sizes()[1] * groups == channels, "Given groups=", groups, ", weight of size ",
          w.sizes(), ", expected input", x.sizes(), " to have ", w.sizes()[1] * groups,
          " channels, but got ", channels, " channels instead");
  }
  if (bias) {
    int64_t outputs = c.transposed ? w.sizes()[1] * groups : w.sizes()[0];
    check(bias->dim() == 1 && bias->numel() == outputs, "Given ",
          c.transposed ? "transposed=1, " : "", "weight of size ", w.sizes(),
          ", expected bias to be 1-dimensional with ", outputs, " elements, but got bias of size ",
          bias->sizes(), " instead");
  }
  for (int64_t d = 0; d < c.rank; d++) {
    check(w.sizes()[size_t(d) + 2] > 0, c.name,
          ": kernel size should be greater than zero, but got weight of size ", w.sizes());
    if (c.transposed) continue;
    int64_t have = x.sizes()[size_t(d) + 2] + 2 * padding[size_t(d)],
            need = dilation[size_t(d)] * (w.sizes()[size_t(d) + 2] - 1) + 1;
    check(have >= need, "Calculated padded input size per channel: (", have, "). Kernel size: (",
          need, "). Kernel size can't be greater than actual input size (dimension ", d + 2,
          " of input ", x.sizes(), ")");
  }
}

Tensor forward(const Tensor& x, const Tensor& w, const OptTensor& bias, const Dims& stride,
               const Dims& padding, const Dims& dilation, int64_t groups) {
  if (!x.is_complex()) return conv_forward(x, w, bias, stride, padding, dilation, groups);
  auto part = [&](const Tensor& a, const Tensor& b) {
    return conv_forward(a, b, std::nullopt, stride, padding, dilation, groups);
  };
  Tensor xr = real(x), xi = imag(x), wr = real(w), wi = imag(w);
  return add_bias(complex(part(xr, wr) - part(xi, wi), part(xr, wi) + part(xi, wr)), bias);
}
Tensor backward_data(const Tensor& y, const Tensor& w, const Dims& size, const Dims& stride,
                     const Dims& padding, const Dims& dilation, int64_t groups) {
  if (!y.is_complex()) return conv_input_grad(y, w, size, stride, padding, dilation, groups);
  auto part = [&](const Tensor& a, const Tensor& b) {
    return conv_input_grad(a, b, size, stride, padding, dilation, groups);
  };
  Tensor yr = real(y), yi = imag(y), wr = real(w), wi = imag(w);
  return complex(part(yr, wr) - part(yi, wi), part(yr, wi) + part(yi, wr));
}

Tensor run(const Call& c, const Tensor& input, const Tensor& weight, const OptTensor& bias,
           const Dims& stride, const Dims& padding, const Dims& dilation,
           const Dims& output_padding, int64_t groups) {
  bool unbatched = input.dim() == c.rank + 1;
  check(unbatched || input.dim() == c.rank + 2, "Expected ", c.rank + 1, "D (unbatched) or ",
        c.rank + 2, "D (batched) input to ", c.name, ", but got input of size: ", input.sizes());
  Tensor x = unbatched ? unsqueeze(input, 0) : input;
  check(x.dtype() == weight.dtype(), "Input type (", x.dtype(), ") and weight type (",
        weight.dtype(), ") should be the same (", c.name, ")");
  if (bias)
    check(bias->dtype() == weight.dtype(), "Input type (", x.dtype(), ") and bias type (",
          bias->dtype(), ") should be the same (", c.name, ")");
  check_conv(c, x, weight, bias, stride, padding, dilation, groups);
  NodeMark mark;
  Tensor out;
  if (!c.transposed) {
    out = forward(x, weight, bias, stride, padding, dilation, groups);
  } else {
    Dims size{x.sizes()[0], weight.sizes()[1] * groups};
    for (int64_t d = 0; d < c.rank; d++) {
      size_t i = size_t(d);
      check(output_padding[i] >= 0, c.name, ": negative output_padding is not supported, got ",
            output_padding);
      check(
          (output_padding[i] < stride[i] || output_padding[i] < dilation[i]),
          "output padding must be smaller than either stride or dilation, but got output_padding ",
          output_padding, ", stride ", stride, ", dilation ", dilation);
      int64_t n = (x.sizes()[i + 2] - 1) * stride[i] - 2 * padding[i] +
                  dilation[i] * (weight.sizes()[i + 2] - 1) + output_padding[i] + 1;
      check(n > 0, c.name, ": the output would have size ", n, " in dimension ", d + 2,
            " for input ", x.sizes());
      size.push_back(n);
    }
    out = add_bias(backward_data(x, weight, size, stride, padding, dilation, groups), bias);
  }
  mark.named(out, "ConvolutionBackward0");
  return unbatched ? squeeze_dim(out, 0) : out;
}

Tensor with_text_padding(const Call& c, const Tensor& input, const Tensor& weight,
                         const OptTensor& bias, const Dims& stride, const std::string& padding,
                         const Dims& dilation, int64_t groups) {
  size_t rank = size_t(c.rank);
  if (padding == "valid")
    return run(c, input, weight, bias, stride, Dims(rank, 0), dilation, Dims(rank, 0), groups);
  check(padding == "same", "Invalid padding string: '", padding, "' (", c.name,
        " knows 'same' and 'valid')");
  check(weight.dim() == c.rank + 2, c.name, ": expected ", c.rank + 2,
        "-dimensional weight, but got weight of size ", weight.sizes());
  Dims both(rank, 0), extra;
  bool even = true;
  for (size_t d = 0; d < rank; d++)
    check(stride[d] == 1, "padding='same' is not supported for strided convolutions");
  for (size_t d = rank; d-- > 0;) {
    int64_t total = dilation[d] * (weight.sizes()[d + 2] - 1);
    both[d] = total / 2;
    extra.push_back(0);
    extra.push_back(total % 2);
    even &= total % 2 == 0;
  }
  // an odd total puts the larger half at the end
  Tensor x = even ? input : constant_pad_nd(input, extra, 0);
  return run(c, x, weight, bias, stride, both, dilation, Dims(rank, 0), groups);
}

}  // namespace

Tensor convolution(const Tensor& self, const Tensor& weight, const OptTensor& bias,
                   const Dims& stride, const Dims& padding, const Dims& dilation, bool transposed,
                   const Dims& output_padding, int64_t groups) {
  int64_t rank = weight.dim() - 2;
  check(rank >= 1 && rank <= 3, "convolution: weight should have 3 to 5 dimensions, got shape ",
        weight.sizes());
  auto full = [&](const Dims& d) { return d.size() == 1 ? Dims(size_t(rank), d[0]) : d; };
  for (auto* d : {&stride, &padding, &dilation, &output_padding})
    check(int64_t(full(*d).size()) == rank, "convolution: expected ", rank, " values, got ", *d);
  return run({"convolution", rank, transposed}, self, weight, bias, full(stride), full(padding),
             full(dilation), full(output_padding), groups);
}

#define FLAMBEAU_CONV(N)                                                                          \
  Tensor conv##N##d_uncast(const Tensor& self, const Tensor& weight, const OptTensor& bias,       \
                           const Dims& stride, const Dims& padding, const Dims& dilation,         \
                           int64_t groups) {                                                      \
    return run({"conv" #N "d", N, false}, self, weight, bias, stride, padding, dilation,          \
               Dims(N, 0), groups);                                                               \
  }                                                                                               \
  Tensor conv##N##d_padding_uncast(                                                               \
      const Tensor& self, const Tensor& weight, const OptTensor& bias, const Dims& stride,        \
      const std::string& padding, const Dims& dilation, int64_t groups) {                         \
    return with_text_padding({"conv" #N "d", N, false}, self, weight, bias, stride, padding,      \
                             dilation, groups);                                                   \
  }                                                                                               \
  Tensor conv_transpose##N##d_uncast(                                                             \
      const Tensor& self, const Tensor& weight, const OptTensor& bias, const Dims& stride,        \
      const Dims& padding, const Dims& output_padding, int64_t groups, const Dims& dilation) {    \
    return run({"conv_transpose" #N "d", N, true}, self, weight, bias, stride, padding, dilation, \
               output_padding, groups);                                                           \
  }
FLAMBEAU_CONV(1)
FLAMBEAU_CONV(2)
FLAMBEAU_CONV(3)
#undef FLAMBEAU_CONV

}  // namespace flambeau::ops
