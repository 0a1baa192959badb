// Tensors that operators write into.
#include "dispatch/promotion.h"
#include "kernels/pointwise.h"
#include "runtime/parallel.h"

namespace flambeau {

void resize_tensor(const Tensor& t, IntSpan sizes) {
  await_long_work();
  Dims strides = contiguous_strides(sizes);
  for (int64_t s : sizes) check(s >= 0, "negative size in ", sizes);
  const size_t bytes = size_t(storage_bytes(sizes, strides, t.offset(), t.itemsize()));
  if (bytes > t.storage()->bytes()) t.storage()->resize(bytes);
  t->set_geometry(sizes, strides, t.offset());
}

void prepare_out(const char* op, const Tensor& out, IntSpan sizes, DType dtype) {
  check(can_cast(dtype, out.dtype()), "result type ", info(dtype).scalar_type,
        " can't be cast to the desired output type ", info(out.dtype()).scalar_type, " (", op,
        ", argument 'out')");
  if (!equal(out.sizes(), sizes)) resize_tensor(out, sizes);
  check_overlap(op, out, out);
}

void check_overlap(const char* op, const Tensor& out, const Tensor& in) {
  if (out.is_same(in)) {
    for (int64_t d = 0; d < out.dim(); d++)
      check(out.sizes()[size_t(d)] <= 1 || out.strides()[size_t(d)] != 0,
            "unsupported operation: more than one element of the "
            "written-to tensor refers to a single memory location. Please clone() the tensor "
            "before performing the operation. (",
            op, ")");
    return;
  }
  if (out.storage() != in.storage() || out.numel() == 0 || in.numel() == 0) return;
  if (out.offset() == in.offset() && equal(out.sizes(), in.sizes()) &&
      equal(out.strides(), in.strides()))
    return;
  int64_t out_end = out.offset() + storage_extent(out.sizes(), out.strides()),
          in_end = in.offset() + storage_extent(in.sizes(), in.strides());
  const bool apart = out_end <= in.offset() || in_end <= out.offset();
  const auto fills_range = [](const Tensor& t) {
    return t.is_contiguous() || storage_extent(t.sizes(), t.strides()) == t.numel();
  };
  const bool dense = fills_range(out) && fills_range(in);
  check(apart || !dense,
        "unsupported operation: some elements of the input tensor and the written-to tensor refer "
        "to a single memory "
        "location. Please clone() the tensor before performing the operation. (",
        op, ")");
}

}  // namespace flambeau
