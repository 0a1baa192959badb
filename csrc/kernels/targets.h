// Choosing among the tables that were compiled once per instruction set.
#pragma once
#include "runtime/cpu.h"

#if FLAMBEAU_HAVE_AVX2
#define FLAMBEAU_TABLE_AVX2(table, row) &avx2::table[row]
#else
#define FLAMBEAU_TABLE_AVX2(table, row) nullptr
#endif
// Loops that wait for memory are not built for AVX-512 (CMakeLists.txt): their tables name AVX2
// twice.
#if FLAMBEAU_HAVE_AVX512
#define FLAMBEAU_TABLE_AVX512(table, row) &avx512::table[row]
#else
#define FLAMBEAU_TABLE_AVX512(table, row) nullptr
#endif
#define FLAMBEAU_TABLE_BASELINE(table, row) &baseline::table[row]

namespace flambeau {

// The best target that both this machine and this build have.
inline int chosen_target() {
  static const int chosen = [] {
    int best = int(cpu_target());
#if !FLAMBEAU_HAVE_AVX512
    best = best > 1 ? 1 : best;
#endif
#if !FLAMBEAU_HAVE_AVX2
    best = best == 1 ? 0 : best;
#endif
    return best;
  }();
  return chosen;
}

}  // namespace flambeau
