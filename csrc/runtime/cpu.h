// What this processor offers.
#pragma once
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

}  // namespace flambeau
