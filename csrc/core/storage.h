// Storage: a block of bytes on a device, shared by views. VersionCounter counts in-place changes
// and remembers the last one (operator and call site) for the message of a stale saved tensor.
#pragma once
#include <atomic>
#include <cstddef>

#include "core/device.h"
#include "core/intrusive.h"

namespace flambeau {

// A call site is a small number into the table that bind/ keeps (0: unknown).
using CallSite = uint32_t;

struct VersionCounter : RefCounted {
  uint32_t version = 0;
  CallSite site = 0;
  const char* op = nullptr;
  void bump(const char* by, CallSite at) {
    version++;
    op = by;
    site = at;
  }
};

class Storage : public RefCounted {
 public:
  using Deleter = void (*)(void* context, void* data, size_t bytes);
  // Allocates from the caching allocator; meta storages have no data.
  Storage(size_t bytes, Device device);
  // Wraps foreign memory: `deleter(context, …)` runs when the last view goes.
  Storage(void* data, size_t bytes, Device device, Deleter deleter, void* context);
  ~Storage() override;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool resizable() const { return deleter_ == nullptr && exports_ == 0; }
  // Keeps the common prefix. A smaller size gives the pages back but keeps the addresses, so that
  // a tensor that still shows the old size reads zeros, not foreign memory.
  void resize(size_t bytes);
  // While arrays of others (NumPy, DLPack) show this memory it must not move.
  void pin() { exports_++; }
  void unpin() { exports_--; }
  bool pinned() const { return exports_ != 0; }

  // A block of memory and who frees it: the allocator where `deleter` is null.
  struct Memory {
    void* data;
    size_t bytes;
    Deleter deleter;
    void* context;
    void free() const;
  };
  // Puts other memory in place of this one, under all views; the caller frees what it gets back.
  Memory exchange(const Memory& memory);
  Deleter deleter() const { return deleter_; }
  void* context() const { return context_; }

 private:
  void grow(size_t bytes);
  void release_pages(size_t from);

  void* data_ = nullptr;
  size_t bytes_ = 0, capacity_ = 0;
  std::atomic<int> exports_ = 0;
  Device device_;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace flambeau
