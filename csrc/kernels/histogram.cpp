// Histograms of points: counts in the boxes between sorted edges along each dimension.
#include <algorithm>
#include <vector>

#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

template <class T>
struct Axis {
  const T* edges;
  int64_t bins;
  bool uniform;

  // The bin of x, or -1 outside; the last edge belongs to the last bin.
  int64_t find(T x) const {
    const T low = edges[0], high = edges[bins];
    if (!(x >= low && x <= high)) return -1;
    int64_t at;
    if (uniform && high > low) {
      // division is right up to rounding: the edges decide
      at = std::min(bins - 1, int64_t((x - low) / (high - low) * T(bins)));
      while (at > 0 && x < edges[at]) at--;
      while (at + 1 < bins && x >= edges[at + 1]) at++;
    } else {
      at = std::upper_bound(edges, edges + bins + 1, x) - edges - 1;
    }
    return std::min(at, bins - 1);
  }
};

}  // namespace

Tensor _histogram(const Tensor& self, const TensorList& edges, const OptTensor& weight,
                  bool uniform, bool density) {
  check<NotImplementedError>(self.dtype() == DType::Float32 || self.dtype() == DType::Float64,
                             "\"histogramdd\" not implemented for '", self.dtype(), "'");
  check(self.dim() == 2 && self.size(1) == int64_t(edges.size()),
        "_histogram(): expected points in rows, of as many numbers as there are lists of edges");
  Dims shape;
  for (const Tensor& e : edges) {
    check(e.dtype() == self.dtype() && e.dim() == 1 && e.numel() >= 2,
          "_histogram(): expected edges of the points' dtype in one dimension, at least two");
    shape.push_back(e.numel() - 1);
  }
  check(!weight || (weight->dtype() == self.dtype() && weight->numel() == self.size(0)),
        "_histogram(): expected a weight of the points' dtype for each point");
  Tensor out = empty(shape, self.dtype(), self.device());
  if (out.is_meta()) return out;
  LongWork guard(self.numel() > 16384);
  const Tensor x = contiguous_of(self);
  std::vector<Tensor> kept;
  for (const Tensor& e : edges) kept.push_back(contiguous_of(e));
  const Tensor w = weight ? contiguous_of(*weight) : Tensor();
  std::vector<double> sums(size_t(out.numel()), 0.0);
  visit_float(self.dtype(), "histogramdd", [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<Axis<T>> axes;
    for (const Tensor& e : kept) axes.push_back({e.data<T>(), e.numel() - 1, uniform});
    const T* p = x.data<T>();
    for (int64_t i = 0; i < x.size(0); i++) {
      int64_t at = 0;
      for (const Axis<T>& a : axes) {
        const int64_t bin = a.find(*p++);
        at = bin < 0 || at < 0 ? -1 : at * a.bins + bin;
      }
      if (at >= 0) sums[size_t(at)] += w.defined() ? double(w.data<T>()[i]) : 1.0;
    }
    if (!density) return;
    double total = 0;
    for (double s : sums) total += s;
    for (size_t i = 0; i < sums.size(); i++) {
      double volume = 1;
      size_t rest = i;
      for (size_t d = axes.size(); d-- > 0;) {
        const size_t bin = rest % size_t(axes[d].bins);
        rest /= size_t(axes[d].bins);
        volume *= double(axes[d].edges[bin + 1]) - double(axes[d].edges[bin]);
      }
      sums[i] /= total * volume;
    }
  });
  convert_elements(out.bytes(), out.dtype(), sums.data(), DType::Float64, out.numel());
  return out;
}

}  // namespace flambeau::kernels
