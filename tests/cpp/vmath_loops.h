// The table of vector-math loops under test. vmath_loops.cpp is compiled once per instruction set,
// with FLAMBEAU_TARGET_NS = baseline, avx2, avx512 and that set's flags, and linked three times:
//   FLAGS = -std=c++20 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -Icsrc
//   avx2: -mavx2 -mfma -mf16c -mbmi2
//   avx512: -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512
#pragma once
#include <cstddef>

template <class T>
struct MathLoop {
  const char* name;
  void (*unary)(T* out, const T* in, size_t n);
  void (*binary)(T* out, const T* a, const T* b, size_t n);
};

struct MathLoops {
  const char* target;
  const MathLoop<float>* floats;
  const MathLoop<double>* doubles;
  size_t num_floats, num_doubles;
};

extern const MathLoops loops_baseline, loops_avx2, loops_avx512;
