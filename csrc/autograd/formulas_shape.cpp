#include "autograd/formulas.h"
#include "autograd/node.h"
#include "core/transform.h"
#include "runtime/parallel.h"

namespace flambeau::formulas {
using namespace ops;

Dims inverse_permutation(const Dims& dims) {
  Dims out = dims;
  for (size_t i = 0; i < dims.size(); i++)
    out[size_t(wrap_dim(dims[i], int64_t(dims.size())))] = int64_t(i);
  return out;
}

Tensor become(const Tensor& self, const Tensor& view) {
  if (view.is_same(self)) return self;
  check_inplace(self, "view in place");
  await_long_work();
  self->storage = view.storage();  // another thread may have replaced it during the wait
  self->set_geometry(view.sizes(), view.strides(), view.offset());
  if (view->requires_grad && !is_leaf(view)) {
    auto& meta = meta_of(self);
    meta.grad_fn = grad_fn(view);
    meta.output_nr = meta_of(view).output_nr;
    self->requires_grad = true;
    if (meta.view) meta.view->version = self.version();
  }
  return self;
}

TensorList cat_grads(const Tensor& grad, const std::vector<Dims>& shapes, int64_t dim) {
  TensorList out;
  int64_t at = 0, d = wrap_dim(dim, grad.dim());
  for (auto& shape : shapes) {
    if (shape.size() == 1 && shape[0] == 0) {
      out.push_back(zeros(shape, grad.dtype(), grad.device()));
      continue;
    }
    const int64_t length = shape[size_t(d)];
    out.push_back(is_sparse(grad) ? _sparse_narrow(grad, d, at, length)
                                  : narrow(grad, d, at, length));
    at += shape[size_t(d)];
  }
  return out;
}

Tensor select_grad(const Tensor& grad, const Dims& sizes, int64_t dim, int64_t index) {
  Tensor out = zeros(sizes, grad.dtype(), grad.device());
  copy_(select(out, dim, index), grad, false);
  return out;
}

Tensor slice_grad(const Tensor& grad, const Dims& sizes, int64_t dim, std::optional<int64_t> start,
                  std::optional<int64_t> end, int64_t step) {
  Tensor out = zeros(sizes, grad.dtype(), grad.device());
  copy_(slice(out, dim, start, end, step), grad, false);
  return out;
}

Tensor repeat_grad(const Tensor& grad, const Dims& sizes, const Dims& repeats) {
  size_t lead = repeats.size() - sizes.size();
  Dims split, sum_dims;
  for (size_t i = 0; i < repeats.size(); i++) {
    sum_dims.push_back(int64_t(split.size()));
    split.push_back(repeats[i]);
    split.push_back(i < lead ? 1 : sizes[i - lead]);
  }
  if (sum_dims.empty()) return grad;
  if (product(repeats) == 0) return zeros(sizes, grad.dtype(), grad.device());
  Dims once = split;
  for (int64_t d : sum_dims) once[size_t(d)] = 1;
  return reshape(sum_to_size(reshape(grad, split), once), sizes);
}

Tensor split_grads(const TensorList& grads, const Dims&, int64_t dim) { return cat(grads, dim); }
Tensor unbind_grads(const TensorList& grads, int64_t dim) { return stack(grads, dim); }

Tensor index_grad(const Tensor& grad, const Dims& sizes, const std::vector<OptTensor>& indices) {
  Tensor out = zeros(sizes, grad.dtype(), grad.device());
  return index_put_(out, indices, grad, true);
}

Tensor copied(const Tensor& view) { return clone(view, MemoryFormat::Contiguous); }

TensorList copied(const TensorList& views) {
  TensorList out;
  for (auto& v : views) out.push_back(copied(v));
  return out;
}

Tensor to_real_if(const Tensor& grad, DType dtype) {
  return grad.is_complex() && !is_complex(dtype) ? real(grad) : grad;
}

}  // namespace flambeau::formulas
