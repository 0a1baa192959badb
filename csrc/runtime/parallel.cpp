#include "runtime/parallel.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace flambeau {
namespace {

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

constexpr int kSpins = 4000;      // pauses of an idle worker before it parks (some 50 us)
constinit thread_local bool inside = false;

struct Job {
  detail::ChunkFn fn = nullptr;
  void* context = nullptr;
  int64_t n = 0, chunk = 1, chunks = 0;
  std::atomic<int64_t> next{0}, done{0};
  std::exception_ptr error;
  std::mutex error_lock;

  // Claims and runs chunks until none is left.
  void work() {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
      try {
        fn(context, i * chunk, std::min(n, (i + 1) * chunk));
      } catch (...) {
        std::lock_guard guard(error_lock);
        if (!error) error = std::current_exception();
      }
      done.fetch_add(1, std::memory_order_release);
    }
  }
};

// Workers see a job through `current`; `users` counts those that hold it, so that the caller, whose stack the
// job lives on, leaves only when nobody does.
class Pool {
 public:
  void run(Job& job, int threads) {
    start(threads - 1);
    current_.store(&job, std::memory_order_seq_cst);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_seq_cst) > 0) futex(FUTEX_WAKE_PRIVATE, INT_MAX);
    job.work();
    for (int i = 0; job.done.load(std::memory_order_acquire) != job.chunks; i++) i < 2000 ? pause() : (void)sched_yield();
    current_.store(nullptr, std::memory_order_seq_cst);
    for (int i = 0; users_.load(std::memory_order_seq_cst) != 0; i++) i < 2000 ? pause() : (void)sched_yield();
  }
  std::mutex lock;  // one job at a time

 private:
  void start(int workers) {
    while (started_ < workers) {
      int id = started_++;
      std::thread([this, id, seen = epoch_.load()] { loop(id, seen); }).detach();
    }
    active_.store(workers, std::memory_order_relaxed);
  }
  void loop(int id, uint32_t seen) {
    inside = true;
    for (;;) {
      for (int i = 0; epoch_.load(std::memory_order_acquire) == seen; i++) {
        if (i < kSpins) {
          pause();
          continue;
        }
        parked_.fetch_add(1, std::memory_order_seq_cst);
        futex(FUTEX_WAIT_PRIVATE, int(seen));
        parked_.fetch_sub(1, std::memory_order_seq_cst);
      }
      seen = epoch_.load(std::memory_order_acquire);
      if (id >= active_.load(std::memory_order_relaxed)) continue;
      users_.fetch_add(1, std::memory_order_seq_cst);
      if (Job* job = current_.load(std::memory_order_seq_cst)) job->work();
      users_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
  void futex(int op, int value) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&epoch_), op, value, nullptr, nullptr, 0);
  }
  int started_ = 0;
  std::atomic<int> active_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<Job*> current_{nullptr};
  alignas(64) std::atomic<int> users_{0};
  std::atomic<int> parked_{0};
};

std::atomic<Pool*> the_pool{nullptr};
std::atomic<int> wanted{0};  // set_num_threads; 0: as many as usable

// A forked child has no workers: it forgets the parent's pool and makes its own on first use.
void forget_pool() {
  the_pool.store(nullptr);
  inside = false;
}

Pool& pool() {
  Pool* p = the_pool.load(std::memory_order_acquire);
  if (!p) {
    static std::mutex making;
    std::unique_lock guard(making, std::try_to_lock);
    if (!guard.owns_lock()) {
      while (!(p = the_pool.load(std::memory_order_acquire))) sched_yield();
      return *p;
    }
    p = the_pool.load(std::memory_order_acquire);
    if (!p) {
      static const int once = pthread_atfork(nullptr, nullptr, forget_pool);
      (void)once;
      p = new Pool();
      the_pool.store(p, std::memory_order_release);
    }
  }
  return *p;
}

BlockingHooks hooks;
constinit thread_local bool released = false;

}  // namespace

int num_threads() {
  if (int n = wanted.load(std::memory_order_relaxed)) return n;
  static const int usable = usable_cpus();
  return usable;
}
void set_num_threads(int n) { wanted.store(std::max(1, n), std::memory_order_relaxed); }
bool in_parallel_region() { return inside; }

namespace detail {
void run_chunks(int64_t n, int64_t chunk, ChunkFn fn, void* context) {
  const int64_t chunks = (n + chunk - 1) / chunk;
  const int threads = int(std::min<int64_t>(num_threads(), chunks));
  auto serial = [&] {
    for (int64_t i = 0; i < chunks; i++) fn(context, i * chunk, std::min(n, (i + 1) * chunk));
  };
  if (threads <= 1 || inside) return serial();
  Pool& p = pool();
  std::unique_lock guard(p.lock, std::try_to_lock);
  if (!guard.owns_lock()) return serial();  // another thread's job has the workers
  Job job;
  job.fn = fn;
  job.context = context;
  job.n = n;
  job.chunk = chunk;
  job.chunks = chunks;
  inside = true;
  p.run(job, threads);
  inside = false;
  if (job.error) std::rethrow_exception(job.error);
}
}  // namespace detail

void set_blocking_hooks(BlockingHooks h) { hooks = h; }

LongWork::LongWork(bool big) {
  if (big && hooks.release && !released && !inside) {
    state_ = hooks.release();
    released = state_ != nullptr;
  }
}
LongWork::~LongWork() {
  if (state_) {
    released = false;
    hooks.acquire(state_);
  }
}

}  // namespace flambeau
