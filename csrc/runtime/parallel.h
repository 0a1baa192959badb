// One thread pool for all kernels. Work is cut into chunks whose bounds depend on the size and the
// grain alone, never on the number of threads; threads claim chunks, so that a late or busy worker
// costs nothing.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace flambeau {

// At first FLAMBEAU_NUM_THREADS, else OMP_NUM_THREADS, else the processors this process may use.
int num_threads();
void set_num_threads(int n);
// True in a chunk that the pool runs: parallel_for is serial there.
bool in_parallel_region();

namespace detail {
using ChunkFn = void (*)(void* context, int64_t begin, int64_t end);
// `grains`: n in units of the caller's grain, a measure of the work.
void run_chunks(int64_t n, int64_t chunk, int64_t grains, ChunkFn fn, void* context);

constexpr int64_t kChunkAlignment = 16;

// About eight chunks of at least `grain`, more (up to 64) when each would exceed eight grains;
// their bounds are multiples of 16.
constexpr int64_t chunk_size(int64_t n, int64_t grain) {
  int64_t chunk = std::max(grain, (n + 7) / 8);
  if (chunk / 8 >= grain) chunk = std::max(8 * grain, (n + 63) / 64);
  if (chunk <= kChunkAlignment) return chunk;
  return (chunk + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
}
}  // namespace detail

// f(begin, end) over [0, n). Runs in the calling thread when n <= grain, with one thread, in a
// parallel region, or while another thread's job has the pool. An exception of f reaches the caller
// after the other chunks.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (n <= grain) {
    f(int64_t(0), n);
    return;
  }
  using G = std::remove_reference_t<F>;
  detail::run_chunks(
      n, detail::chunk_size(n, grain), n / grain,
      [](void* c, int64_t begin, int64_t end) { (*static_cast<G*>(c))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

// Called around long work: the Python layer drops the GIL there. release returns null when there is
// nothing to give up; acquire gets what it returned.
struct BlockingHooks {
  void* (*release)() = nullptr;
  void (*acquire)(void* state) = nullptr;
};
void set_blocking_hooks(BlockingHooks hooks);

// While one of these with big = true lives, the hooks have released; nested ones do nothing. Only
// for work that ends by itself: others wait for it in await_long_work.
class LongWork {
 public:
  explicit LongWork(bool big);
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  void* state_ = nullptr;
};

// Returns, with what the hooks guard held, when no other thread is in LongWork. To be called before
// the memory or the geometry of a tensor that already exists changes: kernels read both inside
// LongWork, where the GIL does not protect them.
void await_long_work();

}  // namespace flambeau
