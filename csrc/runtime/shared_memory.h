// Memory that several processes show: anonymous files, which have no name that could stay behind
// when a process is killed. The pages go with the last mapping and the last descriptor.
#pragma once
#include <atomic>
#include <cstddef>

#include "core/intrusive.h"
#include "core/storage.h"

namespace flambeau {

// One mapped anonymous file. Several storages may lie in it.
class SharedBlock : public RefCounted {
 public:
  // A new block of zeros. `populate` makes its pages now, which costs less than one by one.
  static Ref<SharedBlock> create(size_t bytes, bool populate);
  // Maps the block behind a descriptor that came from another process, and owns the descriptor.
  static Ref<SharedBlock> open(int descriptor, size_t bytes, bool populate);
  ~SharedBlock() override;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }  // -1: closed
  // The mapping stays; the block cannot be sent to other processes any more.
  void close_descriptor();
  // How many living storages lie in it.
  int users() const { return users_.load(std::memory_order_acquire); }

  // A storage on a part of the block.
  static Ref<Storage> storage(const Ref<SharedBlock>& block, size_t offset, size_t bytes);

 private:
  SharedBlock(int descriptor, char* data, size_t bytes)
      : descriptor_(descriptor), data_(data), bytes_(bytes) {}
  friend struct SharedPart;

  int descriptor_;
  char* data_;
  size_t bytes_;
  std::atomic<int> users_{0};
};

// The block that a storage lies in, or null.
Ref<SharedBlock> shared_block(const Storage& storage);
// Moves a storage into a block of its own that can be sent, under all its views.
void share(Storage& storage);

}  // namespace flambeau
