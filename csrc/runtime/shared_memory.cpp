#include "runtime/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace flambeau {

// What a storage holds of its block.
struct SharedPart {
  SharedPart(const Ref<SharedBlock>& of) : block(of) { block->users_++; }
  ~SharedPart() {
    if (exported_before) before.free();
    block->users_--;
  }
  static void release(void* context, void*, size_t) { delete static_cast<SharedPart*>(context); }

  Ref<SharedBlock> block;
  // Where the storage lay while an array of others showed it, who may still do.
  Storage::Memory before{};
  bool exported_before = false;
};

namespace {

// Descriptors are what runs out first, so that the message says what helps.
[[noreturn]] void fail_system(const char* what, size_t bytes, int code) {
  if (code == EMFILE || code == ENFILE)
    fail("shared memory: too many open files for another block of ", bytes,
         " bytes; raise the limit (ulimit -n), or keep fewer shared tensors at a time");
  fail("shared memory: ", what, " of ", bytes, " bytes failed: ", std::strerror(code));
}

char* map(int descriptor, size_t bytes, bool populate) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | (populate ? MAP_POPULATE : 0), descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<char*>(data);
}

}  // namespace

Ref<SharedBlock> SharedBlock::create(size_t bytes, bool populate) {
  bytes = std::max<size_t>(bytes, 1);
  const int descriptor = memfd_create("flambeau", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) fail_system("a block", bytes, errno);
  char* data = nullptr;
  // Sealed against shrinking, a receiver can read it without fear of SIGBUS.
  if (ftruncate(descriptor, off_t(bytes)) == 0 &&
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
    data = map(descriptor, bytes, populate);
  if (!data) {
    const int code = errno;
    ::close(descriptor);
    fail_system("a block", bytes, code);
  }
  return Ref<SharedBlock>(new SharedBlock(descriptor, data, bytes));
}

Ref<SharedBlock> SharedBlock::open(int descriptor, size_t bytes, bool populate) {
  bytes = std::max<size_t>(bytes, 1);
  struct stat status{};
  const bool known = fstat(descriptor, &status) == 0;
  const int seals = known ? fcntl(descriptor, F_GET_SEALS) : -1;
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || size_t(status.st_size) < bytes) {
    if (known) ::close(descriptor);
    fail("shared memory: descriptor ", descriptor, " is no block of ", bytes, " bytes");
  }
  char* data = map(descriptor, bytes, populate);
  if (!data) {
    const int code = errno;
    ::close(descriptor);
    fail_system("mapping", bytes, code);
  }
  return Ref<SharedBlock>(new SharedBlock(descriptor, data, bytes));
}

SharedBlock::~SharedBlock() {
  munmap(data_, bytes_);
  close_descriptor();
}

void SharedBlock::close_descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Ref<Storage> SharedBlock::storage(const Ref<SharedBlock>& block, size_t offset, size_t bytes) {
  check<ValueError>(offset <= block->bytes() && bytes <= block->bytes() - offset,
                    "shared memory: bytes ", offset, " to ", offset + bytes,
                    " are not in a block of ", block->bytes());
  auto part = std::make_unique<SharedPart>(block);
  auto made =
      make_ref<Storage>(block->data() + offset, bytes, Device{}, SharedPart::release, part.get());
  part.release();
  return made;
}

Ref<SharedBlock> shared_block(const Storage& storage) {
  if (storage.deleter() != SharedPart::release) return nullptr;
  return static_cast<SharedPart*>(storage.context())->block;
}

void share(Storage& storage) {
  check<NotImplementedError>(storage.device().type == DeviceType::CPU,
                             "share_memory_: a tensor on ", to_string(storage.device()),
                             " has no memory to share");
  if (auto block = shared_block(storage); block && block->descriptor() >= 0) return;
  auto part = std::make_unique<SharedPart>(SharedBlock::create(storage.bytes(), true));
  char* data = part->block->data();
  if (storage.bytes()) std::memcpy(data, storage.data(), storage.bytes());
  const bool exported = storage.pinned();
  const auto before = storage.exchange(
      {data, std::max<size_t>(storage.bytes(), 1), SharedPart::release, part.get()});
  if (exported) {
    part->before = before;
    part->exported_before = true;
  } else {
    before.free();
  }
  part.release();
}

}  // namespace flambeau
