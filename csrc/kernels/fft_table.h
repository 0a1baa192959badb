// Inner loops of Fourier transforms, in float and double. Plain types only: the header is also
// compiled once per instruction set.
//
// Numbers lie planar (real and imaginary parts in arrays of their own) between passes, and as pairs
// in tensors. An inverse transform is a forward one with the parts exchanged on both sides, which
// reading and writing do for next to nothing.
#pragma once
#include <cstdint>

namespace flambeau {

enum class FftForm : int { Planar, Pairs, Swapped };

// A matrix: rows of neighbours, `row` complex numbers apart. `im` is used where planar only.
struct FftMatrix {
  void* re;
  void* im;
  int64_t row;
  FftForm form;
};

// One pass of the self-sorting algorithm (Stockham; Van Loan, Computational Frameworks for the Fast
// Fourier Transform, 1992, 1.7): butterflies of `radix` rows m apart, times roots of unity.
struct FftPass {
  int64_t radix, m;
  const void* twiddles;  // m x (radix - 1) pairs
};
struct FftColumns {
  int64_t n;
  int64_t count;
  const FftPass* passes;
};

struct FftFns {
  // Transforms `cols` columns of n rows. `work` holds 4 * n * cols numbers. `out` may be `in`. The
  // scale is applied unless the result stays planar.
  void (*columns)(const FftColumns& plan, const FftMatrix& in, const FftMatrix& out, int64_t cols,
                  void* work, double scale);
  // out[c][r] = in[r][c] * factor[r][c], all planar.
  void (*twist)(const FftMatrix& in, const FftMatrix& factor, const FftMatrix& out, int64_t rows,
                int64_t cols);
  // out[k] = in[k] * factor[k] * scale; in and out of any form, the factor planar.
  void (*multiply)(const FftMatrix& in, const FftMatrix& factor, const FftMatrix& out, int64_t n,
                   double scale);
  // Lines become the columns of a planar matrix, and back.
  void (*gather)(const FftMatrix& lines, const FftMatrix& columns, int64_t n, int64_t count);
  void (*scatter)(const FftMatrix& columns, const FftMatrix& lines, int64_t n, int64_t count,
                  double scale);
  // Between the transform of n / 2 pairs of real neighbours (planar) and the non-negative
  // frequencies of n real numbers (pairs); roots: exp(-2 pi i k / n), planar.
  void (*split_real)(const FftMatrix& half, const FftMatrix& roots, void* out, int64_t h,
                     double scale);
  void (*join_real)(const void* in, const FftMatrix& roots, const FftMatrix& half, int64_t h);
};

}  // namespace flambeau
