// What this processor and this process's share of the machine offer.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace flambeau {

// Instruction sets that kernels are compiled for, in rising order.
enum class CpuTarget { baseline, avx2, avx512 };

// The best set that processor and system support; FLAMBEAU_CPU=baseline|avx2|avx512 lowers it.
CpuTarget cpu_target();
std::vector<std::string> cpu_features();

// Processors this process may use: affinity mask and cgroup quota.
int usable_cpus();
// Bytes of memory this process may use: the machine's, or the cgroup's limit where that is lower.
size_t usable_memory();
// Bytes of the second-level cache of a core and of the shared third-level cache; 0: not known.
struct CacheSizes {
  size_t l2, l3;
};
CacheSizes cache_sizes();

}  // namespace flambeau
