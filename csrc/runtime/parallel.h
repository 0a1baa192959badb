// One thread pool for all kernels. Work is cut into chunks whose bounds depend on the size alone, never on the
// number of threads; threads claim chunks, so a late or busy worker costs nothing.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace flambeau {

int num_threads();
void set_num_threads(int n);
bool in_parallel_region();

namespace detail {
using ChunkFn = void (*)(void* context, int64_t begin, int64_t end);
void run_chunks(int64_t n, int64_t chunk, ChunkFn fn, void* context);
}  // namespace detail

// f(begin, end) over [0, n) in about eight chunks of at least `grain`, multiples of 16 apart. Runs in the calling
// thread when there is one chunk, one thread, or a parallel region around it. Exceptions reach the caller.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (n <= grain) {
    f(int64_t(0), n);
    return;
  }
  int64_t chunk = std::max(grain, (n + 7) / 8);
  if (chunk > 16) chunk = (chunk + 15) / 16 * 16;
  using G = std::remove_reference_t<F>;
  detail::run_chunks(
      n, chunk, [](void* c, int64_t begin, int64_t end) { (*static_cast<G*>(c))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

// Called around long work: the Python layer drops the GIL there.
struct BlockingHooks {
  void* (*release)() = nullptr;
  void (*acquire)(void* state) = nullptr;
};
void set_blocking_hooks(BlockingHooks hooks);

class LongWork {
 public:
  explicit LongWork(bool big);
  ~LongWork();
  LongWork(const LongWork&) = delete;

 private:
  void* state_ = nullptr;
};

}  // namespace flambeau
