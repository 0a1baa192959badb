// Transforms of lines and columns by a plan's passes.
#include <algorithm>

#include "kernels/fft_plan.h"
#include "runtime/allocator.h"
#include "runtime/parallel.h"

namespace flambeau {
namespace {

// Scratch memory for planar numbers.
class Work {
 public:
  Work(int64_t numbers, DType real)
      : width_(real == DType::Float64 ? 8 : 4),
        bytes_(size_t(numbers * width_)),
        data_(static_cast<char*>(allocate(bytes_))) {}
  ~Work() { deallocate(data_, bytes_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  char* at(int64_t number) const { return data_ + number * width_; }
  // n complex numbers from `number` on, in rows of `row`
  FftMatrix planar(int64_t number, int64_t n, int64_t row) const {
    return {at(number), at(number + n), row, FftForm::Planar};
  }

 private:
  int64_t width_;
  size_t bytes_;
  char* data_;
};

int64_t width_of(DType real) { return real == DType::Float64 ? 8 : 4; }

// The matrix from the complex number `at` on.
FftMatrix moved(const FftMatrix& m, int64_t at, int64_t width) {
  const int64_t bytes = (m.form == FftForm::Planar ? at : 2 * at) * width;
  return {static_cast<char*>(m.re) + bytes, static_cast<char*>(m.im) + bytes, m.row, m.form};
}

FftMatrix exchanged(const FftMatrix& m) { return {m.im, m.re, m.row, m.form}; }

constexpr int64_t kCacheBytes = 1 << 16;  // of a tile's parts, so that it stays in the L2 cache

// How many columns of n rows make a tile.
int64_t tile_columns(int64_t n, int64_t cols, DType real) {
  return std::min(cols, std::max<int64_t>(16, kCacheBytes / width_of(real) / n / 16 * 16));
}

// f(first, count) for tiles of columns.
template <class F>
void each_tile(int64_t n, int64_t cols, DType real, bool threads, F&& f) {
  const int64_t tile = tile_columns(n, cols, real), tiles = (cols + tile - 1) / tile;
  auto some = [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) f(t * tile, std::min(tile, cols - t * tile));
  };
  if (threads)
    parallel_for(tiles, 1, some);
  else
    some(0, tiles);
}

// One line as a matrix of rows x cols. `middle` holds 2n numbers.
void split_line(const FftPlan& plan, const FftMatrix& in, const FftMatrix& out, char* middle,
                char* work, double scale) {
  const FftFns& fns = fft_fns(plan.real);
  const int64_t rows = plan.by_rows->n, cols = plan.by_cols->n, width = width_of(plan.real);
  const FftMatrix turned{middle, middle + plan.n * width, rows, FftForm::Planar};
  FftMatrix x = in, y = out;
  x.row = cols;
  y.row = rows;
  const bool alone = work == nullptr;  // a whole line for all threads: each has its own memory
  each_tile(rows, cols, plan.real, alone, [&](int64_t first, int64_t count) {
    const int64_t size = rows * count;
    std::unique_ptr<Work> own(alone ? new Work(6 * size, plan.real) : nullptr);
    char* w = alone ? own->at(0) : work;
    const FftMatrix tile{w, w + size * width, count, FftForm::Planar};
    fns.columns(plan.by_rows->columns(), moved(x, first, width), tile, count, w + 2 * size * width,
                1);
    fns.twist(tile, plan.twist.matrix(cols, first), moved(turned, first * rows, width), rows,
              count);
  });
  each_tile(cols, rows, plan.real, alone, [&](int64_t first, int64_t count) {
    const int64_t size = cols * count;
    std::unique_ptr<Work> own(alone ? new Work(4 * size, plan.real) : nullptr);
    fns.columns(plan.by_cols->columns(), moved(turned, first, width), moved(y, first, width), count,
                alone ? own->at(0) : work, scale);
  });
}

// Numbers of scratch memory that split_line needs besides `middle`.
int64_t split_work(const FftPlan& plan) {
  const int64_t rows = plan.by_rows->n, cols = plan.by_cols->n;
  return std::max(6 * rows * tile_columns(rows, cols, plan.real),
                  4 * cols * tile_columns(cols, rows, plan.real));
}

constexpr int64_t kAlone = 1 << 15;  // points of a line that several threads share

// `count` lines by this thread (or by all, where there is one long line).
void transform_lines(const FftPlan& plan, const FftMatrix& in, const FftMatrix& out, int64_t count,
                     double scale);

void split_lines(const FftPlan& plan, const FftMatrix& in, const FftMatrix& out, int64_t count,
                 double scale) {
  const int64_t width = width_of(plan.real);
  const bool alone = plan.n >= kAlone && !in_parallel_region();
  const Work work(2 * plan.n + (alone ? 0 : split_work(plan)), plan.real);
  for (int64_t l = 0; l < count; l++)
    split_line(plan, moved(in, l * in.row, width), moved(out, l * out.row, width), work.at(0),
               alone ? nullptr : work.at(2 * plan.n), scale);
}

// Short lines, as columns of a tile.
void short_lines(const FftPlan& plan, const FftMatrix& in, const FftMatrix& out, int64_t count,
                 double scale) {
  const FftFns& fns = fft_fns(plan.real);
  const int64_t tile = std::min<int64_t>(tile_columns(plan.n, count, plan.real), 64),
                width = width_of(plan.real), size = plan.n * tile;
  const Work work(8 * size, plan.real);
  const FftMatrix a = work.planar(0, size, tile), b = work.planar(2 * size, size, tile);
  for (int64_t l = 0; l < count; l += tile) {
    const int64_t k = std::min(tile, count - l);
    fns.gather(moved(in, l * in.row, width), a, plan.n, k);
    if (!plan.passes.empty()) fns.columns(plan.columns(), a, b, k, work.at(4 * size), 1);
    fns.scatter(plan.passes.empty() ? a : b, moved(out, l * out.row, width), plan.n, k, scale);
  }
}

void convolved_lines(const FftPlan& plan, const FftMatrix& in, const FftMatrix& out, int64_t count,
                     double scale) {
  const FftFns& fns = fft_fns(plan.real);
  const int64_t n = plan.n, size = plan.padded->n, width = width_of(plan.real);
  const Work work(2 * size, plan.real);
  const FftMatrix a = work.planar(0, size, size), chirp = plan.chirp.matrix(n);
  for (int64_t l = 0; l < count; l++) {
    fns.multiply(moved(in, l * in.row, width), chirp, a, n, 1);
    std::fill_n(work.at(n), (size - n) * width, 0);
    std::fill_n(work.at(size + n), (size - n) * width, 0);
    transform_lines(*plan.padded, a, a, 1, 1);
    fns.multiply(a, plan.filter.matrix(size), a, size, 1);
    transform_lines(*plan.padded, exchanged(a), exchanged(a), 1, 1);
    fns.multiply(a, chirp, moved(out, l * out.row, width), n, scale);
  }
}

void transform_lines(const FftPlan& plan, const FftMatrix& in, const FftMatrix& out, int64_t count,
                     double scale) {
  if (plan.padded)
    convolved_lines(plan, in, out, count, scale);
  else if (plan.by_rows)
    split_lines(plan, in, out, count, scale);
  else
    short_lines(plan, in, out, count, scale);
}

// Lines that a thread takes at least.
int64_t line_grain(int64_t n) { return std::max<int64_t>(1, 8192 / n); }

}  // namespace

void fft_lines(const FftPlan& plan, const FftMatrix& in, const FftMatrix& out, int64_t lines,
               double scale) {
  const int64_t width = width_of(plan.real);
  parallel_for(lines, line_grain(plan.n), [&](int64_t begin, int64_t end) {
    transform_lines(plan, moved(in, begin * in.row, width), moved(out, begin * out.row, width),
                    end - begin, scale);
  });
}

void fft_columns(const FftPlan& plan, void* data, int64_t outer, int64_t inner, FftForm form,
                 double scale) {
  const FftFns& fns = fft_fns(plan.real);
  const int64_t n = plan.n, width = width_of(plan.real);
  const FftMatrix all{data, data, inner, form};
  if (inner == 1) {
    FftMatrix lines = all;
    lines.row = n;
    return fft_lines(plan, lines, lines, outer, scale);
  }
  const bool direct = !plan.padded && n <= kDirectColumns;
  const int64_t tile = direct ? tile_columns(n, inner, plan.real) : std::min<int64_t>(16, inner),
                tiles = (inner + tile - 1) / tile;
  parallel_for(
      outer * tiles, std::max<int64_t>(1, 8192 / (n * tile)), [&](int64_t begin, int64_t end) {
        const Work work((direct ? 4 : 2) * n * tile, plan.real);
        for (int64_t t = begin; t < end; t++) {
          const int64_t first = t % tiles * tile, count = std::min(tile, inner - first);
          const FftMatrix part = moved(all, t / tiles * n * inner + first, width);
          if (direct) {
            if (!plan.passes.empty())
              fns.columns(plan.columns(), part, part, count, work.at(0), scale);
            continue;
          }
          // long columns become lines, and come back
          auto* x = static_cast<char*>(part.re);
          for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < count; c++)
              std::copy_n(x + 2 * (i * inner + c) * width, 2 * width, work.at(2 * (c * n + i)));
          const FftMatrix lines{work.at(0), work.at(0), n, form};
          transform_lines(plan, lines, lines, count, scale);
          for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < count; c++)
              std::copy_n(work.at(2 * (c * n + i)), 2 * width, x + 2 * (i * inner + c) * width);
        }
      });
}

void fft_columns_to_lines(const FftPlan& plan, const void* in, void* out, int64_t outer,
                          int64_t inner, FftForm form, double scale) {
  const FftFns& fns = fft_fns(plan.real);
  const int64_t n = plan.n, width = width_of(plan.real), cols = tile_columns(n, inner, plan.real),
                tiles = (inner + cols - 1) / cols;
  void* data = const_cast<void*>(in);
  parallel_for(
      outer * tiles, std::max<int64_t>(1, 8192 / (n * cols)), [&](int64_t begin, int64_t end) {
        const Work work(6 * n * cols, plan.real);
        for (int64_t t = begin; t < end; t++) {
          const int64_t first = t % tiles * cols, count = std::min(cols, inner - first);
          const FftMatrix part = moved({data, data, inner, form}, t / tiles * n * inner + first,
                                       width),
                          lines =
                              moved({out, out, n, form}, (t / tiles * inner + first) * n, width),
                          tile = work.planar(0, n * count, count);
          fns.columns(plan.columns(), part, tile, count, work.at(2 * n * count), 1);
          fns.scatter(tile, lines, n, count, scale);
        }
      });
}

void fft_real_lines(int64_t n, DType real, const void* in, void* out, int64_t row, int64_t lines,
                    double scale) {
  const auto plan = fft_plan(n / 2, real);
  const auto roots = fft_roots(n, real);
  const FftFns& fns = fft_fns(real);
  const int64_t h = n / 2, width = width_of(real);
  char* x = static_cast<char*>(const_cast<void*>(in));
  char* y = static_cast<char*>(out);
  parallel_for(lines, line_grain(h), [&](int64_t begin, int64_t end) {
    const int64_t block = std::max<int64_t>(1, std::min<int64_t>(end - begin, 4096 / h));
    const Work work(2 * h * block, real);
    for (int64_t l = begin; l < end; l += block) {
      const int64_t count = std::min(block, end - l);
      const FftMatrix half = work.planar(0, h * block, h);
      char* from = x + l * n * width;
      transform_lines(*plan, FftMatrix{from, from, h, FftForm::Pairs}, half, count, 1);
      for (int64_t k = 0; k < count; k++)
        fns.split_real(moved(half, k * h, width), roots->matrix(h), y + (l + k) * 2 * row * width,
                       h, scale);
    }
  });
}

void fft_real_lines_back(int64_t n, DType real, const void* in, void* out, int64_t lines,
                         double scale) {
  const auto plan = fft_plan(n / 2, real);
  const auto roots = fft_roots(n, real);
  const FftFns& fns = fft_fns(real);
  const int64_t h = n / 2, width = width_of(real);
  const char* x = static_cast<const char*>(in);
  char* y = static_cast<char*>(out);
  parallel_for(lines, line_grain(h), [&](int64_t begin, int64_t end) {
    const int64_t block = std::max<int64_t>(1, std::min<int64_t>(end - begin, 4096 / h));
    const Work work(2 * h * block, real);
    for (int64_t l = begin; l < end; l += block) {
      const int64_t count = std::min(block, end - l);
      const FftMatrix half = work.planar(0, h * block, h);
      for (int64_t k = 0; k < count; k++)
        fns.join_real(x + (l + k) * 2 * (h + 1) * width, roots->matrix(h),
                      moved(half, k * h, width), h);
      char* to = y + l * n * width;
      transform_lines(*plan, exchanged(half), FftMatrix{to, to, h, FftForm::Swapped}, count, scale);
    }
  });
}

}  // namespace flambeau
