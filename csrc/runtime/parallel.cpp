#include "runtime/parallel.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace flambeau {
namespace {

constexpr int kWorkerSpins = 4000;  // pauses of an idle worker before it parks (some 50 us)
constexpr int kCallerSpins = 2000;  // pauses of the caller before it yields its processor
constexpr int kMaxThreads = 1024;
// Parked workers are woken at once for jobs of few chunks, of many grains, or that took so long per
// item the last time; for others only when the rest, with that of jobs just before, is worth it.
constexpr int64_t kFewChunks = 4, kManyGrains = 64;
constexpr auto kWakeTime = std::chrono::microseconds(60), kJustBefore = kWakeTime * 3;

constinit thread_local bool inside = false;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A job is claimed through one ticket word, epoch << 32 | next chunk; 0 between jobs. A worker
// copies the job's fields before it claims; the claim fails if the ticket has changed since. So
// nobody waits for a worker that comes late, only for claimed chunks. A late worker may read the
// next job's fields: release and acquire make sure that it then also sees the ticket withdrawn.
class Pool {
 public:
  std::mutex lock;  // one job at a time

  void run(int64_t n, int64_t chunk, int64_t chunks, int64_t grains, int threads,
           detail::ChunkFn fn, void* context) {
    start(threads - 1);
    fn_.store(fn, std::memory_order_release);
    context_.store(context, std::memory_order_release);
    n_.store(n, std::memory_order_release);
    chunk_.store(chunk, std::memory_order_release);
    chunks_.store(chunks, std::memory_order_release);
    done_.store(0, std::memory_order_relaxed);
    uint32_t epoch = std::max(epoch_.load(std::memory_order_relaxed) + 1, 1u);
    ticket_.store(uint64_t(epoch) << 32, std::memory_order_release);
    epoch_.store(epoch, std::memory_order_seq_cst);
    wake_if_worth(epoch, n, chunks, grains, fn);
    while (work_once(epoch)) {
    }
    for (int i = 0; done_.load(std::memory_order_acquire) != chunks; i++) {
      i < kCallerSpins ? pause() : void(sched_yield());
    }
    ticket_.store(0, std::memory_order_release);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  // Spinning workers see the epoch by themselves. Waking a parked one costs the caller some 6 us
  // and takes 80 us, so a job that looks short runs its first chunk before that is decided.
  void wake_if_worth(uint32_t epoch, int64_t n, int64_t chunks, int64_t grains,
                     detail::ChunkFn fn) {
    if (parked_.load(std::memory_order_seq_cst) == 0) return;
    Pace& pace = paces_[reinterpret_cast<uintptr_t>(fn) / 16 % kPaces];
    bool at_once = chunks < kFewChunks || grains >= kManyGrains || pace.fn != fn ||
                   pace.per_item * double(n) >= std::chrono::nanoseconds(kWakeTime).count();
    if (at_once) wake();
    auto begin = Clock::now();
    work_once(epoch);
    auto end = Clock::now();
    auto rest = (end - begin) * (chunks - 1);
    std::chrono::duration<double, std::nano> spent = end - begin;
    pace = {fn, spent.count() * double(chunks) / double(n)};
    if (at_once) return;
    saving_ = begin - last_ < kJustBefore ? saving_ + rest : rest;
    last_ = end + rest;
    if (saving_ >= worth_) wake();
  }
  // On a busy machine the call can cost this thread its processor: then more must be at stake.
  void wake() {
    saving_ = {};
    auto begin = Clock::now();
    futex(FUTEX_WAKE_PRIVATE, INT_MAX);
    auto cost = Clock::now() - begin;
    worth_ = std::max<Clock::duration>(kWakeTime, (worth_ + 10 * cost) / 2);
  }

  // Claims and runs a chunk of job `epoch`; false when none is left.
  bool work_once(uint32_t epoch) {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    for (;;) {
      if (uint32_t(ticket >> 32) != epoch) return false;
      auto fn = fn_.load(std::memory_order_acquire);
      void* context = context_.load(std::memory_order_acquire);
      int64_t n = n_.load(std::memory_order_acquire),
              chunk = chunk_.load(std::memory_order_acquire);
      int64_t i = int64_t(ticket & 0xffffffffu);
      if (i >= chunks_.load(std::memory_order_acquire)) return false;
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
        continue;
      }
      try {
        fn(context, i * chunk, std::min(n, (i + 1) * chunk));
      } catch (...) {
        std::lock_guard guard(error_lock_);
        if (!error_) error_ = std::current_exception();
      }
      done_.fetch_add(1, std::memory_order_acq_rel);
      return true;
    }
  }

  // Signals are for the threads of the program. Where the system gives no more threads, the caller
  // does the work of those that are missing.
  void start(int workers) {
    if (started_ < workers) {
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      try {
        for (; started_ < workers; started_++) {
          std::thread([this, id = started_, seen = epoch_.load()] { loop(id, seen); }).detach();
        }
      } catch (const std::system_error&) {
      }
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    active_.store(workers, std::memory_order_relaxed);
  }

  [[noreturn]] void loop(int id, uint32_t seen) {
    inside = true;
    for (;;) {
      uint32_t epoch;
      for (int i = 0; (epoch = epoch_.load(std::memory_order_acquire)) == seen; i++) {
        if (i < kWorkerSpins) {
          pause();
          continue;
        }
        parked_.fetch_add(1, std::memory_order_seq_cst);
        futex(FUTEX_WAIT_PRIVATE, int(seen));
        parked_.fetch_sub(1, std::memory_order_seq_cst);
      }
      seen = epoch;
      if (id >= active_.load(std::memory_order_relaxed)) continue;
      while (work_once(epoch)) {
      }
    }
  }

  void futex(int op, int value) {
    static_assert(sizeof epoch_ == sizeof(uint32_t));
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&epoch_), op, value, nullptr, nullptr, 0);
  }

  using Clock = std::chrono::steady_clock;
  // What an item of a job cost when it last met parked workers.
  struct Pace {
    detail::ChunkFn fn;
    double per_item;  // ns
  };
  static constexpr size_t kPaces = 64;
  Pace paces_[kPaces] = {};
  Clock::time_point last_{};   // end of the last small job that ran without parked workers
  Clock::duration saving_{0};  // what waking them would have saved since
  Clock::duration worth_ = kWakeTime;
  int started_ = 0;
  std::atomic<int> active_{0};  // workers beyond this number sit out (set_num_threads)
  std::atomic<detail::ChunkFn> fn_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<int64_t> n_{0}, chunk_{0}, chunks_{0};
  std::mutex error_lock_;
  std::exception_ptr error_;
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<int64_t> done_{0};
  alignas(64) std::atomic<int> parked_{0};
};

constinit std::atomic<Pool*> the_pool{nullptr};
constinit std::atomic<int> wanted{0};  // set_num_threads; 0: the default

constinit BlockingHooks hooks;
constinit std::atomic<int> sections{0}, waiting{0};  // of LongWork, of await_long_work
constinit thread_local bool released = false;

// A forked child has no workers: it forgets the parent's pool and makes its own on first use.
void forget_pool() {
  the_pool.store(nullptr);
  inside = false;
  sections.store(released ? 1 : 0);
  waiting.store(0);
}
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, forget_pool);

// Never destroyed: its workers live to the end of the process.
Pool& pool() {
  Pool* current = the_pool.load(std::memory_order_acquire);
  if (current) return *current;
  auto* made = new Pool();
  if (the_pool.compare_exchange_strong(current, made)) return *made;
  delete made;  // another thread was first; no worker has started here
  return *current;
}

void leave_section() {
  sections--;
  sections.notify_all();
}

int default_threads() {
  for (const char* name : {"FLAMBEAU_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* value = std::getenv(name);
    if (int n = value ? std::atoi(value) : 0; n > 0) return std::min(n, kMaxThreads);
  }
  return usable_cpus();
}

}  // namespace

int num_threads() {
  if (int n = wanted.load(std::memory_order_relaxed)) return n;
  static const int n = default_threads();
  return n;
}

void set_num_threads(int n) {
  wanted.store(std::clamp(n, 1, kMaxThreads), std::memory_order_relaxed);
}

bool in_parallel_region() { return inside; }

namespace detail {

void run_chunks(int64_t n, int64_t chunk, int64_t grains, ChunkFn fn, void* context) {
  const int64_t chunks = (n + chunk - 1) / chunk;
  const int threads = int(std::min<int64_t>(num_threads(), chunks));
  if (threads > 1 && !inside) {
    Pool& p = pool();
    std::unique_lock guard(p.lock, std::try_to_lock);
    if (guard.owns_lock()) {
      struct Region {
        Region() { inside = true; }
        ~Region() { inside = false; }
      } region;
      return p.run(n, chunk, chunks, grains, threads, fn, context);
    }
  }
  for (int64_t i = 0; i < chunks; i++) fn(context, i * chunk, std::min(n, (i + 1) * chunk));
}

}  // namespace detail

void set_blocking_hooks(BlockingHooks h) { hooks = h; }

// `sections` counts before the hooks release and after they acquire, so that whoever holds what
// they guard and reads 0 knows that nobody is at work. While somebody waits, no new section opens
// (its work runs with the hooks' lock held), so that the wait ends with the sections that are open.
LongWork::LongWork(bool big) {
  if (!big || !hooks.release || released || inside || waiting.load() > 0) return;
  sections++;
  state_ = hooks.release();
  released = state_ != nullptr;
  if (!released) leave_section();
}

LongWork::~LongWork() {
  if (!state_) return;
  released = false;
  hooks.acquire(state_);
  leave_section();
}

void await_long_work() {
  const int own = released ? 1 : 0;
  if (sections.load() <= own) return;
  waiting++;
  void* state = hooks.release();
  for (int open = sections.load(); open > own; open = sections.load()) sections.wait(open);
  if (state) hooks.acquire(state);
  waiting--;
}

}  // namespace flambeau
