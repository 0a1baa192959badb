// Tensors of function transforms (vmap, grad, jvp): a tensor that stands for others. It has sizes,
// strides and a dtype as any tensor, but no data: its storage is this record. Views and aliases
// that autograd makes share the record. Operators on such a tensor go to the interpreter of its
// level.
#pragma once
#include <memory>

#include "core/boxed.h"

namespace flambeau {

enum class TransformKind : uint8_t {
  Batch,  // of `value`, one dimension is hidden
  Grad,   // `value`, with a history of its own
  Dual,   // `value` and its directional derivative `tangent` (undefined: zero)
};

struct TransformRecord final : Storage {
  TransformRecord(TransformKind k, int64_t level, Tensor value, Tensor tangent, int64_t batch_dim,
                  std::shared_ptr<void> owner);
  TransformKind kind;
  int64_t level;
  Tensor value, tangent;
  int64_t batch_dim;
  std::shared_ptr<void> owner;  // what the interpreter keeps of the level
};

inline bool is_transform(const Tensor& t) {
  return t.defined() && t->device.type == DeviceType::Transform;
}
// The record of a tensor with is_transform.
inline TransformRecord& record_of(const Tensor& t) {
  return static_cast<TransformRecord&>(*t->storage);
}
Tensor make_transform(Ref<TransformRecord> record);
// Gives the tensor the geometry that its record's value has now.
void refresh_geometry(const Tensor& t);
// For kernels that are called beside the operators: an error for a transform's tensor.
void check_has_data(const Tensor& t);
// Whether elements can be looked at: not those of meta tensors and batches.
bool has_values(const Tensor& t);
// The tensor whose elements these are; RuntimeError for a batch.
Tensor readable(const Tensor& t, const char* what);

}  // namespace flambeau
