#include "autograd/formulas_scatter.h"

#include "autograd/formulas.h"
#include "autograd/node.h"
#include "core/transform.h"
#include "kernels/pointwise.h"

namespace flambeau::formulas {
using namespace ops;

namespace {

// Passes a gradient on; an error where somebody differentiates it.
struct NotTwiceDifferentiable final : Node {
  const char* message;
  explicit NotTwiceDifferentiable(const char* m) : message(m) {}
  const char* own_name() const override { return "torch::autograd::Error"; }
  Grads apply(Grads) override { fail<Error>(message); }
};

Tensor once_differentiable(const Tensor& t, const char* message) {
  if (!any_wants_grad(t)) return t;
  auto node = make_ref<NotTwiceDifferentiable>(message);
  add_edge(*node, t);
  Tensor out = flambeau::detach(t);
  set_history(out, node);
  return out;
}

// The part of src that index reads.
Tensor read_part(const Tensor& src, const Tensor& index) {
  Tensor part = src;
  for (int64_t d = 0; d < src.dim() && d < index.dim(); d++)
    if (part.size(d) != index.size(d)) part = narrow(part, d, 0, index.size(d));
  return part;
}

Tensor at_positions(const Tensor& t, int64_t dim, const Tensor& index) {
  return gather(t, dim, index, false);
}

Tensor as_number(const Tensor& flags, const Tensor& like) { return _to_dtype(flags, like.dtype()); }

// How many elements share each result: those of src that go there, and the one that was there.
Tensor mean_counts(const Tensor& grad, int64_t dim, const Tensor& index, bool include_self) {
  NoGrad off;
  Tensor start = full(grad.sizes(), include_self ? 1 : 0, grad.dtype(), grad.device());
  Tensor one = full(index.sizes(), 1, grad.dtype(), grad.device());
  Tensor n = scatter_add(start, dim, index, one);
  return masked_fill(n, eq(n, 0), 1);
}

// Elements that equal an extreme share its gradient.
Tensor extreme_counts(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      const Tensor& result) {
  NoGrad off;
  Tensor winners = as_number(eq(src, at_positions(result, dim, index)), self);
  return scatter_add(as_number(eq(self, result), self), dim, index, winners);
}

}  // namespace

Tensor scatter_index(const Tensor& index, const Dims& sizes, int64_t dim) {
  if (sizes.empty()) return reshape(index, Dims{});
  Dims line(sizes.size(), 1);
  line[size_t(wrap_dim(dim, int64_t(sizes.size())))] = index.numel();
  return expand(reshape(index, line), sizes, false);
}

Tensor scatter_reduce_self_grad(const Tensor& grad, const Tensor& self, int64_t dim,
                                const Tensor& index, const Tensor& whole, const std::string& reduce,
                                bool include_self, const Tensor& result) {
  if (index.numel() == 0) return grad;
  Tensor src = read_part(whole, index), out;
  if (reduce == "sum") {
    out = grad;
  } else if (reduce == "mean") {
    out = grad / mean_counts(grad, dim, index, include_self);
  } else if (reduce == "prod") {
    // result / self, with self taken for 1 where it is 0
    Tensor nonzero = masked_fill(self, eq(self, 0), 1);
    Tensor others = scatter_reduce_two(nonzero, dim, index, src, reduce, include_self) / nonzero;
    out = grad * conj(others);
  } else {
    out = masked(grad, eq(self, result)) / extreme_counts(self, dim, index, src, result);
    out = masked(out, eq(self, result));  // 0 / 0 where no element won
  }
  return include_self ? out : scatter_value(out, dim, index, 0);
}

Tensor scatter_reduce_src_grad(const Tensor& grad, const Tensor& self, int64_t dim,
                               const Tensor& index, const Tensor& whole, const std::string& reduce,
                               bool include_self, const Tensor& result) {
  if (index.numel() == 0) return zeros(whole.sizes(), grad.dtype(), grad.device());
  Tensor src = read_part(whole, index), out;
  if (reduce == "sum") {
    out = at_positions(grad, dim, index);
  } else if (reduce == "mean") {
    out = at_positions(grad / mean_counts(grad, dim, index, include_self), dim, index);
  } else if (reduce == "prod") {
    Tensor zero = eq(src, 0), zeros_there;
    {
      NoGrad off;
      Tensor none = zeros(self.sizes(), self.dtype(), self.device());
      zeros_there = at_positions(scatter_add(none, dim, index, as_number(zero, self)), dim, index);
    }
    // the only zero of its product gets the product of the others; more zeros leave nothing
    Tensor single = logical_and(zero, eq(zeros_there, 1));
    Tensor others =
        scatter_reduce_two(self, dim, index, masked_fill(src, single, 1), reduce, include_self);
    Tensor divided = at_positions(result, dim, index) / masked_fill(src, zero, 1);
    out = at_positions(grad, dim, index) *
          conj(where(single, at_positions(others, dim, index), divided));
    if (any_wants_grad(out) && has_values(out) && item(any(gt(abs(zeros_there), 1.5))).to_bool())
      out = once_differentiable(
          out,
          "scatter_reduce(): Double backward is unsupported for src when more than one zero "
          "in src is scattered to the same position in self");
  } else {
    Tensor value = at_positions(result, dim, index);
    Tensor shared = grad / extreme_counts(self, dim, index, src, result);
    out = masked(at_positions(shared, dim, index), eq(src, value));
  }
  return fit_index_grad(out, whole.sizes());
}

Tensor as_strided_scatter_self_grad(const Tensor& grad, const Tensor& self, const Dims& size,
                                    const Dims& stride, std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(self.offset());
  Tensor covered = full(size, 1, grad.dtype(), grad.device());
  Tensor there =
      _strided_scatter(covered, self.sizes(), self.strides(), self.offset(), size, stride, offset);
  return masked(grad, eq(there, 0));
}

Tensor as_strided_scatter_src_grad(const Tensor& grad, const Tensor& self, const Dims& size,
                                   const Dims& stride, std::optional<int64_t> storage_offset) {
  return _strided_gather(grad, self.sizes(), self.strides(), self.offset(), size, stride,
                         storage_offset.value_or(self.offset()));
}

}  // namespace flambeau::formulas
