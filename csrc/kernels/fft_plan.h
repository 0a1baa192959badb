// How transforms of a size are carried out, with their roots of unity. Made once for a size and
// kept.
#pragma once
#include <memory>
#include <vector>

#include "core/dtype.h"
#include "kernels/fft_table.h"

namespace flambeau {

// exp(-2 pi i k / n), within an ulp in each part.
complex128_t fft_root(int64_t k, int64_t n);

// Longer columns are copied to lines and back: a tile of them would not stay in the cache.
constexpr int64_t kDirectColumns = 2048;

// Planar complex numbers of a plan's dtype.
class FftTable {
 public:
  FftTable() = default;
  // n numbers, value(k) as complex128_t
  template <class F>
  FftTable(DType real, int64_t n, F&& value) : real_(real), bytes_(size_t(2 * n) * itemsize()) {
    for (int64_t k = 0; k < n; k++) set(k, n, value(k));
  }
  FftMatrix matrix(int64_t row, int64_t at = 0) const;
  size_t bytes() const { return bytes_.size(); }

 private:
  size_t itemsize() const { return real_ == DType::Float64 ? 8 : 4; }
  void set(int64_t k, int64_t n, complex128_t v);
  DType real_ = DType::Float32;
  std::vector<char> bytes_;
};

// Transforms along one dimension of n points.
//   smooth     only factors 2, 3, 5, 7: passes over columns.
//   split      besides: n = rows x cols, both of some size. A line is transformed as a matrix: its
//              columns, a multiplication by roots, its rows (Bailey, FFTs in external or
//              hierarchical memory, 1990).
//   otherwise  a convolution with a chirp by transforms of a size from 2n - 1 on (Bluestein, A
//              linear filtering approach to the computation of the discrete Fourier transform,
//              1970).
struct FftPlan {
  int64_t n = 1;
  DType real = DType::Float32;
  std::vector<FftPass> passes;
  std::vector<std::vector<char>> twiddles;
  std::shared_ptr<const FftPlan> by_rows, by_cols;  // split: transforms of `rows` and `cols` points
  FftTable twist;                                   // split: rows x cols
  std::shared_ptr<const FftPlan> padded;            // of the convolution
  FftTable chirp, filter;                           // filter: transformed and divided by its size
  size_t bytes = 0;

  FftColumns columns() const { return {n, int64_t(passes.size()), passes.data()}; }
};

std::shared_ptr<const FftPlan> fft_plan(int64_t n, DType real);
// exp(-2 pi i k / n) for k < n / 2, of transforms of n real numbers by n / 2 complex ones.
std::shared_ptr<const FftTable> fft_roots(int64_t n, DType real);

const FftFns& fft_fns(DType real);

// Transforms lines of plan.n numbers. `in` and `out` are matrices with a line in each row and may
// be the same; forms are pairs or swapped alike, the output may also be planar. Threads share the
// lines, or the parts of one line.
void fft_lines(const FftPlan& plan, const FftMatrix& in, const FftMatrix& out, int64_t lines,
               double scale);
// Transforms columns: `outer` matrices of plan.n rows and `inner` columns, in place.
void fft_columns(const FftPlan& plan, void* data, int64_t outer, int64_t inner, FftForm form,
                 double scale);
// Columns of `in` become transformed lines of `out`: `outer` matrices of `inner` lines.
void fft_columns_to_lines(const FftPlan& plan, const void* in, void* out, int64_t outer,
                          int64_t inner, FftForm form, double scale);
// Real lines of n numbers to n / 2 + 1 frequencies, in rows of `row`, and back; n is even.
void fft_real_lines(int64_t n, DType real, const void* in, void* out, int64_t row, int64_t lines,
                    double scale);
void fft_real_lines_back(int64_t n, DType real, const void* in, void* out, int64_t lines,
                         double scale);

}  // namespace flambeau
