// Sampling of images at the positions of a grid.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/checks.h"
#include "kernels/pointwise.h"
#include "kernels/resample.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

enum Mode : int64_t { kLinear, kNearest, kCubic };
enum Padding : int64_t { kZeros, kBorder, kReflection };
constexpr int64_t kBlock = kGridBlock;  // points whose weights are kept

struct Sampling {
  int64_t rank, mode, padding;
  bool align_corners;
  Dims order;  // x first
  int64_t batch, channels, points;
  Dims image;  // innermost first

  int64_t pixels() const {
    int64_t n = 1;
    for (int64_t s : image) n *= s;
    return n;
  }
  int64_t taps_along() const { return mode == kNearest ? 1 : mode == kLinear ? 2 : 4; }
  int64_t taps() const { return int64_t(std::pow(double(taps_along()), double(rank)) + 0.5); }
};

Sampling sampling_of(const char* op, IntSpan image, IntSpan grid, int64_t mode, int64_t padding,
                     bool align_corners, const Dims& order) {
  const int64_t rank = int64_t(image.size()) - 2;
  check_sizes(op, "input", image);
  check((rank == 2 || rank == 3) && grid.size() == image.size() && grid.back() == rank &&
            grid[0] == image[0],
        op, ": expected a grid for an input of sizes ", Dims(image), ", but got sizes ",
        Dims(grid));
  check(mode >= kLinear && mode <= kCubic && padding >= kZeros && padding <= kReflection &&
            (mode != kCubic || rank == 2),
        op, ": unknown modes ", mode, ", ", padding);
  check_steps(op, "order", order, size_t(rank), 0);
  Sampling s{rank, mode, padding, align_corners, order, image[0], image[1], 1, {}};
  for (int64_t d = 0; d < rank; d++) {
    s.points *= grid[size_t(d) + 1];
    s.image.push_back(image[image.size() - 1 - size_t(d)]);
    check(s.image.back() > 0, op,
          ": expected input to have non-empty spatial dimensions, but input has sizes ",
          Dims(image));
  }
  check(s.pixels() <= std::numeric_limits<int32_t>::max(), op, ": an image of sizes ", Dims(image),
        " is too large");
  return s;
}

// A position inside the image, and the derivative by the one that was given.
template <class T>
void bring_inside(T& at, T& slope, int64_t size, const Sampling& s) {
  if (s.padding == kZeros) return;
  if (s.padding == kReflection) {
    const T low = s.align_corners ? T(0) : T(-0.5), span = s.align_corners ? T(size - 1) : T(size);
    if (span <= 0) {
      slope = at = T(0);
      return;
    }
    T distance = at - low;
    if (distance < 0) {
      distance = -distance;
      slope = -slope;
    }
    const T turns = std::floor(distance / span), rest = distance - turns * span;
    const bool odd = std::fmod(turns, T(2)) != 0;
    at = odd ? span - rest + low : rest + low;
    if (odd) slope = -slope;
  }
  if (!(at > 0)) {  // NaN as well
    at = T(0);
    slope = T(0);
  } else if (at >= T(size - 1)) {
    at = T(size - 1);
    slope = T(0);
  }
}

// a + b t + c t^2 + d t^3, derived `order` times.
template <class T>
T polynomial(std::array<double, 4> p, T t, int64_t order) {
  for (; order > 0; order--) p = {p[1], 2 * p[2], 3 * p[3], 0};
  return ((T(p[3]) * t + T(p[2])) * t + T(p[1])) * t + T(p[0]);
}

// Keys' kernel with a = -3/4 at the distances t + 1, t, 1 - t and 2 - t, as polynomials of t.
constexpr std::array<double, 4> kCubicTaps[4] = {
    {0, -0.75, 1.5, -0.75}, {1, 0, -2.25, 1.25}, {0, 0.75, 1.5, -1.25}, {0, 0, -0.75, 0.75}};

// Positions and weights of a block of points.
template <class T>
struct Block {
  std::vector<int32_t> at;
  std::vector<T> weight;
  std::vector<int64_t> broken;  // points without a position, whose values are not numbers

  // `grid` holds `count` points; derived once more along dimension `extra` unless that is -1
  void fill(const Sampling& s, const T* grid, int64_t count, int64_t extra) {
    const int64_t along = s.taps_along(), taps = s.taps();
    at.resize(size_t(taps * count));
    weight.resize(size_t(taps * count));
    broken.clear();
    // the most frequent case
    if (count <= kGridBlock && s.rank == 2 && s.mode == kLinear && s.padding == kZeros &&
        extra < 0 && s.order[0] + s.order[1] == 0)
      return fill_plain(s, grid, count);
    for (int64_t i = 0; i < count; i++) {
      int64_t places[3][4] = {};
      T weights[3][4] = {};
      bool usable = true;
      for (int64_t d = 0; d < s.rank; d++)
        usable &= along_one(s, d, grid[i * s.rank + d], s.order[size_t(d)] + (d == extra),
                            places[d], weights[d]);
      if (!usable && s.mode != kNearest) broken.push_back(i);
      int64_t k = 0;
      for (int64_t c = 0; c < (s.rank == 3 ? along : 1); c++)
        for (int64_t b = 0; b < along; b++)
          for (int64_t a = 0; a < along; a++, k++) {
            int64_t position = places[1][b] * s.image[0] + places[0][a];
            T w = weights[1][b] * weights[0][a];
            bool inside = places[0][a] >= 0 && places[1][b] >= 0;
            if (s.rank == 3) {
              position += places[2][c] * s.image[0] * s.image[1];
              w *= weights[2][c];
              inside &= places[2][c] >= 0;
            }
            at[size_t(k * count + i)] = inside ? int32_t(position) : -1;
            weight[size_t(k * count + i)] = w;
          }
    }
  }
  Taps<T> taps(const Sampling& s, int64_t count) const {
    return {at.data(), weight.data(), count, s.taps(), 0, 0, 1, 1};
  }

 private:
  void fill_plain(const Sampling& s, const T* grid, int64_t count) {
    resample_fns<T>().corners(grid, count, int32_t(s.image[0]), int32_t(s.image[1]),
                              s.align_corners, at.data(), weight.data());
    for (int64_t i = 0; i < count; i++)
      if (!std::isfinite(grid[2 * i] + grid[2 * i + 1])) broken.push_back(i);
  }

  // false for a position that is infinite or not a number
  static bool along_one(const Sampling& s, int64_t d, T x, int64_t order, int64_t* places,
                        T* weights) {
    const int64_t size = s.image[size_t(d)];
    const T slope = s.align_corners ? T(size - 1) / 2 : T(size) / 2;
    T at = s.align_corners ? (x + 1) / 2 * T(size - 1) : ((x + 1) * T(size) - 1) / 2, by = slope;
    if (s.mode != kCubic) bring_inside(at, by, size, s);
    const bool usable = std::abs(at) < T(1e9);
    const T base = usable ? (s.mode == kNearest ? std::nearbyint(at) : std::floor(at)) : T(-10);
    const T t = at - base;
    for (int64_t k = 0; k < s.taps_along(); k++) {
      int64_t place = int64_t(base) + k - (s.mode == kCubic);
      if (s.mode == kCubic && s.padding != kZeros && usable) {
        T inside = T(place), ignored = 1;
        bring_inside(inside, ignored, size, s);
        place = int64_t(inside);
      }
      places[k] = place >= 0 && place < size ? place : -1;
      T w = s.mode == kNearest ? T(order == 0)
            : s.mode == kCubic ? polynomial(kCubicTaps[k], t, order)
            : k == 0           ? polynomial({1, -1, 0, 0}, t, order)
                               : polynomial({0, 1, 0, 0}, t, order);
      for (int64_t o = 0; o < order; o++) w *= by;
      weights[k] = w;
    }
    return std::isfinite(at);
  }
};

// values[i] of channels that are `step` apart, for points i without a position
template <class T>
void spoil(const Block<T>& block, T* values, int64_t channels, int64_t step) {
  for (int64_t i : block.broken)
    for (int64_t c = 0; c < channels; c++)
      values[c * step + i] = std::numeric_limits<T>::quiet_NaN();
}

// f(room, image number, first point, count) for blocks of points, in threads.
template <class T, class F>
void each_block(const Sampling& s, F&& f) {
  const int64_t blocks = (s.points + kBlock - 1) / kBlock;
  LongWork guard(s.batch * s.points * s.channels > (1 << 16));
  parallel_for(s.batch * blocks, std::max<int64_t>(1, 64 / (s.channels + 1)),
               [&](int64_t begin, int64_t end) {
                 Block<T> block;
                 for (int64_t u = begin; u < end; u++) {
                   const int64_t start = u % blocks * kBlock;
                   f(block, u / blocks, start, std::min(kBlock, s.points - start));
                 }
               });
}

Tensor wide(const Tensor& t) { return contiguous_of(cast_of(t, info(t.dtype()).compute)); }

template <class F>
void visit_wide(const Tensor& t, F&& f) {
  t.dtype() == DType::Float64 ? f(double()) : f(float());
}

void check_same(const char* op, const Tensor& a, const Tensor& b) {
  check_real_floating(op, "input", a);
  check(a.dtype() == b.dtype(), op, ": expected one dtype, but got ", a.dtype(), " and ",
        b.dtype());
}

Dims sampled_sizes(IntSpan image, IntSpan grid) {
  Dims out{image[0], image[1]};
  for (size_t d = 1; d + 1 < grid.size(); d++) out.push_back(grid[d]);
  return out;
}

}  // namespace

Tensor _grid_sample(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                    bool align_corners, const Dims& order) {
  const char* op = "grid_sample";
  check_same(op, input, grid);
  const Sampling s =
      sampling_of(op, input.sizes(), grid.sizes(), mode, padding, align_corners, order);
  Tensor out =
      flambeau::empty(sampled_sizes(input.sizes(), grid.sizes()), input.dtype(), input.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor x = wide(input), g = wide(grid), y = flambeau::empty(out.sizes(), x.dtype());
  visit_wide(x, [&]<class T>(T) {
    each_block<T>(s, [&](Block<T>& block, int64_t n, int64_t start, int64_t count) {
      block.fill(s, g.data<T>() + (n * s.points + start) * s.rank, count, -1);
      const Taps<T> taps = block.taps(s, count);
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; c++)
        resample_fns<T>().row(x.data<T>() + c * s.pixels(), taps,
                              y.data<T>() + c * s.points + start);
      spoil(block, y.data<T>() + n * s.channels * s.points + start, s.channels, s.points);
    });
  });
  return cast_of(y, out.dtype());
}

Tensor _grid_scatter(const Tensor& grad, const Tensor& grid, const Dims& size, int64_t mode,
                     int64_t padding, bool align_corners, const Dims& order) {
  const char* op = "grid_sample_backward";
  check_same(op, grad, grid);
  const Sampling s = sampling_of(op, size, grid.sizes(), mode, padding, align_corners, order);
  check_shape(op, "grad_output", grad, sampled_sizes(size, grid.sizes()));
  Tensor out = flambeau::empty(size, grad.dtype(), grad.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor from = wide(grad), g = wide(grid), y = flambeau::empty(size, from.dtype());
  visit_wide(from, [&]<class T>(T) {
    // each image in groups of channels, which fill the cache no more than to half
    const int64_t group = std::clamp<int64_t>((1 << 16) / s.pixels(), 1, 32),
                  groups = (s.channels + group - 1) / group;
    LongWork guard(from.numel() > (1 << 16));
    parallel_for(s.batch * groups, 1, [&](int64_t begin, int64_t end) {
      Block<T> block;
      for (int64_t u = begin; u < end; u++) {
        const int64_t n = u / groups, first = n * s.channels + u % groups * group,
                      last = std::min(first + group, (n + 1) * s.channels);
        T* to = y.data<T>();
        std::fill(to + first * s.pixels(), to + last * s.pixels(), T(0));
        for (int64_t start = 0; start < s.points; start += kBlock) {
          const int64_t count = std::min(kBlock, s.points - start);
          block.fill(s, g.data<T>() + (n * s.points + start) * s.rank, count, -1);
          for (int64_t c = first; c < last; c++) {
            T* image = to + c * s.pixels();
            const T* v = from.data<T>() + c * s.points + start;
            for (int64_t k = 0; k < s.taps(); k++) {
              const int32_t* at = block.at.data() + k * count;
              const T* w = block.weight.data() + k * count;
              for (int64_t i = 0; i < count; i++)
                if (at[i] >= 0) image[at[i]] += w[i] * v[i];
            }
          }
        }
      }
    });
  });
  return cast_of(y, out.dtype());
}

Tensor _grid_slope(const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,
                   int64_t padding, bool align_corners, const Dims& order) {
  const char* op = "grid_sample_backward";
  check_same(op, input, grid);
  check_same(op, grad, grid);
  const Sampling s =
      sampling_of(op, input.sizes(), grid.sizes(), mode, padding, align_corners, order);
  check_shape(op, "grad_output", grad, sampled_sizes(input.sizes(), grid.sizes()));
  Tensor out = flambeau::empty(grid.sizes(), grid.dtype(), grid.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor from = wide(grad), x = wide(input), g = wide(grid),
         y = flambeau::empty(grid.sizes(), x.dtype());
  visit_wide(x, [&]<class T>(T) {
    const auto& fns = resample_fns<T>();
    each_block<T>(s, [&](Block<T>& block, int64_t n, int64_t start, int64_t count) {
      T values[kBlock], sum[kBlock];
      block.broken.clear();
      const int64_t point = n * s.points + start;
      for (int64_t d = 0; d < s.rank; d++) {
        std::fill(sum, sum + count, T(0));
        if (s.mode != kNearest) {
          block.fill(s, g.data<T>() + point * s.rank, count, d);
          const Taps<T> taps = block.taps(s, count);
          for (int64_t c = n * s.channels; c < (n + 1) * s.channels; c++) {
            fns.row(x.data<T>() + c * s.pixels(), taps, values);
            fns.multiply_add(sum, values, from.data<T>() + c * s.points + start, count);
          }
        }
        spoil(block, sum, 1, 0);
        for (int64_t i = 0; i < count; i++) y.data<T>()[(point + i) * s.rank + d] = sum[i];
      }
    });
  });
  return cast_of(y, out.dtype());
}

}  // namespace flambeau::kernels
