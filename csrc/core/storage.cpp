#include "core/storage.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "runtime/allocator.h"

namespace flambeau {

Storage::Storage(size_t bytes, Device device) : bytes_(bytes), device_(device) {
  if (device.type == DeviceType::Meta) return;
  check<NotImplementedError>(device.type == DeviceType::CPU, "no allocator for device '",
                             to_string(device), "': this build has cpu and meta");
  data_ = allocate(bytes);
}

Storage::Storage(void* data, size_t bytes, Device device, Deleter deleter, void* context)
    : data_(data), bytes_(bytes), device_(device), deleter_(deleter), context_(context) {}

Storage::~Storage() {
  if (deleter_) deleter_(context_, data_, bytes_);
  else if (data_) deallocate(data_, bytes_);
}

void Storage::resize(size_t bytes) {
  check(resizable(), "Trying to resize storage that is not resizable");
  if (device_.type != DeviceType::Meta && bytes != bytes_) {
    void* fresh = allocate(bytes);
    if (data_) {
      std::memcpy(fresh, data_, std::min(bytes, bytes_));
      deallocate(data_, bytes_);
    }
    data_ = fresh;
  }
  bytes_ = bytes;
}

}  // namespace flambeau
