// Checks of csrc/runtime: allocator, thread pool, processor, generator. Build and run:
//   g++ -std=c++20 -O2 -I csrc tests/cpp/runtime_check.cpp csrc/runtime/*.cpp -pthread -o check
//   ./check [bench]
// and again with -fsanitize=address,undefined and with -fsanitize=thread.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "runtime/allocator.h"
#include "runtime/cpu.h"
#include "runtime/generator.h"
#include "runtime/parallel.h"

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

using namespace flambeau;

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

// ---- allocator ---------------------------------------------------------------------------------

static bool caches() {
  const char* off = std::getenv("FLAMBEAU_NO_CACHE");
  return !kAddressSanitizer && !(off && *off == '1');
}

static void check_sizes() {
  EXPECT(good_size(1) == 64 && good_size(64) == 64 && good_size(65) == 80);
  EXPECT(good_size(128) == 128 && good_size(129) == 160 && good_size(65536) == 65536);
  EXPECT(good_size(65537) == 80 << 10 && good_size((2 << 20) + 1) == 4 << 20);
  for (size_t n = 1; n < (size_t(1) << 40); n += n / 7 + 1) {
    size_t size = good_size(n);
    EXPECT(size >= n && good_size(size) == size);
    EXPECT(size <= std::max<size_t>(64, n + n / 4 + 64) || size % (2 << 20) == 0);
  }
}

static void check_blocks() {
  for (size_t n : {size_t(0), size_t(1), size_t(63), size_t(65), size_t(4096), size_t(65536),
                   size_t(65537), size_t(1) << 20, size_t(2) << 20, (size_t(5) << 20) + 1}) {
    void* p = allocate(n);
    EXPECT(p && reinterpret_cast<uintptr_t>(p) % 64 == 0);
    if (caches() && n >= size_t(2) << 20) EXPECT(reinterpret_cast<uintptr_t>(p) % (2 << 20) == 0);
    std::memset(p, 0x5a, n);
    deallocate(p, n);
    if (!caches() || n == 0) continue;
    void* again = allocate(n);
    EXPECT(again == p);
    deallocate(again, n);
  }
  deallocate(nullptr, 0);
  deallocate(nullptr, 100);
}

static void check_out_of_memory() {
  for (size_t n : {size_t(-1), size_t(-64), size_t(1) << 63, size_t(1) << 47}) {
    bool thrown = false;
    try {
      allocate(n);
    } catch (const OutOfMemory& e) {
      thrown = std::string(e.what()).find(std::to_string(n) + " bytes") != std::string::npos;
    }
    EXPECT(thrown);
  }
}

static void check_stats() {
  empty_cache();
  MemoryStats before = memory_stats();
  reset_peak_memory_stats();
  void* big = allocate(3 << 20);
  void* small = allocate(100);
  MemoryStats during = memory_stats();
  EXPECT(during.blocks == before.blocks + 2 && during.blocks_total == before.blocks_total + 2);
  int64_t bytes = caches() ? (4 << 20) + 112 : (3 << 20) + 100;
  EXPECT(during.allocated == before.allocated + bytes);
  deallocate(big, 3 << 20);
  deallocate(small, 100);
  MemoryStats after = memory_stats();
  EXPECT(after.allocated == before.allocated && after.blocks == before.blocks);
  EXPECT(after.allocated_peak >= before.allocated + bytes - 112);
  EXPECT(after.allocated_total == before.allocated_total + bytes);
  if (caches())
    EXPECT(after.cached >= bytes && after.from_system == after.allocated + after.cached);
  empty_cache();
  EXPECT(memory_stats().cached == before.cached);
  reset_peak_memory_stats();
  EXPECT(memory_stats().allocated_peak == after.allocated);
}

static void check_limit() {
  if (!caches()) return;
  size_t limit = cache_limit();
  empty_cache();
  int64_t base = memory_stats().cached;
  set_cache_limit(10 << 20);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; i++) blocks.push_back(allocate(2 << 20));
  for (void* p : blocks) deallocate(p, 2 << 20);
  EXPECT(memory_stats().cached - base == 10 << 20);
  void* other = allocate(6 << 20);  // pushes older ones out
  deallocate(other, 6 << 20);
  EXPECT(memory_stats().cached - base == 10 << 20);
  void* again = allocate(6 << 20);
  EXPECT(again == other);
  deallocate(again, 6 << 20);
  set_cache_limit(0);
  EXPECT(memory_stats().cached == base);
  set_cache_limit(limit);
}

// Threads allocate, pass blocks on and free those of others; every block keeps its pattern.
static void check_threads() {
  MemoryStats before = memory_stats();
  constexpr int kThreads = 4, kSlots = 64;
  struct Block {
    unsigned char* data;
    size_t bytes;
  };
  std::atomic<Block*> slots[kSlots] = {};
  auto work = [&](unsigned seed) {
    for (int i = 0; i < 20000; i++) {
      seed = seed * 1664525u + 1013904223u;
      size_t bytes = size_t(1) << (seed >> 28), extra = (seed >> 8) % (bytes + 1);
      bytes += extra;
      if (i % 512 == 0) bytes = (size_t(1) << 17) + extra;
      auto* b = new Block{static_cast<unsigned char*>(allocate(bytes)), bytes};
      b->data[0] = b->data[bytes - 1] = static_cast<unsigned char>(bytes);
      Block* old = slots[seed % kSlots].exchange(b);
      if (!old) continue;
      EXPECT(old->data[0] == static_cast<unsigned char>(old->bytes));
      EXPECT(old->data[old->bytes - 1] == static_cast<unsigned char>(old->bytes));
      deallocate(old->data, old->bytes);
      delete old;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; t++) threads.emplace_back(work, t + 1);
  for (auto& t : threads) t.join();
  for (auto& slot : slots) {
    if (Block* b = slot.load()) {
      deallocate(b->data, b->bytes);
      delete b;
    }
  }
  MemoryStats after = memory_stats();
  EXPECT(after.allocated == before.allocated && after.blocks == before.blocks);
  EXPECT(after.blocks_total == before.blocks_total + kThreads * 20000);
  empty_cache();
  EXPECT(memory_stats().cached == 0);  // the threads gave their lists back
}

// ---- thread pool -------------------------------------------------------------------------------

static void check_cover(int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    EXPECT(begin < end && end <= n);
    for (int64_t i = begin; i < end; i++) seen[size_t(i)].fetch_add(1, std::memory_order_relaxed);
  });
  for (auto& s : seen) EXPECT(s == 1);
}

static std::vector<int64_t> bounds_of(int64_t n, int64_t grain) {
  std::vector<std::atomic<int64_t>> ends(static_cast<size_t>(n));
  parallel_for(n, grain, [&](int64_t begin, int64_t end) { ends[size_t(begin)] = end; });
  return {ends.begin(), ends.end()};
}

static void check_chunks() {
  for (int64_t n : {0, 1, 15, 16, 17, 31, 100, 1000, 4097, 100000})
    for (int64_t grain : {0, 1, 16, 100, 5000}) check_cover(n, grain);
  set_num_threads(1);
  auto one = bounds_of(10001, 16);
  set_num_threads(4);
  EXPECT(bounds_of(10001, 16) == one);
  EXPECT(detail::chunk_size(1 << 20, 1024) == 1 << 14);  // 64 chunks
  EXPECT(detail::chunk_size(1 << 15, 1024) == 1 << 12);  // 8 chunks
}

static void check_nested() {
  EXPECT(!in_parallel_region());
  std::atomic<int64_t> sum{0};
  parallel_for(64, 1, [&](int64_t begin, int64_t end) {
    EXPECT(num_threads() == 1 || in_parallel_region());
    parallel_for(end - begin, 1, [&](int64_t a, int64_t b) { sum += b - a; });
  });
  EXPECT(sum == 64 && !in_parallel_region());
}

static void check_exceptions() {
  for (int round = 0; round < 50; round++) {
    std::string message;
    try {
      parallel_for(1000, 16, [&](int64_t begin, int64_t) {
        if (begin >= 512) fail<ValueError>("chunk ", begin);
      });
    } catch (const ValueError& e) {
      message = e.what();
    }
    EXPECT(message.rfind("chunk ", 0) == 0 && !in_parallel_region());
    check_cover(1000, 16);
  }
}

static void check_callers() {
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int t = 0; t < 3; t++) {
    callers.emplace_back([&] {
      for (int i = 0; i < 2000; i++) {
        std::atomic<int64_t> sum{0};
        parallel_for(100 + i, 16, [&](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; k++) sum.fetch_add(k, std::memory_order_relaxed);
        });
        EXPECT(sum == (100 + i) * (99 + i) / 2);
        total += sum;
      }
    });
  }
  for (auto& c : callers) c.join();
  EXPECT(total > 0);
}

static void check_fork() {
  if (kThreadSanitizer) return;  // it does not follow threads that start after a fork
  check_cover(10000, 16);
  void* kept = allocate(1000);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; i++) check_cover(10000, 16);
    deallocate(kept, 1000);
    check_blocks();
    check_stats();
    check_nested();
    _exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  deallocate(kept, 1000);
  check_cover(10000, 16);
}

// Jobs of changing chunk counts in close succession: a late worker must never run a chunk twice.
static void check_succession() {
  for (int i = 0; i < 30000; i++) {
    int64_t n = 2 + i * 7 % 120;
    std::atomic<int64_t> covered{0};
    parallel_for(n, 1, [&](int64_t begin, int64_t end) { covered += end - begin; });
    EXPECT(covered == n);
  }
}

static int hook_depth = 0, hook_calls = 0;
static void check_hooks() {
  set_blocking_hooks({[]() -> void* {
                        hook_depth++;
                        hook_calls++;
                        return &hook_depth;
                      },
                      [](void* state) {
                        EXPECT(state == &hook_depth);
                        hook_depth--;
                      }});
  {
    LongWork small(false);
    EXPECT(hook_depth == 0);
    LongWork big(true);
    EXPECT(hook_depth == 1);
    LongWork nested(true);
    EXPECT(hook_depth == 1);
  }
  try {
    LongWork big(true);
    fail("out");
  } catch (const Error&) {
  }
  EXPECT(hook_depth == 0 && hook_calls == 2);
  set_blocking_hooks({});
}

// ---- processor and generator -------------------------------------------------------------------

static void check_cpu() {
  EXPECT(usable_cpus() >= 1 && usable_memory() > size_t(1) << 26);
  const char* wanted = std::getenv("FLAMBEAU_CPU");
  if (wanted && !std::strcmp(wanted, "baseline")) EXPECT(cpu_target() == CpuTarget::baseline);
#if defined(__x86_64__)
  EXPECT(!cpu_features().empty());
#endif
}

// Literals: the CPU generator of PyTorch 2.13.
static void check_generator() {
  Generator g;
  EXPECT(g.initial_seed() == 67280421310721u);
  g.manual_seed(5);
  const uint32_t expected[] = {953453411u, 236996814u,  3739766767u, 3570525885u,
                               887852006u, 1562238070u, 3945403792u, 4206684233u};
  for (uint32_t e : expected) EXPECT(g.random() == e);
  g.manual_seed(5);
  EXPECT(g.random64() == (uint64_t(expected[0]) << 32 | expected[1]));
  auto state = g.get_state();
  EXPECT(state.size() == 5056);
  uint64_t seed, next;
  int32_t left, seeded;
  std::memcpy(&seed, &state[0], 8);
  std::memcpy(&left, &state[8], 4);
  std::memcpy(&seeded, &state[12], 4);
  std::memcpy(&next, &state[16], 8);
  EXPECT(seed == 5 && left == 623 && seeded == 1 && next == 2);
  std::vector<uint32_t> a, b;
  for (int i = 0; i < 2000; i++) a.push_back(g.random());
  Generator other(1);
  other.set_state(state);
  for (int i = 0; i < 2000; i++) b.push_back(other.random());
  EXPECT(a == b);
  other.set_state(state);
  std::vector<uint32_t> words(1999);
  other.random_words(words.data(), words.size());
  words.push_back(other.random());
  EXPECT(words == a);
  bool refused = false;
  try {
    other.set_state(std::vector<uint8_t>(12));
  } catch (const Error&) {
    refused = true;
  }
  EXPECT(refused);
}

// ---- speed -------------------------------------------------------------------------------------

template <class F>
static double nanoseconds(int repeats, F f) {
  double best = 1e300;
  for (int round = 0; round < 7; round++) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; i++) f();
    std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count() / repeats);
  }
  return best;
}

static void bench() {
  for (size_t n : {64u, 1000u, 60000u, 100000u, 4u << 20}) {
    double ns = nanoseconds(100000, [n] {
      void* p = allocate(n);
      *static_cast<volatile char*>(p) = 1;
      deallocate(p, n);
    });
    std::printf("allocate + deallocate %8zu bytes: %6.1f ns\n", n, ns);
  }
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    double ns = nanoseconds(2000, [] { parallel_for(8, 1, [](int64_t, int64_t) {}); });
    std::printf("fork and join, %d threads: %.0f ns\n", threads, ns);
    std::vector<float> x(1 << 22, 1.0f);
    ns = nanoseconds(10, [&] {
      parallel_for(int64_t(x.size()), 4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) x[size_t(i)] = 1.0f / (x[size_t(i)] + 1.5f);
      });
    });
    std::printf("4M divisions, %d threads: %.0f us\n", threads, ns / 1000);
  }
  Generator g;
  std::vector<uint32_t> words(1 << 20);
  double ns = nanoseconds(5, [&] { g.random_words(words.data(), words.size()); });
  std::printf("random words: %.2f ns each\n", ns / double(words.size()));
}

int main(int argc, char**) {
  check_sizes();
  check_blocks();
  check_out_of_memory();
  check_stats();
  check_limit();
  check_threads();
  for (int threads : {1, 2, 4}) {
    set_num_threads(threads);
    check_chunks();
    set_num_threads(threads);
    check_nested();
    check_exceptions();
    check_callers();
    check_succession();
    check_fork();
  }
  check_hooks();
  check_cpu();
  check_generator();
  std::puts("runtime checks passed");
  if (argc > 1) bench();
}
