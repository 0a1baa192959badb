// Record sorts: comparison sort for short runs, least-significant-digit radix sort for long ones.
#include <algorithm>
#include <cstring>

#include "kernels/sort_keys.h"
#include "runtime/parallel.h"

namespace flambeau {
namespace {

constexpr int64_t kRadixFrom = 1024;
constexpr int64_t kSplitFrom = 1 << 16;

// Passes of 11 bits; a pass whose digit is the same everywhere is left out. The result ends in
// `data`.
template <class K>
void radix_sort(Record<K>* data, Record<K>* scratch, int64_t n) {
  constexpr int bits = 11, buckets = 1 << bits, passes = (int(sizeof(K)) * 8 + bits - 1) / bits;
  uint32_t counts[passes][buckets];
  std::memset(counts, 0, sizeof counts);
  for (int64_t i = 0; i < n; i++) {
    const K key = key_of(data[i]);
    for (int p = 0; p < passes; p++) counts[p][key >> (p * bits) & (buckets - 1)]++;
  }
  Record<K>*from = data, *to = scratch;
  for (int p = 0; p < passes; p++) {
    uint32_t* count = counts[p];
    if (count[key_of(from[0]) >> (p * bits) & (buckets - 1)] == uint32_t(n)) continue;
    uint32_t start = 0;
    for (int b = 0; b < buckets; b++) {
      const uint32_t c = count[b];
      count[b] = start;
      start += c;
    }
    for (int64_t i = 0; i < n; i++)
      to[count[key_of(from[i]) >> (p * bits) & (buckets - 1)]++] = from[i];
    std::swap(from, to);
  }
  if (from != data) std::memcpy(static_cast<void*>(data), from, size_t(n) * sizeof(Record<K>));
}

template <class K>
void sort_run(Record<K>* data, Record<K>* scratch, int64_t n) {
  if (n < kRadixFrom || n > int64_t(UINT32_MAX))
    std::sort(data, data + n);
  else
    radix_sort(data, scratch, n);
}

// Halves sorted side by side, then merged from both ends at once.
template <class K>
void sort_all(Record<K>* data, Record<K>* scratch, int64_t n) {
  if (n < kSplitFrom || num_threads() == 1 || in_parallel_region()) {
    sort_run(data, scratch, n);
    return;
  }
  const int64_t half = n / 2;
  parallel_for(2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      sort_run(data + i * half, scratch + i * half, i ? n - half : half);
  });
  const Record<K>*a = data, *b = data + half;
  parallel_for(2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t side = begin; side < end; side++) {
      if (side == 0) {
        for (int64_t i = 0, j = 0, k = 0; k < half; k++)
          scratch[k] = j >= n - half || (i < half && a[i] < b[j]) ? a[i++] : b[j++];
      } else {
        for (int64_t i = half - 1, j = n - half - 1, k = n - 1; k >= half; k--)
          scratch[k] = j < 0 || (i >= 0 && b[j] < a[i]) ? a[i--] : b[j--];
      }
    }
  });
  parallel_for(n, 1 << 16, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<void*>(data + begin), scratch + begin,
                size_t(end - begin) * sizeof(Record<K>));
  });
}

}  // namespace

void sort_records(Record<uint32_t>* data, Record<uint32_t>* scratch, int64_t n) {
  sort_all(data, scratch, n);
}
void sort_records(Record<uint64_t>* data, Record<uint64_t>* scratch, int64_t n) {
  sort_all(data, scratch, n);
}

}  // namespace flambeau
