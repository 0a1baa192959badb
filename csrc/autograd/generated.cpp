#include "autograd/generated.h"

#include <algorithm>
#include "core/transform.h"

namespace flambeau {

void fill_undefined(Node& node, Grads& grads) {
  grads.resize(node.outputs.size());
  for (size_t i = 0; i < grads.size(); i++)
    if (!grads[i].defined()) {
      const OutputMeta& m = node.outputs[i];
      grads[i] = empty(m.sizes, is_differentiable(m.dtype) ? m.dtype : DType::Float32, m.device);
      fill_kernel(grads[i], 0);
    }
}

bool changes_directly(const OpEntry& entry, void* own, const Tensor& self,
                      std::initializer_list<const Tensor*> read) {
  const auto plain = [](const Tensor& t) { return t->device.type == DeviceType::CPU; };
  if (entry.kernel[int(DeviceType::CPU)] != own || !plain(self)) return false;
  for (const Tensor* t : read)
    if (t && t->defined() && (!plain(*t) || t->storage() == self.storage())) return false;
  if (self.is_contiguous()) return true;
  // Each dimension steps over all that the finer ones reach.
  Dims order;
  for (size_t d = 0; d < self.sizes().size(); d++)
    if (self.sizes()[d] > 1) order.push_back(int64_t(d));
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return self.strides()[size_t(a)] < self.strides()[size_t(b)];
  });
  int64_t reach = 0;
  for (int64_t d : order) {
    if (self.strides()[size_t(d)] <= reach) return false;
    reach += self.strides()[size_t(d)] * (self.sizes()[size_t(d)] - 1);
  }
  return true;
}

void check_inplace_result(const char* op, const Tensor& self, const Tensor& result) {
  check(equal(self.sizes(), result.sizes()), "output with shape ", self.sizes(),
        " doesn't match the broadcast shape ", result.sizes(), " (", op, ")");
  check(can_cast(result.dtype(), self.dtype()), "result type ", result.dtype(),
        " can't be cast to the desired output type ", self.dtype(), " (", op, ")");
}

DType dtype_for_out(const char* op, std::optional<DType> dtype, const Tensor& out) {
  check(!dtype || *dtype == out.dtype(), op, ": dtype ", dtype.value_or(DType::Float32),
        " does not match dtype of out parameter (", out.dtype(), ")");
  return out.dtype();
}

void write_out(const char* op, const Tensor& out, const Tensor& result, bool exact) {
  if (is_transform(out) || is_transform(result)) [[unlikely]] {
    for (const Tensor& t : {out, result})
      check<NotImplementedError>(!is_transform(t) || record_of(t).kind != TransformKind::Dual,
                                 "Trying to use forward AD with ", op,
                                 "_out that does not support it because it is an out= function");
    check(equal(out.sizes(), result.sizes()), op,
          ": inside a function transform a tensor for 'out' ", "keeps its shape, ", out.sizes(),
          ", but the result has shape ", result.sizes());
    ops::copy_(out, result, false);
    return;
  }
  check(out.device() == result.device(), op, ": Expected out tensor to have device ",
        result.device(), ", but got ", out.device(), " instead");
  // truth may go to uint8, too
  const bool fits = !exact || out.dtype() == result.dtype() ||
                    (result.dtype() == DType::Bool && out.dtype() == DType::UInt8);
  check(fits, op, ": Expected out tensor to have dtype ", result.dtype(), ", but got ", out.dtype(),
        " instead");
  prepare_out(op, out, result.sizes(), result.dtype());
  copy_kernel(out, result);
  bump_version(out, op);
}

void check_apart(const char* op, const Tensor& out, const Tensor& t) {
  if (out.storage() != t.storage() || out.is_meta() || !out.numel() || !t.numel()) return;
  const auto fills_range = [](const Tensor& x) {
    return storage_extent(x.sizes(), x.strides()) == x.numel();
  };
  const char *out_end = out.bytes() + out.numel() * out.itemsize(),
             *t_end = t.bytes() + t.numel() * t.itemsize();
  check(!fills_range(out) || !fills_range(t) || out_end <= t.bytes() || t_end <= out.bytes(),
        "unsupported operation: some elements of the input tensor and the written-to tensor refer "
        "to a single memory location. Please clone() the tensor before performing the operation. (",
        op, ")");
}

namespace {
struct FlatBackward final : Node {
  const char* own_name() const override { return "FlatBackward"; }
  Grads apply(Grads grads) override {
    if (!grads[0].defined()) return Grads(edges.size());
    const OutputMeta& m = edges[1].node->outputs[edges[1].input_nr];
    Tensor zero = empty(m.sizes, m.dtype, m.device);
    fill_kernel(zero, 0);
    return {grads[0], zero};
  }
};
}  // namespace

Tensor with_flat_derivative(const Node& node, size_t input, const Tensor& grad, const char* name) {
  if (!grad_enabled() || !grad.defined() || !node.edges[input]) return grad;
  auto flat = make_ref<FlatBackward>();
  flat->label = name;
  add_edge(*flat, grad);
  flat->edges.push_back(node.edges[input]);
  Tensor out = detach(grad);
  set_history(out, flat);
  return out;
}

void require_meta(const char* op, const char* name, const Tensor& t) {
  check(
      !t.defined() || t.is_meta(), op,
      ": Expected all tensors to be on the same device, but found at least two devices, meta and ",
      t.device(), " (argument '", name, "')!");
}

void mark_view(const Tensor& result, const Tensor& base, const char* op, bool several) {
  if (result.is_same(base) || !is_differentiable(base.dtype())) return;
  if (is_transform(base) && is_sparse(base)) [[unlikely]]
    return;  // what views do makes new sparse tensors
  if (thread_state.inference_mode || base->inference) return;
  if (!grad_enabled()) {
    if (base->requires_grad) set_view(result, base, op, ViewKind::NoGrad);
    return;
  }
  set_view(result, base, op, several ? ViewKind::Several : ViewKind::Plain);
}

}  // namespace flambeau
