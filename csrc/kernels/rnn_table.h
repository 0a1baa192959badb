// Inner loops of recurrent layers, in float and double. Plain types only: the header is also
// compiled once per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

// Rows are given by pointers, so that those of different time steps can go together.
template <class T>
struct RnnFns {
  int64_t panel;  // packed matrices lie in panels of so many columns, the last one padded
  bool fused;     // whether the processor has fused operations: without them `product` is slow

  // B(k, j) = from[k * row_stride + j * col_stride], k < depth, j < cols
  void (*pack)(T* to, const T* from, int64_t depth, int64_t cols, int64_t row_stride,
               int64_t col_stride);
  // c[i][c_at + j] += a[i][a_at + k] * B(k, j), summed in the order of k by fused operations
  void (*product)(T* const* c, int64_t c_at, const T* const* a, int64_t a_at, int64_t rows,
                  int64_t depth, const T* packed, int64_t cols);

  // One step of n hidden units of one sequence: from the sums to the activated gates in place, the
  // next states (`next` may be `h`) and the output. `kept` (or null) takes what the way back reads
  // beside the gates. From gate to gate it is `step` elements, here and below.
  void (*lstm)(T* sums, const T* h, T* next, T* c, T* out, T* kept, int64_t n, int64_t step);
  void (*gru)(T* sums, const T* h, T* next, T* out, T* kept, int64_t n, int64_t step);
  void (*plain)(T* sums, const T* h, T* next, T* out, T* kept, int64_t n, bool relu);

  // The way back: from the gradient of the step's output (or null) and of the states after the step
  // to that of the sums. `dh` then holds what does not pass through the sums, `dc` its whole
  // gradient.
  void (*lstm_back)(T* sums, T* dh, T* dc, const T* grad, const T* saved, int64_t n, int64_t step);
  void (*gru_back)(T* sums, T* dh, const T* grad, const T* saved, int64_t n, int64_t step);
  void (*plain_back)(T* sums, T* dh, const T* grad, const T* saved, int64_t n, bool relu);
};

}  // namespace flambeau
