// Attention: which calls the blocked kernel takes, and the composition for the others and for
// gradients of gradients.
#include <cmath>

#include "autograd/formulas.h"
#include "autograd/node.h"
#include "core/transform.h"
#include "dispatch/operators.h"
#include "ops/all.h"

namespace flambeau {

using namespace ops;
using namespace formulas;

namespace {

Tensor widened(const Tensor& t) {
  return t.is_floating() && t.itemsize() < 4 ? _to_dtype(t, DType::Float32) : t;
}

// The heads of keys, each as often as it is used.
Tensor repeated(const Tensor& t, int64_t times) {
  return times == 1 ? t : repeat_interleave(t, times, -3);
}

// Softmax of the scores; rows without any key are zero, through a softmax of zeros, so that no NaN
// enters the gradients.
Tensor attention_weights(const Tensor& q, const Tensor& k, const OptTensor& mask, bool causal,
                         double scale) {
  const double inf = INFINITY;
  Tensor scores = matmul(mul(q, scale), transpose(k, -2, -1));
  if (causal) {
    const Tensor seen = tril(ones(Dims{q.size(-2), k.size(-2)}, DType::Bool, q.device()));
    scores = masked_fill(scores, logical_not(seen), Operand(-inf));
  }
  if (!mask) return softmax(scores, -1);
  if (mask->dtype() == DType::Bool)
    scores = masked_fill(scores, logical_not(*mask), Operand(-inf));
  else
    scores = add(scores, widened(*mask), 1);
  const Tensor blind = all_dims(eq(scores, Operand(-inf)), Dims{-1}, true);
  return masked_fill(softmax(masked_fill(scores, blind, Operand(0.0)), -1), blind, Operand(0.0));
}

Tensor composed(const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& mask,
                double dropout_p, bool causal, double scale) {
  Tensor w = attention_weights(widened(query), widened(key), mask, causal, scale);
  if (dropout_p != 0) w = dropout(w, dropout_p, true);
  Tensor out = matmul(w, widened(value));
  return out.dtype() == query.dtype() ? out : _to_dtype(out, query.dtype());
}

Dims lead_of(const Tensor& t) { return Dims(IntSpan(t.sizes()).first(size_t(t.dim()) - 2)); }
Tensor with_lead(const Tensor& t, const Dims& lead) {
  Dims sizes = lead;
  sizes.push_back(t.size(-2));
  sizes.push_back(t.size(-1));
  return equal(t.sizes(), sizes) ? t : expand(t, sizes, false);
}

void check_arguments(const Tensor& q, const Tensor& k, const Tensor& v, const OptTensor& mask) {
  check(q.dtype() == k.dtype() && q.dtype() == v.dtype(),
        "Expected query, key, and value to have the same dtype, but got query.dtype: ", q.dtype(),
        " key.dtype: ", k.dtype(), " and value.dtype: ", v.dtype(),
        " instead. (scaled_dot_product_attention)");
  check(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2,
        "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
        q.dim(), " key.dim: ", k.dim(), " and value.dim: ", v.dim(),
        " instead. (scaled_dot_product_attention)");
  if (mask)
    check(mask->dtype() == DType::Bool || mask->dtype() == DType::Float32 ||
              mask->dtype() == q.dtype(),
          "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
          "attn_mask.dtype: ",
          mask->dtype(), " and  query.dtype: ", q.dtype(),
          " instead. (scaled_dot_product_attention)");
}

}  // namespace

namespace ops {

Tensor scaled_dot_product_attention_uncast(const Tensor& query, const Tensor& key,
                                           const Tensor& value, const OptTensor& attn_mask,
                                           double dropout_p, bool is_causal,
                                           std::optional<double> scale, bool enable_gqa) {
  check_arguments(query, key, value, attn_mask);
  const double factor =
      scale.value_or(1.0 / std::sqrt(double(std::max<int64_t>(query.size(-1), 1))));
  Tensor q = query, k = key, v = value;
  int64_t group = 1;
  if (enable_gqa) {
    for (const Tensor* t : {&query, &key, &value})
      check<IndexError>(t->dim() >= 3, "Dimension out of range (expected to be in range of [",
                        -t->dim(), ", ", t->dim() - 1,
                        "], but got -3): enable_gqa needs a dimension of heads "
                        "(scaled_dot_product_attention)");
    const int64_t heads = query.size(-3), shared = key.size(-3);
    check(shared > 0 && shared == value.size(-3) && heads % shared == 0,
          "Number of heads in key and value must divide the number of heads in query, but got ",
          shared, ", ", value.size(-3), " and ", heads, " (scaled_dot_product_attention)");
    group = heads / shared;
  }
  bool fused = dropout_p == 0 && q.is_floating() && k.size(-1) == q.size(-1) &&
               v.size(-2) == k.size(-2) && !(attn_mask && attn_mask->requires_grad()) &&
               !is_transform(q) && !is_transform(k) && !is_transform(v) &&
               !(attn_mask && is_transform(*attn_mask));
  if (fused && group == 1 && (lead_of(q) != lead_of(k) || lead_of(q) != lead_of(v))) {
    Dims lead;
    for (const Tensor* t : {&q, &k, &v}) lead = broadcast_shapes(lead, lead_of(*t));
    q = with_lead(q, lead);
    k = with_lead(k, lead);
    v = with_lead(v, lead);
  } else if (fused && group > 1) {
    fused = q.dim() == k.dim() && q.dim() == v.dim();
    for (int64_t d = 0; fused && d + 3 < q.dim(); d++)
      fused = q.sizes()[size_t(d)] == k.sizes()[size_t(d)] &&
              q.sizes()[size_t(d)] == v.sizes()[size_t(d)];
  }
  fused = fused && !(attn_mask && attn_mask->dim() > q.dim());
  check(!(is_causal && attn_mask) || (fused && q.dim() == 4),
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  if (fused) return std::get<0>(_attention({q, k, v}, attn_mask, is_causal, factor));
  NodeMark mark;
  return mark.named(
      composed(q, repeated(k, group), repeated(v, group), attn_mask, dropout_p, is_causal, factor),
      "UnsafeViewBackward0");
}

}  // namespace ops

namespace formulas {

const char* attention_node(const TensorList& qkv) {
  // asked before the kernel looks at its arguments
  const bool four = qkv.size() == 3 && qkv[0].dim() == 4 && qkv[2].dim() == 4 &&
                    qkv[2].size(-1) == qkv[0].size(-1);
  if (four) return "ScaledDotProductFlashAttentionForCpuBackward0";
  return !qkv.empty() && qkv[0].dim() == 2 ? "MmBackward0" : "UnsafeViewBackward0";
}

TensorList attention_grads(const Tensor& grad, const TensorList& qkv, const OptTensor& mask,
                           const TensorList& results, bool causal, double scale) {
  if (!grad.defined()) return {Tensor(), Tensor(), Tensor()};
  if (!grad_enabled()) {
    auto [q, k, v] = _attention_backward(grad, qkv[0], qkv[1], qkv[2], results[0], results[1], mask,
                                         causal, scale);
    return {q, k, v};
  }
  const int64_t group = qkv[0].dim() > 2 && qkv[1].size(-3) ? qkv[0].size(-3) / qkv[1].size(-3) : 1;
  const Tensor q = widened(qkv[0]), k = repeated(widened(qkv[1]), group),
               v = repeated(widened(qkv[2]), group), g = widened(grad);
  const Tensor w = attention_weights(q, k, mask, causal, scale);
  auto turned = [](const Tensor& t) { return transpose(t, -2, -1); };
  const Tensor dw = matmul(g, turned(v)),
               ds = mul(w, sub(dw, sum_dim(mul(dw, w), Dims{-1}, true, std::nullopt), 1));
  auto gathered = [&](const Tensor& t, const Tensor& like) {
    if (group == 1) return t;
    Dims sizes = like.sizes();
    sizes.insert(sizes.size() - 2, group);
    return sum_dim(reshape(t, sizes), Dims{-3}, false, std::nullopt);
  };
  TensorList out{mul(matmul(ds, k), scale), mul(gathered(matmul(turned(ds), q), qkv[1]), scale),
                 gathered(matmul(turned(w), g), qkv[2])};
  for (Tensor& t : out)
    if (t.dtype() != qkv[0].dtype()) t = _to_dtype(t, qkv[0].dtype());
  return out;
}

}  // namespace formulas
}  // namespace flambeau
