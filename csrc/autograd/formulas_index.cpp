#include "autograd/formulas_index.h"

#include "autograd/formulas.h"
#include "core/transform.h"
#include "dispatch/promotion.h"
#include "kernels/number.h"
#include "kernels/pointwise.h"

namespace flambeau::formulas {
using namespace ops;

Tensor sum_all(const Tensor& t) { return sum_to_size(t, Dims{}); }

Tensor fit_index_grad(const Tensor& grad, const Dims& sizes) {
  if (equal(grad.sizes(), sizes)) return grad;
  if (sizes.size() != grad.sizes().size()) return reshape(grad, sizes);
  Tensor out = zeros(sizes, grad.dtype(), grad.device());
  Tensor part = out;
  for (size_t d = 0; d < sizes.size(); d++) part = narrow(part, int64_t(d), 0, grad.sizes()[d]);
  copy_(part, grad, false);
  return out;
}

Tensor masked_filled(const Tensor& self, const Tensor& mask, const Operand& value) {
  check(mask.dtype() == DType::Bool,
        "masked_fill_ only supports boolean masks, but got mask with dtype ", mask.dtype());
  Operand v = value;
  if (value.is_tensor()) {
    check(value.tensor().dim() == 0,
          "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
          value.tensor().dim(), " dimension(s).");
    check(can_cast(value.tensor().dtype(), self.dtype()), "value cannot be converted to type ",
          self.dtype(), " without overflow");
    if (value.tensor().dtype() != self.dtype()) v = _to_dtype(value.tensor(), self.dtype());
  } else {
    const Scalar& s = value.scalar();
    check(!s.is_complex() || self.is_complex(), "value cannot be converted to type ", self.dtype(),
          " without overflow");
    check_fits(s, self.dtype());
    // the result keeps this tensor's dtype whatever number fills it
    if (category(self.dtype()) < s.category())
      v = visit(self.dtype(), [&](auto tag) -> Operand {
        using E = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<E>)
          return Operand(Scalar(s.to<E>()));
        else
          return value;
      });
  }
  return _where(mask, v, self);
}

Tensor selected_by_mask(const Tensor& self, const Tensor& mask) {
  check(mask.dtype() == DType::Bool || mask.dtype() == DType::UInt8,
        "masked_select: expected BoolTensor for mask, got ", mask.dtype());
  Dims sizes = broadcast_shapes(self.sizes(), mask.sizes());
  Tensor x = expand(self, sizes, false), m = as_condition(expand(mask, sizes, false));
  if (sizes.empty()) return index(unsqueeze(x, 0), {unsqueeze(m, 0)});
  return index(x, {m});
}

Tensor masked_scatter_grad(const Tensor& grad, const Tensor& mask, const Dims& sizes) {
  Tensor picked = selected_by_mask(grad, mask);
  int64_t rest = product(sizes) - picked.numel();
  if (rest > 0) picked = cat({picked, zeros(Dims{rest}, grad.dtype(), grad.device())}, 0);
  return reshape(picked, sizes);
}

Tensor take_flat(const Tensor& self, const Tensor& at) {
  check(at.dtype() == DType::Int64, "take(): Expected a long tensor for index, but got ",
        at.dtype());
  check<IndexError>(self.numel() > 0 || at.numel() == 0,
                    "take(): tried to take from an empty tensor");
  return index(reshape(self, Dims{-1}), {at});
}

Tensor taken_along(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  check(indices.dtype() == DType::Int64,
        "torch.take_along_dim(): dtype of indices should be Long but got ", indices.dtype());
  if (!dim) return gather(reshape(self, Dims{-1}), 0, reshape(indices, Dims{-1}), false);
  check(self.dim() == indices.dim(),
        "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
        "got ",
        self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  size_t d = size_t(wrap_dim(*dim, self.dim()));
  Dims a = self.sizes(), b = indices.sizes();
  a[d] = b[d] = 1;
  Dims both = broadcast_shapes(a, b), x = both, i = both;
  x[d] = self.sizes()[d];
  i[d] = indices.sizes()[d];
  Tensor at = indices;
  if (self.sizes()[d] > 0) at = remainder(indices, Scalar(self.sizes()[d]));  // from the end: -1
  return gather(expand(self, x, false), int64_t(d), expand(at, i, false), false);
}

Tensor distinct(const Tensor& index) {
  return std::get<0>(_unique(reshape(index, Dims{-1}), false, std::nullopt));
}

Tensor repeat_counts(const Tensor& repeats, std::optional<int64_t> output_size) {
  check(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  check(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
        "repeats has to be Long or Int tensor");
  check<NotImplementedError>(has_values(repeats),
                             "repeat_interleave: the size of the result depends on repeats, whose "
                             "values meta tensors and batches do not have");
  Tensor r = contiguous_of(cast_of(readable(repeats, "repeat_interleave"), DType::Int64));
  const int64_t* p = r.data<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < r.numel(); i++) {
    check(p[i] >= 0, "repeats can not be negative");
    check(!__builtin_add_overflow(total, p[i], &total), "repeat_interleave: too many elements");
  }
  check(!output_size || *output_size == total, "repeat_interleave: output_size is ",
        output_size.value_or(0), ", but repeats add up to ", total);
  Tensor out = flambeau::empty(Dims{total}, repeats.dtype());
  Tensor wide = out.dtype() == DType::Int64 ? out : flambeau::empty(Dims{total}, DType::Int64);
  int64_t* to = wide.data<int64_t>();
  for (int64_t i = 0; i < r.numel(); i++) to = std::fill_n(to, p[i], i);
  if (!wide.is_same(out)) copy_kernel(out, wide);
  return out;
}

Tensor interleaved(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                   std::optional<int64_t> output_size) {
  Tensor x = dim ? self : reshape(self, Dims{-1});
  int64_t d = dim.value_or(0), n = x.dim() ? x.size(d) : 1;
  if (x.dim() == 0) x = unsqueeze(x, 0);
  Tensor r = repeats.dim() == 0 ? expand(unsqueeze(repeats, 0), Dims{n}, false) : repeats;
  if (r.numel() == 1 && n != 1) r = expand(r, Dims{n}, false);
  check(r.numel() == n,
        "repeats must have the same size as input along dim, but got repeats.size(0) = ", r.numel(),
        " and input.size(", d, ") = ", n);
  return index_select(x, d, repeat_counts(r, output_size));
}

Tensor interleaved(const Tensor& self, int64_t repeats, std::optional<int64_t> dim) {
  check(repeats >= 0, "Repeats must be non-negative");
  Tensor x = dim ? self : reshape(self, Dims{-1});
  if (x.dim() == 0) x = unsqueeze(x, 0);
  int64_t d = wrap_dim(dim.value_or(0), x.dim());
  Dims spread = x.sizes(), merged = x.sizes();
  spread.insert(size_t(d) + 1, repeats);
  check(!__builtin_mul_overflow(merged[size_t(d)], repeats, &merged[size_t(d)]),
        "Storage size calculation overflowed: repeat_interleave of shape ", x.sizes(), " by ",
        repeats);
  return reshape(clone(expand(unsqueeze(x, d + 1), spread, false), MemoryFormat::Contiguous),
                 merged);
}

Tensor with_part(const Tensor& self, const Tensor& src, const Tensor& part) {
  check(equal(src.sizes(), part.sizes()),
        "expected src to have a size equal to the slice of self. src size = ", src.sizes(),
        ", slice size = ", part.sizes());
  Tensor out = clone(self, MemoryFormat::Contiguous);
  // the same view of the copy: strides follow those of a contiguous tensor
  if (self.is_contiguous()) {
    copy_(as_strided(out, part.sizes(), part.strides(), part.offset() - self.offset()), src, false);
    return out;
  }
  Tensor positions =
      reshape(arange_start(0, self.numel(), 1, DType::Int64, std::nullopt), self.sizes());
  Tensor where = flambeau::empty_strided(self.sizes(), self.strides(), DType::Int64);
  copy_kernel(where, positions);
  Tensor at =
      contiguous_of(alias(where, part.sizes(), part.strides(), part.offset() - self.offset()));
  Tensor flat = reshape(out, Dims{-1});
  return reshape(index_put(flat, {reshape(at, Dims{-1})}, reshape(src, Dims{-1}), false),
                 self.sizes());
}

Tensor embedding_grad(const Tensor& grad, const Tensor& indices, const Dims& sizes,
                      int64_t padding_idx, bool scale_grad_by_freq, bool sparse) {
  if (!sparse) return embedding_backward(grad, indices, sizes, padding_idx, scale_grad_by_freq);
  check(!scale_grad_by_freq,
        "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  Tensor at = _to_dtype(reshape(indices, Dims{-1}), DType::Int64);
  Tensor rows = reshape(grad, Dims{at.numel(), sizes[1]});
  if (padding_idx >= 0) {
    Tensor kept = squeeze_dim(nonzero(ne(at, padding_idx)), 1);
    at = index_select(at, 0, kept);
    rows = index_select(rows, 0, kept);
  }
  return _sparse_coo_tensor_with_dims_and_tensors(1, 1, sizes, unsqueeze(at, 0), rows, false);
}

Tensor embedding_masked(const Tensor& grad, const Tensor& indices, int64_t padding_idx,
                        bool scale_grad_by_freq) {
  check<NotImplementedError>(!scale_grad_by_freq,
                             "embedding: double backward with scale_grad_by_freq is not supported");
  Tensor out = embedding(grad, indices, padding_idx, false, false);
  return padding_idx < 0 ? out : _where(unsqueeze(eq(indices, padding_idx), -1), 0, out);
}

}  // namespace flambeau::formulas
