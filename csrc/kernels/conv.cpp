// The three passes of convolution: float32 by oneDNN where it has a kernel, everything else by gemm
// on unfolded input (im2col), for any rank up to three.
#include <algorithm>
#include <cstring>

#include "kernels/checks.h"
#include "kernels/conv_geometry.h"
#include "kernels/gemm.h"
#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

using Geometry = ConvGeometry;

Geometry geometry(const char* op, IntSpan input, IntSpan weight, IntSpan stride, IntSpan padding,
                  IntSpan dilation, int64_t groups) {
  check(input.size() >= 3 && input.size() <= 5 && weight.size() == input.size(), op,
        ": expected input and weight with the same number of dimensions, 3 to 5, but got shapes ",
        Dims(input), " and ", Dims(weight));
  check_sizes(op, "input", input);
  check_sizes(op, "weight", weight);
  check_steps(op, "stride", stride, input.size() - 2, 1);
  check_steps(op, "padding", padding, input.size() - 2, 0);
  check_steps(op, "dilation", dilation, input.size() - 2, 1);
  // weight.size(1) * groups == channels, written without overflow
  check(groups > 0 && input[1] % groups == 0 && input[1] / groups == weight[1] &&
            weight[0] % groups == 0,
        op, ": weight of shape ", Dims(weight), " and input of shape ", Dims(input), " do not fit ",
        groups, " groups");
  for (size_t d = 2; d < weight.size(); d++)
    check(weight[d] <= kLargestStep && input[d] <= kLargestStep, op,
          ": integer out of range in the shapes ", Dims(input), " and ", Dims(weight));
  Geometry g;
  size_t rank = input.size() - 2, lead = 3 - rank;
  g.batch = input[0];
  g.in_channels = input[1];
  g.out_channels = weight[0];
  g.groups = groups;
  for (size_t d = 0; d < 3; d++) {
    g.in[d] = g.kernel[d] = g.stride[d] = g.dilation[d] = 1;
    g.padding[d] = 0;
    if (d >= lead) {
      size_t k = d - lead;
      g.in[d] = input[k + 2];
      g.kernel[d] = weight[k + 2];
      g.stride[d] = stride[k];
      g.padding[d] = padding[k];
      g.dilation[d] = dilation[k];
    }
    g.out[d] =
        (g.in[d] + 2 * g.padding[d] - g.dilation[d] * (g.kernel[d] - 1) - 1) / g.stride[d] + 1;
    check(g.out[d] >= 0, op, ": kernel of shape ", Dims(weight), " does not fit input of shape ",
          Dims(input), " with padding ", Dims(padding));
  }
  return g;
}

Dims output_sizes(const Geometry& g, size_t rank) {
  Dims out{g.batch, g.out_channels};
  for (size_t d = 3 - rank; d < 3; d++) out.push_back(g.out[d]);
  return out;
}

// The outputs along one axis for which tap `k` reads inside the input: [begin, end).
void valid_range(const Geometry& g, int d, int64_t k, int64_t& begin, int64_t& end) {
  int64_t shift = k * g.dilation[d] - g.padding[d];  // input position of output 0
  begin = shift >= 0 ? 0 : (-shift + g.stride[d] - 1) / g.stride[d];
  int64_t last = g.in[d] - 1 - shift;
  end = last < 0 ? 0 : std::min(g.out[d], last / g.stride[d] + 1);
  begin = std::min(begin, g.out[d]);
  end = std::max(end, begin);
}

// Calls f(row of the unfolded matrix, channel, taps, ranges) for rows [begin, end).
template <class T, bool Unfold>
void fold_rows(const Geometry& g, T* image, T* columns, int64_t row_begin, int64_t row_end) {
  const int64_t taps = g.kernel_size(), out_size = g.out_size();
  for (int64_t row = row_begin; row < row_end; row++) {
    int64_t channel = row / taps, tap = row % taps;
    int64_t kz = tap / (g.kernel[1] * g.kernel[2]), ky = tap / g.kernel[2] % g.kernel[1],
            kx = tap % g.kernel[2];
    int64_t z0, z1, y0, y1, x0, x1;
    valid_range(g, 0, kz, z0, z1);
    valid_range(g, 1, ky, y0, y1);
    valid_range(g, 2, kx, x0, x1);
    T* line = columns + row * out_size;
    T* plane = image + channel * g.in_size();
    if constexpr (Unfold) std::fill(line, line + out_size, T(0));
    for (int64_t z = z0; z < z1; z++)
      for (int64_t y = y0; y < y1; y++) {
        int64_t iz = z * g.stride[0] + kz * g.dilation[0] - g.padding[0],
                iy = y * g.stride[1] + ky * g.dilation[1] - g.padding[1];
        T* source = plane + (iz * g.in[1] + iy) * g.in[2] + kx * g.dilation[2] - g.padding[2];
        T* target = line + (z * g.out[1] + y) * g.out[2];
        if constexpr (Unfold) {
          if (g.stride[2] == 1)
            std::copy(source + x0, source + x1, target + x0);
          else
            for (int64_t x = x0; x < x1; x++) target[x] = source[x * g.stride[2]];
        } else {
          for (int64_t x = x0; x < x1; x++) source[x * g.stride[2]] += target[x];
        }
      }
  }
}

void check_dtype(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), "Input type (", a.dtype(), ") and weight type (", b.dtype(),
        ") should be the same (", op, ")");
}

// Kernels exist for floats and integers; complex convolutions are made of real ones.
template <class F>
void visit_real(DType t, const char* op, F&& f) {
  visit(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      f(tag);
    else
      fail<NotImplementedError>("\"", op, "\" not implemented for '", info(t).name, "'");
  });
}

bool worth_threads(const Geometry& g) { return g.flops() > 4e5; }

template <class T, class F>
void each_image(const Geometry& g, F&& f) {
  // images in parallel, each with its own unfolded matrix; a single one uses threads inside
  if (g.batch > 1) {
    LongWork work(true);
    parallel_for(g.batch, worth_threads(g) ? 1 : g.batch, [&](int64_t begin, int64_t end) {
      std::vector<T> columns(g.pointwise() ? 0 : size_t(g.columns() * g.out_size()));
      for (int64_t n = begin; n < end; n++) f(n, columns.data(), true);
    });
  } else if (g.batch == 1) {
    std::vector<T> columns(g.pointwise() ? 0 : size_t(g.columns() * g.out_size()));
    f(int64_t(0), columns.data(), false);
  }
}

}  // namespace

namespace {

// Channels-last when one of the operands is.
MemoryFormat common_format(const Tensor& a, const Tensor& b) {
  const MemoryFormat f = suggest_memory_format(a);
  return f != MemoryFormat::Contiguous ? f : suggest_memory_format(b);
}
Tensor laid_out(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous) return contiguous_of(t);
  if (t.is_contiguous(format)) return t;
  Tensor out = flambeau::empty(t.sizes(), t.dtype(), t.device(), format);
  copy_kernel(out, t);
  return out;
}
// Filters may have any strides that reach every element once.
Tensor dense(const Tensor& w) {
  return is_non_overlapping_and_dense(w.sizes(), w.strides()) ? w : contiguous_of(w);
}

// The outputs that a given gradient has: fewer than the geometry says, after output padding of a
// transposed convolution.
void use_outputs(const char* op, Geometry& g, const Tensor& grad, size_t rank) {
  bool fits = size_t(grad.dim()) == rank + 2 && grad.sizes()[0] == g.batch &&
              grad.sizes()[1] == g.out_channels;
  for (size_t d = 0; fits && d < rank; d++) {
    fits = grad.sizes()[d + 2] <= g.out[d + 3 - rank];
    g.out[d + 3 - rank] = grad.sizes()[d + 2];
  }
  check(fits, op, ": grad_output of shape ", grad.sizes(), " is not that of a convolution of ",
        g.batch, " images to ", g.out_channels, " channels, or larger than its result");
}

// By a kernel for contiguous planes where one fits, on copies of channels-last operands: they cost
// less than what the kernel saves, but for depthwise filters.
bool fast_conv(ConvPass pass, const Geometry& g, int rank, const Tensor& x, const Tensor& w,
               const Tensor* bias, const Tensor& y) {
  const bool output = pass == ConvPass::Output, winograd = winograd_fits(pass, g),
             unfold = output && !winograd && unfold_fits(g);
  if (pass == ConvPass::Input && g.groups == 1 && g.pointwise() && x.is_contiguous() &&
      unfold_fits(g.exchanged())) {
    Dims sizes = w.sizes(), strides = w.strides();
    std::swap(sizes[0], sizes[1]);
    std::swap(strides[0], strides[1]);
    unfold_conv(g.exchanged(), y, contiguous_of(alias(w, sizes, strides, w.offset())), nullptr, x);
    return true;
  }
  if (!winograd && !unfold) {
    if (!output || !depthwise_fits(g) || !x.is_contiguous())
      return onednn_conv(pass, g, rank, x, w, bias, y);
    depthwise_conv(g, x, contiguous_of(w), bias, y);
    return true;
  }
  auto plane = [](const Tensor& t, bool computed) {
    return t.is_contiguous() ? t
           : computed        ? flambeau::empty(t.sizes(), t.dtype())
                             : contiguous_of(t);
  };
  const Tensor px = plane(x, pass == ConvPass::Input), pw = plane(w, pass == ConvPass::Weight),
               py = plane(y, output);
  if (unfold)
    unfold_conv(g, px, pw, bias, py);
  else if (!winograd_conv(pass, g, px, pw, bias, py))
    return onednn_conv(pass, g, rank, x, w, bias, y);
  const Tensor &wanted = output                    ? y
                         : pass == ConvPass::Input ? x
                                                   : w,
               &computed = output                    ? py
                           : pass == ConvPass::Input ? px
                                                     : pw;
  if (!computed.is_same(wanted)) copy_kernel(wanted, computed);
  return true;
}

template <class T>
void forward_gemm(const Geometry& g, const Tensor& x, const Tensor& w, const Tensor* bias,
                  const Tensor& y) {
  const int64_t channels = g.out_channels / g.groups, k = g.columns(), l = g.out_size();
  each_image<T>(g, [&](int64_t n, T* columns, bool serial) {
    for (int64_t j = 0; j < g.groups; j++) {
      T* image = x.data<T>() + (n * g.in_channels + j * (g.in_channels / g.groups)) * g.in_size();
      T* unfolded = image;
      if (!g.pointwise()) {
        unfolded = columns;
        if (serial)
          fold_rows<T, true>(g, image, columns, 0, k);
        else
          parallel_for(k, std::max<int64_t>(1, 16384 / l),
                       [&](int64_t a, int64_t b) { fold_rows<T, true>(g, image, columns, a, b); });
      }
      T* to = y.data<T>() + (n * g.out_channels + j * channels) * l;
      if (bias)
        for (int64_t c = 0; c < channels; c++)
          std::fill_n(to + c * l, l, bias->data<T>()[j * channels + c]);
      gemm(y.dtype(), channels, l, k, {w.data<T>() + j * channels * k, k, 1}, {unfolded, l, 1}, to,
           l, bias != nullptr, serial);
    }
  });
}

template <class T>
void input_grad_gemm(const Geometry& g, const Tensor& dy, const Tensor& w, const Tensor& dx) {
  const int64_t channels = g.out_channels / g.groups, k = g.columns(), l = g.out_size();
  if (!g.pointwise() || l == 0) std::fill_n(dx.data<T>(), dx.numel(), T(0));
  if (l == 0) return;
  each_image<T>(g, [&](int64_t n, T* columns, bool serial) {
    for (int64_t j = 0; j < g.groups; j++) {
      T* image = dx.data<T>() + (n * g.in_channels + j * (g.in_channels / g.groups)) * g.in_size();
      T* target = g.pointwise() ? image : columns;
      gemm(dx.dtype(), k, l, channels, {w.data<T>() + j * channels * k, 1, k},
           {dy.data<T>() + (n * g.out_channels + j * channels) * l, l, 1}, target, l, false,
           serial);
      if (g.pointwise()) continue;
      // rows of one channel add into the same plane: whole channels are shared out
      const int64_t taps = g.kernel_size(), planes = g.in_channels / g.groups;
      if (serial)
        fold_rows<T, false>(g, image, columns, 0, k);
      else
        parallel_for(planes, 1, [&](int64_t a, int64_t b) {
          fold_rows<T, false>(g, image, columns, a * taps, b * taps);
        });
    }
  });
}

template <class T>
void weight_grad_gemm(const Geometry& g, const Tensor& dy, const Tensor& x, const Tensor& dw) {
  const int64_t channels = g.out_channels / g.groups, k = g.columns(), l = g.out_size(),
                weights = dw.numel();
  std::fill_n(dw.data<T>(), weights, T(0));
  if (l == 0 || g.batch == 0) return;
  // images in a fixed number of blocks with a sum each, added in order: the same for any number of
  // threads
  const int64_t blocks = std::min<int64_t>(g.batch, 8), per_block = (g.batch + blocks - 1) / blocks;
  std::vector<T> sums(size_t(blocks > 1 ? blocks * weights : 0), T(0));
  auto run = [&](int64_t begin, int64_t end) {
    std::vector<T> columns(g.pointwise() ? 0 : size_t(k * l));
    for (int64_t b = begin; b < end; b++) {
      T* sum = blocks > 1 ? sums.data() + b * weights : dw.data<T>();
      for (int64_t n = b * per_block; n < std::min(g.batch, (b + 1) * per_block); n++)
        for (int64_t j = 0; j < g.groups; j++) {
          T* image =
              x.data<T>() + (n * g.in_channels + j * (g.in_channels / g.groups)) * g.in_size();
          T* unfolded = image;
          if (!g.pointwise()) fold_rows<T, true>(g, image, unfolded = columns.data(), 0, k);
          gemm(dw.dtype(), channels, k, l,
               {dy.data<T>() + (n * g.out_channels + j * channels) * l, l, 1}, {unfolded, 1, l},
               sum + j * channels * k, k, true, blocks > 1);
        }
    }
  };
  if (blocks == 1) return run(0, 1);
  parallel_for(blocks, worth_threads(g) ? 1 : blocks, run);
  T* total = dw.data<T>();
  for (int64_t b = 0; b < blocks; b++)
    for (int64_t i = 0; i < weights; i++) total[i] += sums[size_t(b * weights + i)];
}

// Runs one pass in the compute dtype: `a`, `b` are the known operands, `out` the computed one.
template <class Fast, class Slow>
Tensor run_pass(const char* op, const Dims& sizes, const Tensor& a, const Tensor& b, Fast&& fast,
                Slow&& slow) {
  check_dtype(op, a, b);
  const DType t = info(a.dtype()).compute;
  if (a.is_meta()) return flambeau::empty(sizes, a.dtype(), a.device());
  MemoryFormat format = common_format(a, b);
  // of three dimensions only float32 keeps channels last, as in PyTorch
  if (sizes.size() != (format == MemoryFormat::ChannelsLast3d && t == DType::Float32 ? 5u : 4u))
    format = MemoryFormat::Contiguous;
  Tensor out = flambeau::empty(sizes, t, a.device(), format);
  if (out.numel() == 0) return cast_of(out, a.dtype());
  LongWork work(true);
  const Tensor x = cast_of(a, t), y = cast_of(b, t);
  if (t != DType::Float32 || !fast(x, y, out, format)) {
    Tensor plain = out.is_contiguous() ? out : flambeau::empty(sizes, t);
    visit_real(t, op, [&](auto tag) { slow(tag, contiguous_of(x), contiguous_of(y), plain); });
    if (!plain.is_same(out)) copy_kernel(out, plain);
  }
  return cast_of(out, a.dtype());
}

}  // namespace

Tensor conv_forward(const Tensor& self, const Tensor& weight, const OptTensor& bias,
                    const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups) {
  const Geometry g =
      geometry("conv_forward", self.sizes(), weight.sizes(), stride, padding, dilation, groups);
  const int rank = int(self.dim()) - 2;
  if (bias)
    check(bias->dim() == 1 && bias->numel() == g.out_channels && !bias->is_complex(),
          "conv_forward: expected bias of shape [", g.out_channels, "], but got shape ",
          bias->sizes(), " and dtype ", bias->dtype());
  const OptTensor b = bias && !self.is_meta()
                          ? OptTensor(contiguous_of(cast_of(*bias, info(self.dtype()).compute)))
                          : std::nullopt;
  const Tensor* add = b ? &*b : nullptr;
  return run_pass(
      "conv_forward", output_sizes(g, size_t(rank)), self, weight,
      [&](const Tensor& x, const Tensor& w, const Tensor& y, MemoryFormat f) {
        return g.batch && g.columns() &&
               fast_conv(ConvPass::Output, g, rank, laid_out(x, f), dense(w), add, y);
      },
      [&](auto tag, const Tensor& x, const Tensor& w, const Tensor& y) {
        forward_gemm<typename decltype(tag)::type>(g, x, w, add, y);
      });
}

Tensor conv_input_grad(const Tensor& grad, const Tensor& weight, const Dims& size,
                       const Dims& stride, const Dims& padding, const Dims& dilation,
                       int64_t groups) {
  Geometry g = geometry("conv_input_grad", size, weight.sizes(), stride, padding, dilation, groups);
  use_outputs("conv_input_grad", g, grad, size.size() - 2);
  const int rank = int(grad.dim()) - 2;
  return run_pass(
      "conv_input_grad", size, grad, weight,
      [&](const Tensor& dy, const Tensor& w, const Tensor& dx, MemoryFormat f) {
        return dy.numel() &&
               fast_conv(ConvPass::Input, g, rank, dx, dense(w), nullptr, laid_out(dy, f));
      },
      [&](auto tag, const Tensor& dy, const Tensor& w, const Tensor& dx) {
        input_grad_gemm<typename decltype(tag)::type>(g, dy, w, dx);
      });
}

Tensor conv_weight_grad(const Tensor& grad, const Tensor& self, const Dims& size,
                        const Dims& stride, const Dims& padding, const Dims& dilation,
                        int64_t groups) {
  Geometry g = geometry("conv_weight_grad", self.sizes(), size, stride, padding, dilation, groups);
  use_outputs("conv_weight_grad", g, grad, size.size() - 2);
  const int rank = int(grad.dim()) - 2;
  return run_pass(
      "conv_weight_grad", size, grad, self,
      [&](const Tensor& dy, const Tensor& x, const Tensor& dw, MemoryFormat f) {
        return dy.numel() &&
               fast_conv(ConvPass::Weight, g, rank, laid_out(x, f), dw, nullptr, laid_out(dy, f));
      },
      [&](auto tag, const Tensor& dy, const Tensor& x, const Tensor& dw) {
        weight_grad_gemm<typename decltype(tag)::type>(g, dy, x, dw);
      });
}

}  // namespace flambeau::kernels
