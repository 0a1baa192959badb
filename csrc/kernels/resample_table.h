// Inner loops of everything that makes rows as weighted sums: resizing, borders, average pooling,
// sampling on a grid, bags of rows. Plain types only: the header is also compiled once per
// instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

// out[i] = sum over k < taps of weight[k * out + i] * x[at[k * out + i]]; a position below zero
// adds nothing.
template <class T>
struct Taps {
  const int32_t* at;
  const T* weight;  // null: all 1
  int64_t out, taps;
  // Outputs of [low, high) read from even steps: output low + phases * q + p, p < phases, reads
  // at[k * out + low + p] + step * q.
  int64_t low, high, phases, step;
};

constexpr int64_t kGridBlock = 256;

template <class T>
struct ResampleFns {
  void (*row)(const T* x, const Taps<T>& taps, T* out);
  // out[i] = sum of weight[k] * rows[k][i]
  void (*blend)(const T* const* rows, const T* weight, int64_t count, T* out, int64_t n);
  // out[i] /= by[i]
  void (*divide)(T* out, const T* by, int64_t n);
  // sum[i] += a[i] * b[i]
  void (*multiply_add)(T* sum, const T* a, const T* b, int64_t n);
  // out[c] = the sum of n elements, divided by `by`; `count` such runs one after the other
  void (*means)(const T* x, int64_t n, int64_t count, T by, T* out);
  // The four corners around each of at most kGridBlock points of a grid (x, y), as taps.
  void (*corners)(const T* grid, int64_t count, int32_t width, int32_t height, bool align_corners,
                  int32_t* at, T* weight);
};

}  // namespace flambeau
