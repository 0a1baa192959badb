#include "runtime/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>

#include "core/error.h"

namespace flambeau {
namespace {

constexpr size_t kSmallest = 64, kSmallLimit = 64 << 10, kHuge = 2 << 20;
constexpr int kSmallClasses = 41;          // 64 B … 64 KB, four per power of two
constexpr size_t kListBytes = 256 << 10;   // a thread keeps at most this much per class

// Class of a small size; sizes of class c: 64 · 2^(c/4) · (1 + (c%4)/4).
int class_of(size_t bytes) {
  if (bytes <= kSmallest) return 0;
  int power = 63 - std::countl_zero(bytes - 1);        // bytes in (2^power, 2^(power+1)]
  size_t quarter = size_t(1) << (power - 2);
  int step = int((bytes - 1 - (size_t(1) << power)) / quarter) + 1;  // 1 … 4
  return (power - 6) * 4 + step;
}
size_t class_size(int c) {
  size_t base = kSmallest << (c / 4);
  return base + base / 4 * size_t(c % 4);
}

struct Counters {
  std::atomic<int64_t> allocated{0}, peak{0}, total{0}, blocks{0}, blocks_total{0}, cached{0}, system{0};
  void add(int64_t bytes, int64_t count) {
    int64_t now = allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    blocks.fetch_add(count, std::memory_order_relaxed);
    if (bytes > 0) {
      total.fetch_add(bytes, std::memory_order_relaxed);
      blocks_total.fetch_add(std::max<int64_t>(count, 0), std::memory_order_relaxed);
      int64_t seen = peak.load(std::memory_order_relaxed);
      while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
      }
    }
  }
};
Counters& counters() {
  static auto* c = new Counters();
  return *c;
}

// Set by FLAMBEAU_NO_CACHE=1 and in sanitized builds: every block is its own malloc.
bool caching() {
#if defined(__SANITIZE_ADDRESS__)
  return false;
#else
  static const bool on = [] {
    const char* v = std::getenv("FLAMBEAU_NO_CACHE");
    return !(v && *v == '1');
  }();
  return on;
#endif
}

size_t cache_cap() {
  static const size_t cap = [] {
    size_t memory = size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE));
    return std::min<size_t>(size_t(2) << 30, memory / 8);
  }();
  return cap;
}

void* system_block(size_t bytes) {
  void* p = nullptr;
  if (bytes >= kHuge) {
    // over-allocate to find an aligned start, then return the edges
    size_t span = bytes + kHuge;
    void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    auto start = reinterpret_cast<uintptr_t>(raw), aligned = (start + kHuge - 1) / kHuge * kHuge;
    if (aligned > start) munmap(raw, aligned - start);
    if (size_t tail = start + span - (aligned + bytes)) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
    p = reinterpret_cast<void*>(aligned);
    madvise(p, bytes, MADV_HUGEPAGE);
  } else if (posix_memalign(&p, kSmallest, bytes) != 0) {
    return nullptr;
  }
  counters().system.fetch_add(int64_t(bytes), std::memory_order_relaxed);
  return p;
}
void return_to_system(void* p, size_t bytes) {
  if (bytes >= kHuge) munmap(p, bytes);
  else std::free(p);
  counters().system.fetch_sub(int64_t(bytes), std::memory_order_relaxed);
}

// Blocks above 64 KB, by size class.
class SharedCache {
 public:
  void* take(size_t bytes) {
    std::lock_guard lock(mutex_);
    auto it = free_.find(bytes);  // sizes are classes: an exact match is the rule
    if (it == free_.end()) return nullptr;
    void* p = it->second;
    held_ -= it->first;
    counters().cached.fetch_sub(int64_t(it->first), std::memory_order_relaxed);
    free_.erase(it);
    return p;
  }
  bool put(void* p, size_t bytes) {
    std::lock_guard lock(mutex_);
    if (held_ + bytes > cache_cap()) return false;
    free_.emplace(bytes, p);
    held_ += bytes;
    counters().cached.fetch_add(int64_t(bytes), std::memory_order_relaxed);
    return true;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    for (auto& [bytes, p] : free_) return_to_system(p, bytes);
    counters().cached.fetch_sub(int64_t(held_), std::memory_order_relaxed);
    held_ = 0;
    free_.clear();
  }

 private:
  std::mutex mutex_;
  std::multimap<size_t, void*> free_;
  size_t held_ = 0;
};
SharedCache& shared_cache() {
  static auto* cache = new SharedCache();
  return *cache;
}

struct FreeBlock {
  FreeBlock* next;
};

struct ThreadLists {
  std::array<FreeBlock*, kSmallClasses> head{};
  std::array<uint32_t, kSmallClasses> count{};
  int64_t pending_bytes = 0, pending_blocks = 0;  // not yet in the counters
  bool gone = false;                              // the thread is ending
  void clear() {
    for (int c = 0; c < kSmallClasses; c++) {
      while (FreeBlock* b = head[size_t(c)]) {
        head[size_t(c)] = b->next;
        return_to_system(b, class_size(c));
      }
      count[size_t(c)] = 0;
    }
  }
  void flush() {
    counters().add(pending_bytes, pending_blocks);
    pending_bytes = pending_blocks = 0;
  }
  void note(int64_t bytes, int64_t blocks) {
    pending_bytes += bytes;
    pending_blocks += blocks;
    if (pending_bytes > int64_t(kSmallLimit) || pending_bytes < -int64_t(kSmallLimit)) flush();
  }
};
// Plain data, so that access needs no initialisation check; Cleanup empties it when the thread ends.
constinit thread_local ThreadLists lists;

struct Cleanup {
  ~Cleanup() {
    lists.clear();
    lists.gone = true;
    lists.flush();
  }
  void touch() {}
};
thread_local Cleanup cleanup;

[[noreturn]] void out_of_memory(size_t bytes) {
  fail<OutOfMemory>("[enforce fail at allocator] DefaultCPUAllocator: can't allocate memory: you tried to allocate ",
                    bytes, " bytes. Free tensors, use smaller batches, or see flambeau memory_stats()");
}

void* with_retry(size_t bytes) {
  void* p = system_block(bytes);
  if (!p) {
    shared_cache().clear();
    if (!lists.gone) lists.clear();
    p = system_block(bytes);
  }
  if (!p) out_of_memory(bytes);
  return p;
}

char empty_block[kSmallest] __attribute__((aligned(64)));

}  // namespace

size_t good_size(size_t bytes) {
  if (bytes <= kSmallLimit) return class_size(class_of(bytes));
  if (bytes > (size_t(1) << 62)) return bytes;
  size_t power = std::bit_floor(bytes - 1), quarter = power / 4;
  size_t size = (bytes + quarter - 1) / quarter * quarter;
  return size >= kHuge ? (size + kHuge - 1) / kHuge * kHuge : size;
}

void* allocate(size_t bytes) {
  if (bytes == 0) return empty_block;
  if (bytes <= kSmallLimit && caching() && !lists.gone) [[likely]] {
    int c = class_of(bytes);
    lists.note(int64_t(class_size(c)), 1);
    if (FreeBlock* b = lists.head[size_t(c)]) [[likely]] {
      lists.head[size_t(c)] = b->next;
      lists.count[size_t(c)]--;
      return b;
    }
    cleanup.touch();
    return with_retry(class_size(c));
  }
  if (bytes > (size_t(1) << 46)) out_of_memory(bytes);
  size_t size = good_size(bytes);
  void* p = nullptr;
  if (caching()) p = shared_cache().take(size);
  if (!p) p = with_retry(size);
  counters().add(int64_t(size), 1);
  return p;
}

void deallocate(void* p, size_t bytes) noexcept {
  if (p == empty_block || !p) return;
  if (bytes <= kSmallLimit && caching() && !lists.gone) [[likely]] {
    int c = class_of(bytes);
    size_t size = class_size(c);
    lists.note(-int64_t(size), -1);
    if (lists.count[size_t(c)] * size < kListBytes || lists.count[size_t(c)] < 4) [[likely]] {
      auto* b = static_cast<FreeBlock*>(p);
      b->next = lists.head[size_t(c)];
      lists.head[size_t(c)] = b;
      lists.count[size_t(c)]++;
      return;
    }
    return_to_system(p, size);
    return;
  }
  size_t size = good_size(bytes);
  counters().add(-int64_t(size), -1);
  if (bytes > kSmallLimit && caching() && shared_cache().put(p, size)) return;
  return_to_system(p, size);
}

std::vector<std::pair<const char*, int64_t>> MemoryStats::items() const {
  return {{"allocated_bytes.all.current", allocated}, {"allocated_bytes.all.peak", allocated_peak},
          {"allocated_bytes.all.allocated", allocated_total}, {"allocation.all.current", blocks},
          {"allocation.all.allocated", blocks_total}, {"cached_bytes.all.current", cached},
          {"reserved_bytes.all.current", from_system}};
}

MemoryStats memory_stats() {
  lists.flush();
  Counters& c = counters();
  return {c.allocated, c.peak, c.total, c.blocks, c.blocks_total, c.cached, c.system};
}

void reset_peak_memory_stats() {
  lists.flush();
  counters().peak.store(counters().allocated.load());
}

void empty_cache() {
  shared_cache().clear();
  lists.clear();
}

}  // namespace flambeau
