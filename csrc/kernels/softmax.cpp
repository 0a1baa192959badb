#include "kernels/rows.h"

#include "kernels/checks.h"
#include "kernels/pointwise.h"
#include "kernels/reduce.h"
#include "kernels/targets.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(ns)                \
  namespace ns {                            \
  extern const SoftmaxFns softmax_table[2]; \
  extern const NormFns norm_table[2];       \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

const SoftmaxFns& softmax_fns(DType compute) {
  static const SoftmaxFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(softmax_table, 0),
                                              FLAMBEAU_TABLE_AVX2(softmax_table, 0),
                                              FLAMBEAU_TABLE_AVX512(softmax_table, 0)};
  return tables[chosen_target()][compute == DType::Float64];
}

const NormFns& norm_fns(DType compute) {
  static const NormFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(norm_table, 0),
                                           FLAMBEAU_TABLE_AVX2(norm_table, 0),
                                           FLAMBEAU_TABLE_AVX512(norm_table, 0)};
  return tables[chosen_target()][compute == DType::Float64];
}

namespace kernels {
namespace {

void check_floating(const char* op, const Tensor& t) {
  check<NotImplementedError>(t.is_floating(), "\"", op,
                             "_lastdim_kernel_impl\" not implemented for '", info(t.dtype()).name,
                             "'; pass dtype=torch.float32");
}

// f(offset, lines, n, stride): rows when stride is 1, else columns of one block.
template <class F>
void each_block(const Tensor& x, int64_t dim, F&& f) {
  const Around a(x.sizes(), dim);
  LongWork guard(x.numel() > (1 << 16));
  if (a.inner == 1) {
    parallel_for(a.outer, std::max<int64_t>(1, 4096 / a.n),
                 [&](int64_t begin, int64_t end) { f(begin * a.n, end - begin, a.n, 1); });
    return;
  }
  constexpr int64_t strip = 128;
  const int64_t strips = (a.inner + strip - 1) / strip;
  parallel_for(a.outer * strips, std::max<int64_t>(1, 4096 / (a.n * std::min(strip, a.inner))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; k++) {
                   const int64_t c = k % strips * strip;
                   f(k / strips * a.n * a.inner + c, std::min(strip, a.inner - c), a.n, a.inner);
                 }
               });
}

Tensor softmax_forward(const char* op, const Tensor& self, int64_t dim, bool log) {
  const int64_t d = wrap_dim(dim, self.dim());
  if (!self.is_meta()) check_floating(op, self);
  if (self.is_meta() || self.numel() == 0) return empty(self.sizes(), self.dtype(), self.device());
  const DType compute = info(self.dtype()).compute;
  Tensor x = cast_of(contiguous_of(self), compute), out = empty(self.sizes(), compute);
  const SoftmaxFns& fns = softmax_fns(compute);
  const int64_t width = x.itemsize();
  each_block(x, d, [&](int64_t at, int64_t lines, int64_t n, int64_t stride) {
    char *to = out.bytes() + at * width, *from = x.bytes() + at * width;
    if (stride == 1)
      fns.rows(to, from, lines, n, log);
    else
      fns.columns(to, from, n, lines, stride, log);
  });
  return cast_of(out, self.dtype());
}

Tensor softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, bool log) {
  const int64_t d = wrap_dim(dim, output.dim());
  check_real_floating("softmax_backward", "output", output);
  check_shape("softmax_backward", "grad_output", grad, output.sizes());
  if (output.is_meta() || output.numel() == 0)
    return empty(output.sizes(), output.dtype(), output.device());
  const DType compute = info(output.dtype()).compute;
  Tensor g = cast_of(contiguous_of(grad), compute), y = cast_of(contiguous_of(output), compute),
         out = empty(y.sizes(), compute);
  const SoftmaxFns& fns = softmax_fns(compute);
  const int64_t width = y.itemsize();
  each_block(y, d, [&](int64_t at, int64_t lines, int64_t n, int64_t stride) {
    char* to = out.bytes() + at * width;
    const char *gp = g.bytes() + at * width, *yp = y.bytes() + at * width;
    if (stride == 1)
      fns.rows_backward(to, gp, yp, lines, n, log);
    else
      fns.columns_backward(to, gp, yp, n, lines, stride, log);
  });
  return cast_of(out, output.dtype());
}

}  // namespace

Tensor _softmax(const Tensor& self, int64_t dim) {
  return softmax_forward("softmax", self, dim, false);
}
Tensor _log_softmax(const Tensor& self, int64_t dim) {
  return softmax_forward("log_softmax", self, dim, true);
}
Tensor _softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim) {
  return softmax_backward(grad, output, dim, false);
}
Tensor _log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim) {
  return softmax_backward(grad, output, dim, true);
}

}  // namespace kernels
}  // namespace flambeau
