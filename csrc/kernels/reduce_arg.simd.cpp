// Largest and smallest elements with their positions.
#include "kernels/reduce_extreme.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T, bool Largest>
struct ArgLoops {
  using Op = ExtremeOp<T, Largest>;
  using A = typename Op::Acc;
  FLAMBEAU_INLINE bool is_nan(A v) {
    if constexpr (std::is_floating_point_v<A>)
      return v != v;
    else
      return false;
  }
  static void rows(void* values, int64_t* indices, const void* in, int64_t count, int64_t n) {
    const T* x = static_cast<const T*>(in);
    for (int64_t r = 0; r < count; r++, x += n) {
      const A best = reduce_lanes(
          n, Op::identity(), [x](int64_t i) { return element(x, i); },
          [](A a, A b) { return Op::merge(a, b); });
      const bool nan = is_nan(best);
      int64_t i = 0;
      auto hit = [&](int64_t k) { return nan ? is_nan(element(x, k)) : element(x, k) == best; };
      for (; i + 32 <= n; i += 32) {
        bool any = false;
        for (int k = 0; k < 32; k++) any |= hit(i + k);
        if (any) break;
      }
      while (i + 1 < n && !hit(i)) i++;
      indices[r] = i;
      static_cast<T*>(values)[r] = x[i];
    }
  }
  static void columns(void* values, int64_t* indices, const void* in, int64_t n, int64_t cols,
                      int64_t stride) {
    constexpr int64_t strip = 256;
    A best[strip];
    int64_t at[strip];
    for (int64_t begin = 0; begin < cols; begin += strip) {
      const int64_t width = cols - begin < strip ? cols - begin : strip;
      const T* x = static_cast<const T*>(in) + begin;
      for (int64_t c = 0; c < width; c++) {
        best[c] = element(x, c);
        at[c] = 0;
      }
      for (int64_t r = 1; r < n; r++)
        for (int64_t c = 0; c < width; c++) {
          const A v = element(x, r * stride + c);
          const bool better =
              ((Largest ? v > best[c] : v < best[c]) | is_nan(v)) & !is_nan(best[c]);
          best[c] = better ? v : best[c];
          at[c] = better ? r : at[c];
        }
      for (int64_t c = 0; c < width; c++) {
        static_cast<T*>(values)[begin + c] = store<T>(best[c]);
        indices[begin + c] = at[c];
      }
    }
  }
  static constexpr ArgFns fns{rows, columns};
};

constexpr ArgFns kNoArg{};

#define ARGS(Largest)                                                                            \
  ArgLoops<bool, Largest>::fns, ArgLoops<uint8_t, Largest>::fns, ArgLoops<int8_t, Largest>::fns, \
      ArgLoops<int16_t, Largest>::fns, ArgLoops<int32_t, Largest>::fns,                          \
      ArgLoops<int64_t, Largest>::fns, ArgLoops<HalfBits, Largest>::fns,                         \
      ArgLoops<BFloat16Bits, Largest>::fns, ArgLoops<float, Largest>::fns,                       \
      ArgLoops<double, Largest>::fns, kNoArg, kNoArg

}  // namespace

extern const ArgFns arg_table[2][kNumDTypes];
const ArgFns arg_table[2][kNumDTypes] = {{ARGS(false)}, {ARGS(true)}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
