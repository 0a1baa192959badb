#include "runtime/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace flambeau {
namespace {

// __builtin_cpu_supports also asks xgetbv whether the system saves the registers.
CpuTarget best_target() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  auto all = [](auto... supported) { return (supported && ...); };
  bool avx2 = all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
                  __builtin_cpu_supports("bmi2"), __builtin_cpu_supports("f16c"));
  bool avx512 = all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"),
                    __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512vl"));
  return !avx2 ? CpuTarget::baseline : avx512 ? CpuTarget::avx512 : CpuTarget::avx2;
#else
  return CpuTarget::baseline;
#endif
}

// The first number in a file; "max" and a missing file give -1.
double number_in(const char* path) {
  double value = -1;
  std::ifstream in(path);
  return in >> value ? value : -1;
}

double cgroup_cpus() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  double quota = -1, period = -1;
  if (v2) {
    if (!(v2 >> quota >> period)) return -1;
  } else {
    quota = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    period = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  }
  return quota > 0 && period > 0 ? quota / period : -1;
}

size_t cache_size(int name) {
  long bytes = sysconf(name);
  return bytes > 0 ? size_t(bytes) : 0;
}

}  // namespace

CpuTarget cpu_target() {
  static const CpuTarget target = [] {
    const char* name = std::getenv("FLAMBEAU_CPU");
    std::string wanted = name ? name : "";
    if (wanted == "baseline") return CpuTarget::baseline;
    if (wanted == "avx2") return std::min(best_target(), CpuTarget::avx2);
    return best_target();
  }();
  return target;
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> names;
#if defined(__x86_64__)
  __builtin_cpu_init();
#define FLAMBEAU_FEATURE(name) \
  if (__builtin_cpu_supports(name)) names.emplace_back(name);
  FLAMBEAU_FEATURE("sse4.2")
  FLAMBEAU_FEATURE("avx")
  FLAMBEAU_FEATURE("f16c")
  FLAMBEAU_FEATURE("avx2")
  FLAMBEAU_FEATURE("fma")
  FLAMBEAU_FEATURE("bmi2")
  FLAMBEAU_FEATURE("avx512f")
  FLAMBEAU_FEATURE("avx512bw")
  FLAMBEAU_FEATURE("avx512dq")
  FLAMBEAU_FEATURE("avx512vl")
  FLAMBEAU_FEATURE("avx512vnni")
  FLAMBEAU_FEATURE("avx512bf16")
#undef FLAMBEAU_FEATURE
#elif defined(__aarch64__)
  names.emplace_back("neon");
#endif
  return names;
}

int usable_cpus() {
  int n = int(std::max(1u, std::thread::hardware_concurrency()));
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) n = std::max(1, CPU_COUNT(&set));
  if (double quota = cgroup_cpus(); quota > 0) n = std::min(n, int(std::ceil(quota)));
  return n;
}

size_t usable_memory() {
  double bytes = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (double limit = number_in(path); limit > 0) bytes = std::min(bytes, limit);
  }
  return size_t(bytes);
}

CacheSizes cache_sizes() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  return {cache_size(_SC_LEVEL2_CACHE_SIZE), cache_size(_SC_LEVEL3_CACHE_SIZE)};
#else
  return {0, 0};
#endif
}

}  // namespace flambeau
