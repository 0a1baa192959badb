// Tensor: a handle to TensorImpl, which says where the elements lie (storage, offset, sizes,
// strides), what they are (dtype, device) and carries the autograd record and the Python object as
// opaque pointers. The class has no generated methods, so a new operator does not rebuild the
// world.
#pragma once
#include <memory>
#include <optional>

#include "core/device.h"
#include "core/dims.h"
#include "core/dtype.h"
#include "core/intrusive.h"
#include "core/scalar.h"
#include "core/storage.h"

namespace flambeau {

// What autograd/ hangs on a tensor; see autograd/meta.h.
struct AutogradRecord {
  virtual ~AutogradRecord() = default;
};

// The Python object of a tensor that outlives its last Python reference (see bind/tensor_type.cpp).
using PyObjectRelease = void (*)(void* object);

class TensorImpl final : public RefCounted {
 public:
  Ref<Storage> storage;
  int64_t offset = 0;  // in elements
  int64_t numel = 0;
  Dims sizes, strides;
  DType dtype = DType::Float32;
  Device device;
  bool contiguous = true;
  bool requires_grad = false;  // a leaf that asked for it, or a result with a grad_fn
  bool inference = false;
  bool wrapped_number = false;  // made from a Python number: weak in promotion
  bool owns_pyobject = false;
  void* pyobject = nullptr;
  Ref<VersionCounter> counter;  // made on first need; shared among views
  std::unique_ptr<AutogradRecord> autograd;

  ~TensorImpl() override;
  void set_geometry(IntSpan new_sizes, IntSpan new_strides, int64_t new_offset);
  void refresh();  // numel and contiguous from sizes and strides
  static void* operator new(size_t bytes);
  static void operator delete(void* p, size_t bytes);
  static PyObjectRelease release_pyobject;
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return bool(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* operator->() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }

  const Dims& sizes() const { return impl_->sizes; }
  const Dims& strides() const { return impl_->strides; }
  int64_t dim() const { return impl_->sizes.ndim(); }
  int64_t size(int64_t d) const { return impl_->sizes[size_t(wrap_dim(d, dim()))]; }
  int64_t stride(int64_t d) const { return impl_->strides[size_t(wrap_dim(d, dim()))]; }
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  bool is_meta() const { return impl_->device.type == DeviceType::Meta; }
  bool is_contiguous() const { return impl_->contiguous; }
  bool is_contiguous(MemoryFormat format) const;
  bool requires_grad() const { return impl_->requires_grad; }
  bool is_complex() const { return flambeau::is_complex(dtype()); }
  bool is_floating() const { return flambeau::is_floating(dtype()); }
  int64_t itemsize() const { return flambeau::itemsize(dtype()); }
  const Ref<Storage>& storage() const { return impl_->storage; }
  uint32_t version() const { return impl_->counter ? impl_->counter->version : 0; }

  // First element. The typed form trusts the caller to have looked at dtype().
  char* bytes() const {
    return static_cast<char*>(impl_->storage->data()) + impl_->offset * itemsize();
  }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(bytes());
  }
  // A bool tensor's elements, true where not 0. A view of another dtype may hold more than 0 and 1,
  // which C++ may not read as bool.
  const uint8_t* truth() const { return data<uint8_t>(); }

 private:
  Ref<TensorImpl> impl_;
};

using OptTensor = std::optional<Tensor>;
using TensorList = std::vector<Tensor>;

// An argument that is a tensor or a Python number (`x + 2`).
class Operand {
 public:
  Operand(const Tensor& t) : tensor_(t) {}
  Operand(const Scalar& s) : scalar_(s) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T v) : scalar_(v) {}
  bool is_tensor() const { return tensor_.defined(); }
  const Tensor& tensor() const { return tensor_; }
  const Scalar& scalar() const { return scalar_; }
  bool requires_grad() const { return is_tensor() && tensor_.requires_grad(); }
  bool is_complex() const { return is_tensor() ? tensor_.is_complex() : scalar_.is_complex(); }

 private:
  Tensor tensor_;
  Scalar scalar_;
};

// Whether tensors made in this thread are inference tensors; set with the mode.
extern thread_local bool creates_inference_tensors;

// ---- allocation and aliases below autograd (no history, no dispatch) ----------------------------
Tensor empty(IntSpan sizes, DType dtype, Device device = {},
             MemoryFormat format = MemoryFormat::Contiguous);
Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device = {});
// Same sizes and device; strides follow `like` when it is dense (channels-last stays so).
Tensor empty_like(const Tensor& like, std::optional<DType> dtype = {});
// Another view of the same storage, sharing its version counter; not recorded by autograd.
Tensor alias(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset);
Tensor from_storage(Ref<Storage> storage, IntSpan sizes, IntSpan strides, int64_t offset,
                    DType dtype);

// The counter of a tensor, made on first need.
VersionCounter& version_counter(const Tensor& t);
// Marks `t` as changed in place by operator `op` (name with static lifetime).
void bump_version(const Tensor& t, const char* op);
// The Python call site running now; set by bind/.
extern CallSite (*current_call_site)();

// Strides of a dense tensor whose dimensions are laid out in the order of `like`'s strides.
Dims dense_strides_like(IntSpan sizes, IntSpan strides);
bool is_non_overlapping_and_dense(IntSpan sizes, IntSpan strides);
Dims channels_last_strides(IntSpan sizes);
MemoryFormat suggest_memory_format(const Tensor& t);
// Elements between the first and the one past the last that a view touches.
int64_t storage_extent(IntSpan sizes, IntSpan strides);
// Bytes of storage that a view needs; an error where they overflow.
int64_t storage_bytes(IntSpan sizes, IntSpan strides, int64_t offset, int64_t width);

}  // namespace flambeau
