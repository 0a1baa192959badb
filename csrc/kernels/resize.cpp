// Resizing, and borders made of what lies inside.
#include <algorithm>
#include <cmath>

#include "kernels/checks.h"
#include "kernels/resample.h"
#include "ops/all.h"

namespace flambeau::kernels {
namespace {

enum Mode : int64_t { kNearest, kNearestExact, kLinear, kCubic };

// Keys' kernel at distances x >= 0.
double cubic(double x, double a) {
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

Axis antialiased_axis(int64_t in, int64_t out, double scale, bool is_cubic) {
  const double stretch = std::max(scale, 1.0), support = (is_cubic ? 2.0 : 1.0) * stretch;
  Axis axis(in, out, std::min<int64_t>(in, 2 * int64_t(std::ceil(support)) + 1));
  std::vector<double> weights(size_t(axis.taps));
  for (int64_t i = 0; i < out; i++) {
    const double center = scale * (double(i) + 0.5);
    const int64_t first = std::max<int64_t>(int64_t(center - support + 0.5), 0),
                  last = std::min<int64_t>(int64_t(center + support + 0.5), in),
                  count = std::min(last - first, axis.taps);
    double total = 0;
    for (int64_t k = 0; k < count; k++) {
      const double x = std::abs((double(first + k) - center + 0.5) / stretch);
      total += weights[size_t(k)] = is_cubic ? cubic(x, -0.5) : std::max(1 - x, 0.0);
    }
    for (int64_t k = 0; k < count; k++) axis.set(i, k, first + k, weights[size_t(k)] / total);
  }
  return axis;
}

Axis resize_axis(int64_t in, int64_t out, double scale, int64_t mode, bool align_corners,
                 bool antialias) {
  if (mode <= kNearestExact) {
    Axis axis(in, out, 1);
    const float shift = mode == kNearestExact ? 0.5f : 0.0f;
    for (int64_t i = 0; i < out; i++) {
      const float at = std::floor((float(i) + shift) * float(scale));
      axis.set(i, 0, std::min<int64_t>(int64_t(std::min(at, 2e9f)), in - 1), 1);
    }
    return axis;
  }
  if (antialias) return antialiased_axis(in, out, scale, mode == kCubic);
  Axis axis(in, out, mode == kCubic ? 4 : 2);
  for (int64_t i = 0; i < out; i++) {
    double at = align_corners ? double(i) * scale : (double(i) + 0.5) * scale - 0.5;
    if (mode == kLinear) at = std::max(at, 0.0);
    double base = std::floor(std::min(at, 2e9));
    if (mode == kLinear) base = std::min(base, double(in - 1));
    auto inside = [&](double p) { return std::clamp<int64_t>(int64_t(p), 0, in - 1); };
    const double t = mode == kLinear ? std::clamp(at - base, 0.0, 1.0) : at - base;
    if (mode == kLinear) {
      axis.set(i, 0, inside(base), 1 - t);
      axis.set(i, 1, inside(base + 1), t);
    } else {
      const double distances[4] = {t + 1, t, 1 - t, 2 - t};
      for (int k = 0; k < 4; k++) axis.set(i, k, inside(base + k - 1), cubic(distances[k], -0.75));
    }
  }
  return axis;
}

struct Resizing {
  double scales[3];
  int64_t mode;
  bool align_corners, antialias;

  Axis axis(size_t d, int64_t in, int64_t out) const {
    // dimensions that the public function added
    if (in == 1 && out == 1) {
      Axis same(1, 1, 1);
      same.set(0, 0, 0, 1);
      return same;
    }
    return resize_axis(in, out, scales[d], mode, align_corners, antialias);
  }
};

void check_resize(const char* op, IntSpan in, IntSpan out, const Resizing& r) {
  check(in.size() == 5, op, ": expected 5 dimensions, but got sizes ", Dims(in));
  check_sizes(op, "sizes", in);
  check_steps(op, "size", out, 3, 1);
  for (size_t d = 0; d < 3; d++) {
    check(in[d + 2] > 0 && in[d + 2] <= kLargestStep, op,
          ": Input and output sizes should be greater than 0, but got input size ", in[d + 2],
          " and output size ", out[d]);
    check(std::isfinite(r.scales[d]) && r.scales[d] >= 0 && r.scales[d] < 1e9, op,
          ": expected scales that are not negative, but got ", r.scales[d]);
  }
  check(r.mode >= kNearest && r.mode <= kCubic, op, ": unknown mode ", r.mode);
}

Dims with_inner(IntSpan sizes, IntSpan inner) {
  return {sizes[0], sizes[1], inner[0], inner[1], inner[2]};
}

}  // namespace

Tensor _resize(const Tensor& self, const Dims& size, double scale_d, double scale_h, double scale_w,
               int64_t mode, bool align_corners, bool antialias) {
  const Resizing r{{scale_d, scale_h, scale_w}, mode, align_corners, antialias};
  check_real_floating("_resize", "self", self);
  check_resize("_resize", self.sizes(), size, r);
  const Dims out = with_inner(self.sizes(), size);
  check_sizes("_resize", "size", out);
  return resampled(self, out, r.axis(0, self.sizes()[2], size[0]),
                   r.axis(1, self.sizes()[3], size[1]), r.axis(2, self.sizes()[4], size[2]));
}

Tensor _resize_backward(const Tensor& grad, const Dims& size, double scale_d, double scale_h,
                        double scale_w, int64_t mode, bool align_corners, bool antialias) {
  const Resizing r{{scale_d, scale_h, scale_w}, mode, align_corners, antialias};
  check_real_floating("_resize_backward", "grad_output", grad);
  check_rank("_resize_backward", "grad_output", grad, 5, 5);
  const Dims out{grad.sizes()[2], grad.sizes()[3], grad.sizes()[4]};
  check_resize("_resize_backward", size, out, r);
  check_shape("_resize_backward", "grad_output", grad, with_inner(size, out));
  return resampled(grad, size, r.axis(0, size[2], out[0]).transposed(),
                   r.axis(1, size[3], out[1]).transposed(),
                   r.axis(2, size[4], out[2]).transposed());
}

namespace {

enum Border : int64_t { kReflect, kReplicate, kCircular };

Axis border_axis(const char* op, int64_t n, int64_t left, int64_t right, int64_t mode) {
  constexpr int64_t most = kLargestStep / 4;
  check(
      n > 0 && n < most && std::abs(left) < most && std::abs(right) < most && n + left + right >= 0,
      op, ": cannot pad ", n, " elements by (", left, ", ", right, ")");
  const int64_t first = std::max<int64_t>(-left, 0),
                kept = n - first - std::max<int64_t>(-right, 0);
  check(mode != kCircular || n + left + right == 0 || (kept > 0 && left <= kept && right <= kept),
        op, ": cannot wrap ", n, " elements by (", left, ", ", right, ")");
  check(mode != kReflect || (left < n && right < n), op, ": cannot reflect ", n, " elements by (",
        left, ", ", right, ")");
  Axis axis(n, n + left + right, 1);
  for (int64_t i = 0; i < axis.out; i++) {
    int64_t at = i - left;
    if (mode == kReplicate)
      at = std::clamp<int64_t>(at, 0, n - 1);
    else if (mode == kCircular)
      at = first + ((at - first) % kept + kept) % kept;
    else
      at = at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at;
    check(at >= 0 && at < n, op, ": cannot pad ", n, " elements by (", left, ", ", right, ")");
    axis.set(i, 0, at, 1);
  }
  return axis;
}

struct Borders {
  Dims in, out;
  std::vector<Axis> axes;  // D, H, W
};
Borders borders_of(const char* op, IntSpan sizes, IntSpan pad, int64_t mode) {
  check_sizes(op, "size", sizes);
  check(pad.size() % 2 == 0 && pad.size() <= 6 && pad.size() <= 2 * sizes.size() && mode >= 0 &&
            mode <= kCircular,
        op, ": expected up to three pairs of pad and a mode of 0 to 2, but got pad=", Dims(pad),
        " and mode=", mode);
  Borders b{Dims(sizes), Dims(sizes), {}};
  for (size_t k = 3; k-- > 0;) {
    const bool present = k < sizes.size();
    const size_t d = sizes.size() - 1 - k;
    const bool padded = 2 * k < pad.size();
    b.axes.push_back(border_axis(op, present ? sizes[d] : 1, padded ? pad[2 * k] : 0,
                                 padded ? pad[2 * k + 1] : 0, padded ? mode : int64_t(kReplicate)));
    if (present) b.out[d] = b.axes.back().out;
  }
  check_sizes(op, "result", b.out);
  return b;
}

}  // namespace

Tensor _pad_from_inside(const Tensor& self, const Dims& pad, int64_t mode) {
  check_real_floating("_pad_from_inside", "self", self);
  const Borders b = borders_of("_pad_from_inside", self.sizes(), pad, mode);
  return resampled(self, b.out, b.axes[0], b.axes[1], b.axes[2], mode != kCircular);
}

Tensor _pad_from_inside_backward(const Tensor& grad, const Dims& size, const Dims& pad,
                                 int64_t mode) {
  check_real_floating("_pad_from_inside_backward", "grad_output", grad);
  const Borders b = borders_of("_pad_from_inside_backward", size, pad, mode);
  check_shape("_pad_from_inside_backward", "grad_output", grad, b.out);
  return resampled(grad, size, b.axes[0].transposed(), b.axes[1].transposed(),
                   b.axes[2].transposed());
}

}  // namespace flambeau::kernels
