#include "core/transform.h"

namespace flambeau {

BoxedHook boxed_hook = nullptr;
constinit thread_local const char* boxed_name = nullptr;
constinit thread_local DeviceType boxed_device = DeviceType::Transform;

TransformRecord::TransformRecord(TransformKind k, int64_t level, Tensor v, Tensor t,
                                 int64_t batch_dim, std::shared_ptr<void> owner)
    : Storage(nullptr, 0, Device{DeviceType::Transform, int8_t(visible_device(v.device()).type)},
              nullptr, nullptr),
      kind(k),
      level(level),
      value(std::move(v)),
      tangent(std::move(t)),
      batch_dim(batch_dim),
      owner(std::move(owner)) {}

void refresh_geometry(const Tensor& t) {
  TransformRecord& r = record_of(t);
  Dims sizes = r.value.sizes(), strides = r.value.strides();
  if (r.kind == TransformKind::Batch) {
    sizes.erase(size_t(r.batch_dim));
    strides.erase(size_t(r.batch_dim));
  }
  t->dtype = r.value.dtype();
  t->set_geometry(sizes, strides, r.value.offset());
}

Tensor make_transform(Ref<TransformRecord> record) {
  const DType dtype = record->value.dtype();
  Tensor out = from_storage(std::move(record), Dims{}, Dims{}, 0, dtype);
  refresh_geometry(out);
  return out;
}

const char* layout_name(SparseLayout layout) {
  static const char* const names[] = {"sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr",
                                      "sparse_bsc"};
  return names[int(layout)];
}

namespace {
// The sparse tensor that `t` is, or that it stands for; null otherwise.
const TransformRecord* sparse_record(const Tensor& t) {
  if (!is_transform(t)) return nullptr;
  const TransformRecord* r = &record_of(t);
  while (r->kind != TransformKind::Sparse) {
    if (!is_transform(r->value)) return nullptr;
    r = &record_of(r->value);
  }
  return r;
}
}  // namespace

bool is_sparse(const Tensor& t) { return sparse_record(t) != nullptr; }
SparseLayout sparse_layout(const Tensor& t) {
  const TransformRecord* r = sparse_record(t);
  check(r != nullptr, "a tensor with layout torch.strided has no sparse layout");
  return SparseLayout(r->batch_dim);
}

Tensor make_sparse(SparseLayout layout, const Tensor& values, IntSpan sizes,
                   std::shared_ptr<void> owner) {
  auto record = make_ref<TransformRecord>(TransformKind::Sparse, 0, values, Tensor(),
                                          int64_t(layout), std::move(owner));
  return from_storage(std::move(record), sizes, contiguous_strides(sizes), 0, values.dtype());
}

void check_has_data(const Tensor& t) {
  check<NotImplementedError>(!is_sparse(t), "this operator reads the elements of a tensor where ",
                             "they lie, which a sparse tensor has not; call to_dense() first");
  check(!is_transform(t),
        "this operator reads the elements of a tensor that a function transform (vmap, grad, jvp) "
        "stands for, which has none; please report it");
}

bool has_values(const Tensor& t) {
  if (t.device().type == DeviceType::CPU) return true;
  if (!is_transform(t)) return false;
  const TransformRecord& r = record_of(t);
  return r.kind != TransformKind::Batch && r.kind != TransformKind::Sparse && has_values(r.value);
}

Tensor readable(const Tensor& t, const char* what) {
  Tensor out = t;
  while (is_transform(out)) {
    const TransformRecord& r = record_of(out);
    check(r.kind != TransformKind::Sparse, what,
          ": Cannot access data pointer of Tensor that doesn't have storage: its layout is sparse; "
          "call to_dense() first");
    check(r.kind != TransformKind::Batch, what,
          ": a tensor inside vmap stands for a batch and has no single value to read; rewrite the "
          "function with operators, or take the value out of vmap");
    out = alias(r.value, t.sizes(), t.strides(), t.offset());
  }
  return out;
}

}  // namespace flambeau
