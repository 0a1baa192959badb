#include "runtime/allocator.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "runtime/cpu.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

namespace flambeau {
namespace {

constexpr size_t kAlignment = 64, kSmallLimit = 64 << 10, kHugePage = 2 << 20;
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kLargest = size_t(1) << 39;  // beyond that the sanitizer aborts
#else
constexpr size_t kLargest = size_t(1) << 46;
#endif
constexpr int kSmallClasses = 41, kClasses = 165;  // to 64 KB, to 2^46 bytes
constexpr size_t kListBytes = 256 << 10;           // a thread's list of one class keeps this much
constexpr uint32_t kListBlocks = 4;                // or this many blocks
constexpr int64_t kReport = 64 << 10;              // change that a thread reports to the shared sum

// Class c holds blocks of 64·2^(c/4)·(1 + (c mod 4)/4) bytes.
constexpr int class_of(size_t bytes) {
  if (bytes <= kAlignment) return 0;
  int power = 63 - std::countl_zero(bytes - 1);  // bytes in (2^power, 2^(power+1)]
  return (power - 6) * 4 + int((bytes - 1) >> (power - 2)) - 3;
}
constexpr size_t class_size(int c) {
  size_t base = kAlignment << (c / 4);
  return base + base / 4 * size_t(c % 4);
}
static_assert(class_of(kSmallLimit) == kSmallClasses - 1 && class_of(64) == 0);
static_assert(class_of(size_t(1) << 46) == kClasses - 5 && class_size(class_of(65)) == 80);

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

// ---- counters ----------------------------------------------------------------------------------

using Counter = std::atomic<int64_t>;

constinit Counter from_system{0};
constinit Counter live_bytes{0}, live_blocks{0}, peak_bytes{0}, peak_blocks{0};  // as reported
// Blocks above 64 KB, and those of threads that are ending.
constinit Counter large_bytes_in{0}, large_bytes_out{0}, large_in{0}, large_out{0};

void add(Counter& c, int64_t n) { c.fetch_add(n, std::memory_order_relaxed); }

void raise(Counter& peak, int64_t value) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (value > seen && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void report(int64_t bytes, int64_t blocks) {
  raise(peak_bytes, live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  raise(peak_blocks, live_blocks.fetch_add(blocks, std::memory_order_relaxed) + blocks);
}

// ---- memory from the system --------------------------------------------------------------------

// Maps one huge page too much to find an aligned start, then returns the edges.
void* map_huge(size_t bytes) {
  size_t span = bytes + kHugePage;
  void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* start = static_cast<char*>(raw);
  size_t before = -reinterpret_cast<uintptr_t>(raw) % kHugePage, after = kHugePage - before;
  if (before) munmap(start, before);
  if (after) munmap(start + before + bytes, after);
  madvise(start + before, bytes, MADV_HUGEPAGE);
  return start + before;
}

void* take_from_system(size_t bytes) {
  void* p = nullptr;
  if (caching() && bytes >= kHugePage) {
    p = map_huge(bytes);
  } else if (posix_memalign(&p, kAlignment, bytes) != 0) {
    p = nullptr;
  }
  if (p) add(from_system, int64_t(bytes));
  return p;
}

void return_to_system(void* p, size_t bytes) {
  add(from_system, -int64_t(bytes));
  if (caching() && bytes >= kHugePage) {
    munmap(p, bytes);
  } else {
    std::free(p);
  }
}

// ---- blocks above 64 KB ------------------------------------------------------------------------

// Lives in the free block itself: a link in the list of its class and one in the list by age.
struct LargeBlock {
  LargeBlock *class_prev, *class_next, *older, *newer;
  size_t bytes;
};

class SharedCache {
 public:
  void* take(size_t bytes) {
    std::lock_guard lock(mutex);
    LargeBlock* b = heads_[size_t(class_of(bytes))];
    if (b) unlink(b);
    return b;
  }
  bool put(void* p, size_t bytes) {
    LargeBlock* leaving = nullptr;
    {
      std::lock_guard lock(mutex);
      if (bytes > limit_) return false;
      leaving = trim(limit_ - bytes);
      link(static_cast<LargeBlock*>(p), bytes);
    }
    release(leaving);
    return true;
  }
  void set_limit(size_t bytes) {
    LargeBlock* leaving = nullptr;
    {
      std::lock_guard lock(mutex);
      limit_ = bytes;
      leaving = trim(bytes);
    }
    release(leaving);
  }
  size_t limit() {
    std::lock_guard lock(mutex);
    return limit_;
  }
  void clear() {
    LargeBlock* leaving = nullptr;
    {
      std::lock_guard lock(mutex);
      leaving = trim(0);
    }
    release(leaving);
  }
  std::mutex mutex;

 private:
  void link(LargeBlock* b, size_t bytes) {
    LargeBlock*& head = heads_[size_t(class_of(bytes))];
    *b = {nullptr, head, newest_, nullptr, bytes};
    if (head) head->class_prev = b;
    head = b;
    (newest_ ? newest_->newer : oldest_) = b;
    newest_ = b;
    held_ += bytes;
  }
  void unlink(LargeBlock* b) {
    (b->class_prev ? b->class_prev->class_next : heads_[size_t(class_of(b->bytes))]) =
        b->class_next;
    if (b->class_next) b->class_next->class_prev = b->class_prev;
    (b->older ? b->older->newer : oldest_) = b->newer;
    (b->newer ? b->newer->older : newest_) = b->older;
    held_ -= b->bytes;
  }
  // Takes the oldest blocks out until no more than `bytes` are held; chains them by class_next.
  LargeBlock* trim(size_t bytes) {
    LargeBlock* chain = nullptr;
    while (held_ > bytes) {
      LargeBlock* b = oldest_;
      unlink(b);
      b->class_next = chain;
      chain = b;
    }
    return chain;
  }
  static void release(LargeBlock* chain) {
    while (chain) {
      LargeBlock* b = std::exchange(chain, chain->class_next);
      return_to_system(b, b->bytes);
    }
  }

  std::array<LargeBlock*, kClasses> heads_{};
  LargeBlock *oldest_ = nullptr, *newest_ = nullptr;
  size_t held_ = 0, limit_ = std::min<size_t>(size_t(2) << 30, usable_memory() / 8);
};

SharedCache& shared_cache() {
  static auto* cache = new SharedCache();  // outlives every thread
  return *cache;
}

// ---- blocks to 64 KB ---------------------------------------------------------------------------

struct FreeBlock {
  FreeBlock* next;
};

// Counters are written by their thread only; others read them for memory_stats.
struct ThreadLists {
  std::array<FreeBlock*, kSmallClasses> head{};
  std::array<uint32_t, kSmallClasses> count{};
  int64_t pending_bytes = 0, pending_blocks = 0;
  std::array<Counter, kSmallClasses> in{}, out{};
  ThreadLists *prev = nullptr, *next = nullptr;

  static void increment(Counter& c) {
    c.store(c.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void note_in(int c) {
    increment(in[size_t(c)]);
    pending_blocks++;
    if ((pending_bytes += int64_t(class_size(c))) > kReport) [[unlikely]]
      flush();
  }
  void note_out(int c) {
    increment(out[size_t(c)]);
    pending_blocks--;
    if ((pending_bytes -= int64_t(class_size(c))) < -kReport) [[unlikely]]
      flush();
  }
  [[gnu::noinline]] void flush() {
    report(std::exchange(pending_bytes, 0), std::exchange(pending_blocks, 0));
  }
  void clear() {
    for (int c = 0; c < kSmallClasses; c++) {
      count[size_t(c)] = 0;
      FreeBlock* list = std::exchange(head[size_t(c)], nullptr);
      while (list) return_to_system(std::exchange(list, list->next), class_size(c));
    }
  }
};
// Null while not in use. Only the pointer is a thread's own: the memory that the system reserves
// for thread-local data of libraries loaded late is small, and others need it too.
constinit thread_local ThreadLists* lists = nullptr;
constinit thread_local bool thread_ends = false;

// The threads whose counters are summed on reading, and the sums of those that ended.
struct Registry {
  std::mutex mutex;
  ThreadLists* first = nullptr;
  std::array<int64_t, kSmallClasses> in{}, out{};

  void enter(ThreadLists& t) {
    std::lock_guard lock(mutex);
    t.next = first;
    if (first) first->prev = &t;
    first = &t;
  }
  void leave(ThreadLists& t) {
    std::lock_guard lock(mutex);
    (t.prev ? t.prev->next : first) = t.next;
    if (t.next) t.next->prev = t.prev;
    add_counts(t, in, out);
  }
  // In a forked child only one thread is left; the memory of the others' lists is soon reused.
  void keep_only(ThreadLists* t) {
    for (ThreadLists* other = first; other; other = other->next) {
      if (other != t) add_counts(*other, in, out);
    }
    first = t;
    if (t) t->prev = t->next = nullptr;
  }
  using Sums = std::array<int64_t, kSmallClasses>;
  static void add_counts(const ThreadLists& t, Sums& sum_in, Sums& sum_out) {
    for (size_t c = 0; c < kSmallClasses; c++) {
      sum_in[c] += t.in[c].load(std::memory_order_relaxed);
      sum_out[c] += t.out[c].load(std::memory_order_relaxed);
    }
  }
};

Registry& registry() {
  static auto* r = new Registry();
  return *r;
}

// A forked child must not inherit a lock that another thread held.
void lock_for_fork() {
  registry().mutex.lock();
  shared_cache().mutex.lock();
}
void unlock_after_fork() {
  shared_cache().mutex.unlock();
  registry().mutex.unlock();
}
void restart_in_child() {
  registry().keep_only(lists);
  unlock_after_fork();
}

struct ThreadEnd {
  ~ThreadEnd() {
    ThreadLists* mine = std::exchange(lists, nullptr);
    thread_ends = true;
    mine->flush();
    mine->clear();
    registry().leave(*mine);
    delete mine;
  }
  void arm() {}
};
thread_local ThreadEnd thread_end;

// Puts the thread's lists into use unless caching is off or the thread is ending.
bool enable_lists() {
  if (lists) return true;
  if (thread_ends || !caching()) return false;
  static const int handlers = pthread_atfork(lock_for_fork, unlock_after_fork, restart_in_child);
  (void)handlers;
  thread_end.arm();
  auto* mine = new ThreadLists;
  registry().enter(*mine);
  lists = mine;
  return true;
}

// ---- the slow paths ----------------------------------------------------------------------------

[[noreturn]] void out_of_memory(size_t bytes) {
  fail<OutOfMemory>(
      "[enforce fail at allocator] DefaultCPUAllocator: can't allocate memory: you tried to "
      "allocate ",
      bytes, " bytes. Free tensors, use smaller batches, or see what memory_stats() reports");
}

void* take_or_fail(size_t size, size_t asked) {
  void* p = take_from_system(size);
  if (!p) {
    empty_cache();
    p = take_from_system(size);
  }
  if (!p) out_of_memory(asked);
  return p;
}

alignas(kAlignment) char empty_block[kAlignment];

size_t block_size(size_t bytes) { return caching() ? good_size(bytes) : bytes; }

[[gnu::noinline]] void* fresh_small(int c) {
  void* p = take_or_fail(class_size(c), class_size(c));
  lists->note_in(c);
  return p;
}

[[gnu::noinline]] void* allocate_other(size_t bytes) {
  if (bytes == 0) return empty_block;
  if (bytes > kLargest) out_of_memory(bytes);
  if (bytes <= kSmallLimit && enable_lists()) return allocate(bytes);
  size_t size = block_size(bytes);
  void* p = caching() && bytes > kSmallLimit ? shared_cache().take(size) : nullptr;
  if (!p) p = take_or_fail(size, bytes);
  add(large_bytes_in, int64_t(size));
  add(large_in, 1);
  if (lists) lists->flush();
  report(int64_t(size), 1);
  return p;
}

[[gnu::noinline]] void deallocate_other(void* p, size_t bytes) {
  if (!p || p == empty_block) return;
  if (bytes <= kSmallLimit && enable_lists()) return deallocate(p, bytes);
  size_t size = block_size(bytes);
  add(large_bytes_out, int64_t(size));
  add(large_out, 1);
  report(-int64_t(size), -1);
  if (caching() && bytes > kSmallLimit && shared_cache().put(p, size)) return;
  return_to_system(p, size);
}

}  // namespace

size_t good_size(size_t bytes) {
  if (bytes > kLargest) return bytes;
  size_t size = class_size(class_of(bytes));
  return size < kHugePage ? size : (size + kHugePage - 1) / kHugePage * kHugePage;
}

void* allocate(size_t bytes) {
  ThreadLists* mine = lists;
  if (bytes - 1 < kSmallLimit && mine) [[likely]] {
    int c = class_of(bytes);
    FreeBlock* b = mine->head[size_t(c)];
    if (!b) [[unlikely]]
      return fresh_small(c);
    mine->head[size_t(c)] = b->next;
    mine->count[size_t(c)]--;
    mine->note_in(c);
    return b;
  }
  return allocate_other(bytes);
}

void deallocate(void* p, size_t bytes) noexcept {
  ThreadLists* mine = lists;
  if (bytes - 1 < kSmallLimit && mine && p) [[likely]] {
    int c = class_of(bytes);
    uint32_t& count = mine->count[size_t(c)];
    mine->note_out(c);
    if (count >= kListBlocks && count * class_size(c) >= kListBytes) [[unlikely]]
      return return_to_system(p, class_size(c));
    auto* b = static_cast<FreeBlock*>(p);
    b->next = mine->head[size_t(c)];
    mine->head[size_t(c)] = b;
    count++;
    return;
  }
  deallocate_other(p, bytes);
}

std::vector<std::pair<const char*, int64_t>> MemoryStats::items() const {
  return {{"allocated_bytes.all.current", allocated},
          {"allocated_bytes.all.peak", allocated_peak},
          {"allocated_bytes.all.allocated", allocated_total},
          {"allocation.all.current", blocks},
          {"allocation.all.peak", blocks_peak},
          {"allocation.all.allocated", blocks_total},
          {"cached_bytes.all.current", cached},
          {"reserved_bytes.all.current", from_system}};
}

MemoryStats memory_stats() {
  if (lists) lists->flush();
  MemoryStats s;
  Registry& r = registry();
  {
    std::lock_guard lock(r.mutex);
    auto in = r.in, out = r.out;
    for (ThreadLists* t = r.first; t; t = t->next) Registry::add_counts(*t, in, out);
    for (int c = 0; c < kSmallClasses; c++) {
      int64_t size = int64_t(class_size(c)), total = in[size_t(c)];
      s.blocks_total += total;
      s.blocks += total - out[size_t(c)];
      s.allocated_total += total * size;
      s.allocated += (total - out[size_t(c)]) * size;
    }
  }
  s.blocks_total += large_in;
  s.blocks += large_in - large_out;
  s.allocated_total += large_bytes_in;
  s.allocated += large_bytes_in - large_bytes_out;
  s.allocated_peak = std::max<int64_t>(peak_bytes, s.allocated);
  s.blocks_peak = std::max<int64_t>(peak_blocks, s.blocks);
  s.from_system = from_system;
  s.cached = s.from_system - s.allocated;
  return s;
}

void reset_peak_memory_stats() {
  if (lists) lists->flush();
  peak_bytes.store(live_bytes.load());
  peak_blocks.store(live_blocks.load());
}

void empty_cache() {
  shared_cache().clear();
  if (lists) lists->clear();
}

size_t cache_limit() { return shared_cache().limit(); }
void set_cache_limit(size_t bytes) { shared_cache().set_limit(bytes); }

}  // namespace flambeau
