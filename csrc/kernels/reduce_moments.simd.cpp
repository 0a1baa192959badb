// Count, mean and sum of squared deviations, in double.
#include "kernels/reduce_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

// Mean and sum of squared deviations: two passes over data that is in the cache by then.
template <class T>
struct MomentLoops {
  static void rows(void* acc, const void* in, int64_t count, int64_t n, int64_t stride) {
    const T* x = static_cast<const T*>(in);
    auto add = [](double a, double b) { return a + b; };
    for (int64_t r = 0; r < count; r++, x += stride) {
      double mean =
          reduce_lanes(n, 0.0, [x](int64_t i) { return double(element(x, i)); }, add) / double(n);
      double m2 = reduce_lanes(
          n, 0.0,
          [x, mean](int64_t i) {
            double d = double(element(x, i)) - mean;
            return d * d;
          },
          add);
      static_cast<Moments*>(acc)[r] = n ? Moments{double(n), mean, m2} : Moments{0, 0, 0};
    }
  }
  static void columns(void* acc, const void* in, int64_t rows, int64_t cols, int64_t stride) {
    constexpr int64_t strip = 512;
    double mean[strip], m2[strip];
    auto add = [](double a, double b) { return a + b; };
    for (int64_t begin = 0; begin < cols; begin += strip) {
      const int64_t width = cols - begin < strip ? cols - begin : strip;
      const T* x = static_cast<const T*>(in) + begin;
      reduce_columns(
          mean, rows, width, 0.0,
          [x, stride](int64_t r, int64_t c) { return double(element(x, r * stride + c)); }, add);
      for (int64_t c = 0; c < width; c++) mean[c] = rows ? mean[c] / double(rows) : 0;
      const double* m = mean;
      reduce_columns(
          m2, rows, width, 0.0,
          [x, m, stride](int64_t r, int64_t c) {
            double d = double(element(x, r * stride + c)) - m[c];
            return d * d;
          },
          add);
      for (int64_t c = 0; c < width; c++)
        static_cast<Moments*>(acc)[begin + c] = {double(rows), mean[c], m2[c]};
    }
  }
  // Chan, Golub and LeVeque's update.
  static void combine(void* acc, const void* other, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
      Moments& a = static_cast<Moments*>(acc)[i];
      const Moments b = static_cast<const Moments*>(other)[i];
      if (b.n == 0) continue;
      const double total = a.n + b.n, delta = b.mean - a.mean;
      a.mean += delta * (b.n / total);
      a.m2 += b.m2 + delta * delta * (a.n * b.n / total);
      a.n = total;
    }
  }
  static constexpr ReduceFns fns{int(sizeof(Moments)), rows, columns, combine, nullptr};
};

}  // namespace

extern const ReduceFns reduce_moments[kNumDTypes];
const ReduceFns reduce_moments[kNumDTypes] = {FLAMBEAU_FLOAT_LOOPS(MomentLoops), kNoReduce,
                                              kNoReduce};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
