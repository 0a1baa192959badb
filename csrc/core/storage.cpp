#include "core/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/absent.h"
#include "runtime/allocator.h"
#include "runtime/parallel.h"

namespace flambeau {

// A tensor that is made for the device of a transform's tensor is an ordinary one beside its
// values.
Storage::Storage(size_t bytes, Device device) : bytes_(bytes), capacity_(bytes), device_(device) {
  if (device.type == DeviceType::Transform) device = device_ = visible_device(device);
  if (device.type == DeviceType::Meta) return;
  if (device.type != DeviceType::CPU) [[unlikely]] {
    require_module(device.type);
    fail<NotImplementedError>("no allocator for device '", device,
                              "': this build has cpu and meta");
  }
  data_ = allocate(bytes);
}

Storage::Storage(void* data, size_t bytes, Device device, Deleter deleter, void* context)
    : data_(data),
      bytes_(bytes),
      capacity_(bytes),
      device_(device),
      deleter_(deleter),
      context_(context) {}

Storage::~Storage() {
  if (deleter_)
    deleter_(context_, data_, bytes_);
  else if (data_)
    deallocate(data_, capacity_);
}

void Storage::resize(size_t bytes) {
  check(device_.type != DeviceType::Transform,
        "resize: a tensor inside a function transform (vmap, grad, jvp) cannot change its size");
  check(resizable(),
        "Trying to resize storage that is not resizable (foreign memory, or a NumPy array, a "
        "memoryview or "
        "a DLPack capsule shows it)");
  await_long_work();
  if (device_.type != DeviceType::Meta) {
    if (bytes > capacity_)
      grow(bytes);
    else if (bytes < bytes_)
      release_pages(bytes);
  }
  bytes_ = bytes;
}

void Storage::Memory::free() const {
  if (deleter)
    deleter(context, data, bytes);
  else if (data)
    deallocate(data, bytes);
}

Storage::Memory Storage::exchange(const Memory& memory) {
  await_long_work();
  const Memory before{data_, capacity_, deleter_, context_};
  data_ = memory.data;
  capacity_ = memory.bytes;
  deleter_ = memory.deleter;
  context_ = memory.context;
  return before;
}

void Storage::grow(size_t bytes) {
  void* fresh = allocate(bytes);
  if (data_) {
    std::memcpy(fresh, data_, std::min(bytes, bytes_));
    deallocate(data_, capacity_);
  }
  data_ = fresh;
  capacity_ = bytes;
}

void Storage::release_pages(size_t from) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t start = reinterpret_cast<uintptr_t>(data_);
  const uintptr_t first = (start + from + kPage - 1) & ~(kPage - 1),
                  last = (start + capacity_) & ~(kPage - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace flambeau
