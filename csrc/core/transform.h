// Tensors that stand for others: those of function transforms (vmap, grad, jvp) and sparse ones.
// Such a tensor has sizes, strides and a dtype as any, but no data: its storage is this record.
// Views and aliases that autograd makes share the record. Operators on it go to the interpreter of
// its level, on sparse ones to the rules of sparse tensors.
#pragma once
#include <memory>

#include "core/boxed.h"

namespace flambeau {

enum class TransformKind : uint8_t {
  Batch,   // of `value`, one dimension is hidden
  Grad,    // `value`, with a history of its own
  Dual,    // `value` and its directional derivative `tangent` (undefined: zero)
  Sparse,  // the values of a sparse tensor; level 0, `owner` has the indices
};
// How a sparse tensor keeps its indices.
enum class SparseLayout : uint8_t { Coo, Csr, Csc, Bsr, Bsc };
const char* layout_name(SparseLayout layout);  // "sparse_coo"

struct TransformRecord final : Storage {
  TransformRecord(TransformKind k, int64_t level, Tensor value, Tensor tangent, int64_t batch_dim,
                  std::shared_ptr<void> owner);
  TransformKind kind;
  int64_t level;
  Tensor value, tangent;
  int64_t batch_dim;  // of a sparse tensor its SparseLayout
  std::shared_ptr<void>
      owner;  // what the interpreter keeps of the level, or the rules of the tensor
};

inline bool is_transform(const Tensor& t) {
  return t.defined() && t->device.type == DeviceType::Transform;
}
// A sparse tensor, or one of a transform that stands for one.
bool is_sparse(const Tensor& t);
// The layout of a tensor with is_sparse.
SparseLayout sparse_layout(const Tensor& t);
// The record of a tensor with is_transform.
inline TransformRecord& record_of(const Tensor& t) {
  return static_cast<TransformRecord&>(*t->storage);
}
Tensor make_transform(Ref<TransformRecord> record);
Tensor make_sparse(SparseLayout layout, const Tensor& values, IntSpan sizes,
                   std::shared_ptr<void> owner);
// Gives the tensor the geometry that its record's value has now.
void refresh_geometry(const Tensor& t);
// For kernels that are called beside the operators: an error for a transform's tensor.
void check_has_data(const Tensor& t);
// Whether elements can be looked at: not those of meta tensors, batches and sparse tensors.
bool has_values(const Tensor& t);
// The tensor whose elements these are; RuntimeError for a batch.
Tensor readable(const Tensor& t, const char* what);

}  // namespace flambeau
