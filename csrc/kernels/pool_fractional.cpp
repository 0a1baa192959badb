// Fractional max pooling (Graham, Fractional Max-Pooling, 2014): windows at pseudo-random places.
#include <algorithm>

#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

// Where the `out` windows of size `pool` begin: steps of `alpha`, shifted by the sample, rounded
// down; the last window ends with the input.
template <class T>
void window_starts(int64_t* starts, T sample, int64_t in, int64_t out, int64_t pool) {
  if (out > 1) {
    const T alpha = T(in - pool) / T(out - 1);
    for (int64_t i = 0; i + 1 < out; i++)
      starts[i] = int64_t((T(i) + sample) * alpha) - int64_t(sample * alpha);
  }
  if (out > 0) starts[out - 1] = in - pool;
}

}  // namespace

std::tuple<Tensor, Tensor> _fractional_max_pool(const Tensor& self, const Dims& kernel,
                                                const Dims& output, const Tensor& samples) {
  const char* op = "_fractional_max_pool";
  check(self.dim() == 5 && kernel.size() == 3 && output.size() == 3, op,
        ": expected a 5-d input and three sizes each of kernel and output, got shape ",
        self.sizes(), ", ", kernel, " and ", output);
  for (size_t d = 0; d < 3; d++)
    check(kernel[d] > 0 && output[d] > 0 && kernel[d] <= self.size(int64_t(d) + 2) &&
              output[d] <= self.size(int64_t(d) + 2) - kernel[d] + 1,
          op, ": kernel ", kernel, " and output ", output, " do not fit into shape ", self.sizes());
  check(samples.numel() == self.size(0) * self.size(1) * 3, op,
        ": expected three samples for each plane, got shape ", samples.sizes());
  const int64_t planes = self.size(0) * self.size(1);
  const Dims in{self.size(2), self.size(3), self.size(4)};
  Tensor out = empty(Dims{self.size(0), self.size(1), output[0], output[1], output[2]},
                     self.dtype(), self.device());
  Tensor at = empty(out.sizes(), DType::Int64, self.device());
  if (out.is_meta() || out.numel() == 0) return {out, at};
  const DType compute = info(self.dtype()).compute;
  const Tensor x = contiguous_of(cast_of(self, compute)),
               r = contiguous_of(cast_of(samples, compute));
  Tensor y = compute == out.dtype() ? out : empty(out.sizes(), compute);
  LongWork guard(x.numel() > 16384);
  visit_float(compute, "fractional_max_pool_out_frame", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(planes, std::max<int64_t>(1, 8192 * planes / std::max<int64_t>(x.numel(), 1)),
                 [&](int64_t begin, int64_t end) {
                   Dims starts[3];
                   for (size_t d = 0; d < 3; d++) starts[d].resize(size_t(output[d]));
                   for (int64_t p = begin; p < end; p++) {
                     for (size_t d = 0; d < 3; d++) {
                       window_starts(starts[d].data(), r.data<T>()[p * 3 + int64_t(d)], in[d],
                                     output[d], kernel[d]);
                       // a sample outside of [0, 1) must not lead outside of the input
                       for (int64_t& s : starts[d])
                         s = std::clamp<int64_t>(s, 0, in[d] - kernel[d]);
                     }
                     const T* plane = x.data<T>() + p * in[0] * in[1] * in[2];
                     const int64_t first = p * output[0] * output[1] * output[2];
                     T* to = y.data<T>() + first;
                     int64_t* where = at.data<int64_t>() + first;
                     for (int64_t z : starts[0])
                       for (int64_t v : starts[1])
                         for (int64_t u : starts[2]) {
                           int64_t best = (z * in[1] + v) * in[2] + u;
                           for (int64_t i = z; i < z + kernel[0]; i++)
                             for (int64_t j = v; j < v + kernel[1]; j++)
                               for (int64_t k = u; k < u + kernel[2]; k++) {
                                 const int64_t here = (i * in[1] + j) * in[2] + k;
                                 if (plane[here] > plane[best] || plane[here] != plane[here])
                                   best = here;
                               }
                           *to++ = plane[best];
                           *where++ = best;
                         }
                   }
                 });
  });
  if (!y.is_same(out)) copy_kernel(out, y);
  return {out, at};
}

}  // namespace flambeau::kernels
