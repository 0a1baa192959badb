// The caching CPU allocator. Blocks to 64 KB come from per-thread free lists, larger ones from one
// locked cache; blocks from 2 MB on are aligned to huge pages. Freed memory stays cached up to a
// limit, the longest unused leaving first. FLAMBEAU_NO_CACHE=1 and builds with the address
// sanitizer turn every block into a plain malloc and free of its exact size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flambeau {

// 64-byte aligned memory; throws OutOfMemory. Zero bytes give a valid, unusable address.
void* allocate(size_t bytes);
// `bytes` is what allocate was asked for. Any thread may free any block.
void deallocate(void* p, size_t bytes) noexcept;
// The size of the block that serves `bytes`: four classes per power of two.
size_t good_size(size_t bytes);

// Bytes are block sizes. Each thread counts its small blocks for itself and reports the change to
// the shared sum, from which the peaks come, when it exceeds 64 KB or with any larger block. So
// peaks are exact for larger blocks and miss at most 64 KB per thread of small ones.
struct MemoryStats {
  int64_t allocated = 0, allocated_peak = 0, allocated_total = 0;
  int64_t blocks = 0, blocks_peak = 0, blocks_total = 0;
  int64_t cached = 0;       // bytes kept for reuse, in all lists
  int64_t from_system = 0;  // bytes obtained from the system and not returned
  std::vector<std::pair<const char*, int64_t>> items() const;
};
MemoryStats memory_stats();
void reset_peak_memory_stats();

// Gives the shared cache and this thread's lists back to the system.
void empty_cache();
// The most that the shared cache keeps, in bytes; at first 2 GiB or an eighth of the memory,
// whichever is less.
size_t cache_limit();
void set_cache_limit(size_t bytes);

}  // namespace flambeau
