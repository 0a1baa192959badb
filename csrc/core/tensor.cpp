#include "core/tensor.h"

#include <limits>
#include <numeric>

#include "runtime/allocator.h"

namespace flambeau {

thread_local bool creates_inference_tensors __attribute__((tls_model("initial-exec"))) = false;

PyObjectRelease TensorImpl::release_pyobject = nullptr;
CallSite (*current_call_site)() = [] { return CallSite(0); };

void* TensorImpl::operator new(size_t bytes) { return allocate(bytes); }
void TensorImpl::operator delete(void* p, size_t bytes) { deallocate(p, bytes); }

TensorImpl::~TensorImpl() {
  if (owns_pyobject && pyobject) release_pyobject(pyobject);
}

void TensorImpl::refresh() {
  int64_t step = 1;
  bool dense = true, overflow = false;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1) {
      dense &= strides[i] == step;
      overflow |= __builtin_mul_overflow(step, sizes[i], &step);
    }
  }
  if (overflow) [[unlikely]] {
    const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    check(empty, "numel: integer multiplication overflow of the sizes ", sizes);
    step = 0;
  }
  numel = step;
  contiguous = dense || step == 0;
}

void TensorImpl::set_geometry(IntSpan new_sizes, IntSpan new_strides, int64_t new_offset) {
  sizes = Dims(new_sizes);
  strides = Dims(new_strides);
  offset = new_offset;
  refresh();
}

namespace {

// Byte count of a tensor; sizes that overflow are an error, not a small allocation.
size_t checked_bytes(IntSpan sizes, int64_t width) {
  int64_t n = width;
  bool overflow = false;
  for (int64_t s : sizes) {
    check(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
    if (s == 0) return 0;
  }
  for (int64_t s : sizes) overflow |= __builtin_mul_overflow(n, s, &n);
  check(!overflow, "Storage size calculation overflowed with sizes=", sizes);
  return size_t(n);
}

Ref<TensorImpl> new_impl(Ref<Storage> storage, DType dtype) {
  auto impl = make_ref<TensorImpl>();
  impl->device = storage->device();
  impl->storage = std::move(storage);
  impl->dtype = dtype;
  impl->inference = creates_inference_tensors;
  return impl;
}

}  // namespace

Tensor empty(IntSpan sizes, DType dtype, Device device, MemoryFormat format) {
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
    check(sizes.size() == rank, "required rank ", rank, " tensor to use ",
          memory_format_name(format), " format");
    checked_bytes(sizes, itemsize(dtype));
    return empty_strided(sizes, channels_last_strides(sizes), dtype, device);
  }
  size_t bytes = checked_bytes(sizes, itemsize(dtype));
  auto impl = new_impl(make_ref<Storage>(bytes, device), dtype);
  impl->sizes.assign(sizes.data(), sizes.size());
  impl->strides.resize(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    impl->strides[i] = step;
    // of a tensor without elements the product of the other sizes may not fit
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step)) step = 0;
  }
  impl->numel = int64_t(bytes) / itemsize(dtype);
  return Tensor(std::move(impl));
}

Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
  check(sizes.size() == strides.size(), "empty_strided: sizes ", sizes, " and strides ", strides,
        " have different lengths");
  checked_bytes(sizes, itemsize(dtype));
  for (int64_t s : strides)
    check(s >= 0, "as_strided: Negative strides are not supported, got strides: ", strides);
  int64_t extent = storage_extent(sizes, strides);
  auto impl = new_impl(make_ref<Storage>(size_t(extent * itemsize(dtype)), device), dtype);
  impl->set_geometry(sizes, strides, 0);
  return Tensor(std::move(impl));
}

Tensor empty_like(const Tensor& like, std::optional<DType> dtype) {
  DType t = dtype.value_or(like.dtype());
  if (like.is_contiguous()) return empty(like.sizes(), t, like.device());
  return empty_strided(like.sizes(), dense_strides_like(like.sizes(), like.strides()), t,
                       like.device());
}

Tensor alias(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset) {
  auto impl = new_impl(base->storage, base.dtype());
  impl->set_geometry(sizes, strides, offset);
  version_counter(base);
  impl->counter = base->counter;
  impl->inference = base->inference;
  return Tensor(std::move(impl));
}

Tensor from_storage(Ref<Storage> storage, IntSpan sizes, IntSpan strides, int64_t offset,
                    DType dtype) {
  auto impl = new_impl(std::move(storage), dtype);
  impl->set_geometry(sizes, strides, offset);
  return Tensor(std::move(impl));
}

VersionCounter& version_counter(const Tensor& t) {
  if (!t->counter) t->counter = make_ref<VersionCounter>();
  return *t->counter;
}

void bump_version(const Tensor& t, const char* op) {
  version_counter(t).bump(op, current_call_site());
}

int64_t storage_extent(IntSpan sizes, IntSpan strides) {
  int64_t last = 0;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] == 0) return 0;
    int64_t span;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &span);
    overflow |= __builtin_add_overflow(last, span, &last);
  }
  check(!overflow && last < std::numeric_limits<int64_t>::max() / 32,
        "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
  return last + 1;
}

int64_t storage_bytes(IntSpan sizes, IntSpan strides, int64_t offset, int64_t width) {
  const int64_t extent = storage_extent(sizes, strides);
  if (extent == 0) return 0;
  check(offset < std::numeric_limits<int64_t>::max() / 32,
        "Storage size calculation overflowed with sizes=", sizes, ", strides=", strides,
        " and storage offset ", offset);
  return (offset + extent) * width;
}

bool is_non_overlapping_and_dense(IntSpan sizes, IntSpan strides) {
  Dims order;
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] != 1) order.push_back(int64_t(i));
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return strides[size_t(a)] < strides[size_t(b)]; });
  int64_t step = 1;
  for (int64_t d : order) {
    if (sizes[size_t(d)] == 0) return true;
    if (strides[size_t(d)] != step) return false;
    step *= sizes[size_t(d)];
  }
  return true;
}

Dims dense_strides_like(IntSpan sizes, IntSpan strides) {
  size_t n = sizes.size();
  Dims order;
  for (size_t i = n; i-- > 0;) order.push_back(int64_t(i));
  // insertion sort by stride, stable, dims of size 1 and broadcast dims keep their place
  for (size_t i = 1; i < n; i++)
    for (size_t j = i; j > 0; j--) {
      size_t a = size_t(order[j - 1]), b = size_t(order[j]);
      bool swap = strides[a] > strides[b] && strides[b] != 0 && strides[a] != 0;
      if (!swap) break;
      std::swap(order[j - 1], order[j]);
    }
  Dims out;
  out.resize(n);
  int64_t step = 1;
  for (int64_t d : order) {
    out[size_t(d)] = step;
    step *= std::max<int64_t>(sizes[size_t(d)], 1);
  }
  return out;
}

Dims channels_last_strides(IntSpan sizes) {
  size_t n = sizes.size();
  Dims out;
  out.resize(n);
  int64_t step = 1;
  auto place = [&](size_t d) {
    out[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  };
  place(1);
  for (size_t d = n - 1; d > 1; d--) place(d);
  place(0);
  return out;
}

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve)
    return is_contiguous();
  int64_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (dim() != rank) return false;
  Dims want = channels_last_strides(sizes());
  for (size_t i = 0; i < want.size(); i++)
    if (sizes()[i] != 1 && strides()[i] != want[i]) return false;
  return true;
}

MemoryFormat suggest_memory_format(const Tensor& t) {
  if (!t.is_contiguous()) {
    if (t.is_contiguous(MemoryFormat::ChannelsLast)) return MemoryFormat::ChannelsLast;
    if (t.is_contiguous(MemoryFormat::ChannelsLast3d)) return MemoryFormat::ChannelsLast3d;
  }
  return MemoryFormat::Contiguous;
}

}  // namespace flambeau
