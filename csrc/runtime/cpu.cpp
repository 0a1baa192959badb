#include "runtime/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace flambeau {

CpuTarget cpu_target() {
  static const CpuTarget best = [] {
    CpuTarget t = CpuTarget::baseline;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
      t = CpuTarget::avx2;
    if (t == CpuTarget::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      t = CpuTarget::avx512;
#endif
    if (const char* v = std::getenv("FLAMBEAU_CPU")) {
      std::string name(v);
      if (name == "baseline") t = CpuTarget::baseline;
      if (name == "avx2") t = std::min(t, CpuTarget::avx2);
    }
    return t;
  }();
  return best;
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> out;
#if defined(__x86_64__)
  __builtin_cpu_init();
#define FEATURE(name) \
  if (__builtin_cpu_supports(name)) out.emplace_back(name)
  FEATURE("sse4.2");
  FEATURE("avx");
  FEATURE("avx2");
  FEATURE("fma");
  FEATURE("bmi2");
  FEATURE("avx512f");
  FEATURE("avx512bw");
  FEATURE("avx512dq");
  FEATURE("avx512vl");
  FEATURE("avx512vnni");
  FEATURE("avx512bf16");
#undef FEATURE
#elif defined(__aarch64__)
  out.emplace_back("neon");
#endif
  return out;
}

int usable_cpus() {
  int n = int(std::max(1u, std::thread::hardware_concurrency()));
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) n = std::max(1, CPU_COUNT(&set));
  std::string quota;
  double period = 0;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> quota >> period && quota != "max" && period > 0)
    n = std::min(n, std::max(1, int(std::ceil(std::atof(quota.c_str()) / period))));
  return n;
}

}  // namespace flambeau
