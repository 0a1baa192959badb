// The caching CPU allocator. Small blocks (to 64 KB) come from per-thread free lists, larger ones from one locked
// cache; blocks from 2 MB on are huge-page aligned. Freed memory stays cached up to a cap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flambeau {

// 64-byte aligned memory; throws OutOfMemory. Zero bytes give a valid, unusable address.
void* allocate(size_t bytes);
// `bytes` is what allocate was asked for.
void deallocate(void* p, size_t bytes) noexcept;
// The size of the block that serves `bytes`: four classes per power of two.
size_t good_size(size_t bytes);

struct MemoryStats {
  int64_t allocated = 0, allocated_peak = 0, allocated_total = 0;  // bytes in use, as block sizes
  int64_t blocks = 0, blocks_total = 0;
  int64_t cached = 0;      // bytes kept for reuse in the shared cache
  int64_t from_system = 0; // bytes obtained from the system and not returned
  std::vector<std::pair<const char*, int64_t>> items() const;
};
// Peaks count small blocks in steps of 64 KB per thread, large ones exactly.
MemoryStats memory_stats();
void reset_peak_memory_stats();
// Gives the shared cache and this thread's lists back to the system.
void empty_cache();

}  // namespace flambeau
