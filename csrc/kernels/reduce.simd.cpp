// Inner loops of reductions, per operation and element type. Sums of floats accumulate in double,
// of integers in int64.
#include "kernels/reduce_lanes.h"
#include "kernels/reduce_table.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T>
struct WideOf {
  using type = int64_t;
};
template <Floating T>
struct WideOf<T> {
  using type = double;
};
template <class T>
struct WideOf<Complex<T>> {
  using type = Complex<double>;
};
template <class T>
using Computed = decltype(load(T()));
template <class T>
using Wide = typename WideOf<Computed<T>>::type;

template <class A, class T>
FLAMBEAU_INLINE A widen(T v) {
  if constexpr (requires { v.re; })
    return A(double(v.re), double(v.im));
  else
    return A(v);
}

// ---- operations: element type, accumulator, natural result
// ---------------------------------------------

template <class T>
struct SumOp {
  using In = T;
  using Acc = Wide<T>;
  using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static constexpr bool divides = !std::is_integral_v<T>;
  FLAMBEAU_INLINE Acc identity() { return Acc(0); }
  FLAMBEAU_INLINE Acc map(T x) { return widen<Acc>(load(x)); }
  FLAMBEAU_INLINE Acc merge(Acc a, Acc b) { return a + b; }
};
template <class T>
struct NanSumOp : SumOp<T> {
  using Acc = Wide<T>;
  FLAMBEAU_INLINE Acc map(T x) {
    auto v = load(x);
    if constexpr (std::is_floating_point_v<decltype(v)>)
      return v != v ? Acc(0) : Acc(v);
    else
      return widen<Acc>(v);
  }
};
template <class T>
struct ProdOp : SumOp<T> {
  using Acc = Wide<T>;
  FLAMBEAU_INLINE Acc identity() { return Acc(1); }
  FLAMBEAU_INLINE Acc merge(Acc a, Acc b) {
    if constexpr (std::is_integral_v<Acc>)
      return Acc(uint64_t(a) * uint64_t(b));
    else
      return a * b;
  }
};
template <class T, bool Largest>
struct ExtremeOp {
  using In = T;
  using Acc = Computed<T>;
  using Out = T;
  static constexpr bool divides = false;
  FLAMBEAU_INLINE Acc identity() {
    if constexpr (std::is_floating_point_v<Acc>)
      return Largest ? -kInf<Acc> : kInf<Acc>;
    else if constexpr (__is_same(Acc, bool))
      return !Largest;
    else if constexpr (std::is_unsigned_v<Acc>)
      return Largest ? Acc(0) : Acc(-1);
    else {
      constexpr auto top = std::make_unsigned_t<Acc>(-1) >> 1;
      return Largest ? Acc(-Acc(top) - 1) : Acc(top);
    }
  }
  FLAMBEAU_INLINE Acc map(T x) { return load(x); }
  FLAMBEAU_INLINE Acc merge(Acc a, Acc b) {
    if constexpr (__is_same(Acc, bool))
      return Largest ? a | b : a & b;
    else
      return Largest ? maximum(a, b) : minimum(a, b);
  }
};
template <class T>
struct RealResult {
  using type = T;
};
template <class P>
struct RealResult<Complex<P>> {
  using type = P;
};
template <class T, bool Squares>
struct NormOp {
  using In = T;
  using Acc = double;
  using Out = typename RealResult<T>::type;
  static constexpr bool divides = false;
  FLAMBEAU_INLINE double identity() { return 0; }
  FLAMBEAU_INLINE double map(T x) {
    auto v = load(x);
    if constexpr (requires { v.re; }) {
      double re = v.re, im = v.im;
      if constexpr (Squares)
        return re * re + im * im;
      else
        return hypot(re, im);
    } else {
      double d = double(v);
      return Squares ? d * d : abs(d);
    }
  }
  FLAMBEAU_INLINE double merge(double a, double b) { return a + b; }
};
template <class T>
struct CountOp {
  using In = T;
  using Acc = int64_t;
  using Out = int64_t;
  static constexpr bool divides = false;
  FLAMBEAU_INLINE int64_t identity() { return 0; }
  FLAMBEAU_INLINE int64_t map(T x) { return int64_t(truth(load(x))); }
  FLAMBEAU_INLINE int64_t merge(int64_t a, int64_t b) { return a + b; }
};

// ---- loops
// ------------------------------------------------------------------------------------------------

template <class Op>
struct Loops {
  using T = typename Op::In;
  using A = typename Op::Acc;
  static void rows(void* acc, const void* in, int64_t count, int64_t n, int64_t stride) {
    const T* x = static_cast<const T*>(in);
    for (int64_t r = 0; r < count; r++, x += stride)
      static_cast<A*>(acc)[r] = reduce_lanes(
          n, Op::identity(), [x](int64_t i) { return Op::map(x[i]); },
          [](A a, A b) { return Op::merge(a, b); });
  }
  static void columns(void* acc, const void* in, int64_t rows, int64_t cols, int64_t stride) {
    const T* x = static_cast<const T*>(in);
    reduce_columns(
        static_cast<A*>(acc), rows, cols, Op::identity(),
        [x, stride](int64_t r, int64_t c) { return Op::map(x[r * stride + c]); },
        [](A a, A b) { return Op::merge(a, b); });
  }
  static void combine(void* acc, const void* other, int64_t n) {
    A* a = static_cast<A*>(acc);
    const A* b = static_cast<const A*>(other);
    for (int64_t i = 0; i < n; i++) a[i] = Op::merge(a[i], b[i]);
  }
  static void finish(void* out, const void* acc, int64_t n, double divisor) {
    using Out = typename Op::Out;
    const A* a = static_cast<const A*>(acc);
    for (int64_t i = 0; i < n; i++) {
      A v = a[i];
      if constexpr (Op::divides) v = divisor == 1 ? v : v / divisor;
      if constexpr (requires { v.re; })
        static_cast<Out*>(out)[i] = Out(v.re, v.im);
      else
        static_cast<Out*>(out)[i] = store<Out>(v);
    }
  }
  static constexpr ReduceFns fns{int(sizeof(A)), rows, columns, combine, finish};
};

// Mean and sum of squared deviations: two passes over data that is in the cache by then.
template <class T>
struct MomentLoops {
  static void rows(void* acc, const void* in, int64_t count, int64_t n, int64_t stride) {
    const T* x = static_cast<const T*>(in);
    auto add = [](double a, double b) { return a + b; };
    for (int64_t r = 0; r < count; r++, x += stride) {
      double mean =
          reduce_lanes(n, 0.0, [x](int64_t i) { return double(load(x[i])); }, add) / double(n);
      double m2 = reduce_lanes(
          n, 0.0,
          [x, mean](int64_t i) {
            double d = double(load(x[i])) - mean;
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
          [x, stride](int64_t r, int64_t c) { return double(load(x[r * stride + c])); }, add);
      for (int64_t c = 0; c < width; c++) mean[c] = rows ? mean[c] / double(rows) : 0;
      const double* m = mean;
      reduce_columns(
          m2, rows, width, 0.0,
          [x, m, stride](int64_t r, int64_t c) {
            double d = double(load(x[r * stride + c])) - m[c];
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
          n, Op::identity(), [x](int64_t i) { return load(x[i]); },
          [](A a, A b) { return Op::merge(a, b); });
      const bool nan = is_nan(best);
      int64_t i = 0;
      auto hit = [&](int64_t k) { return nan ? is_nan(load(x[k])) : load(x[k]) == best; };
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
        best[c] = load(x[c]);
        at[c] = 0;
      }
      for (int64_t r = 1; r < n; r++)
        for (int64_t c = 0; c < width; c++) {
          const A v = load(x[r * stride + c]);
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

constexpr ReduceFns kNone{};
constexpr ArgFns kNoArg{};

#define REALS(Op)                                                                                 \
  Loops<Op<bool>>::fns, Loops<Op<uint8_t>>::fns, Loops<Op<int8_t>>::fns, Loops<Op<int16_t>>::fns, \
      Loops<Op<int32_t>>::fns, Loops<Op<int64_t>>::fns, Loops<Op<HalfBits>>::fns,                 \
      Loops<Op<BFloat16Bits>>::fns, Loops<Op<float>>::fns, Loops<Op<double>>::fns
#define ALL(Op) REALS(Op), Loops<Op<Complex<float>>>::fns, Loops<Op<Complex<double>>>::fns
#define FLOATS(L)                                                                                  \
  kNone, kNone, kNone, kNone, kNone, kNone, L<HalfBits>::fns, L<BFloat16Bits>::fns, L<float>::fns, \
      L<double>::fns

template <class T>
using MaxOp = ExtremeOp<T, true>;
template <class T>
using MinOp = ExtremeOp<T, false>;
template <class T>
using SquaresLoops = Loops<NormOp<T, true>>;
template <class T>
using AbsLoops = Loops<NormOp<T, false>>;

#define ARGS(Largest)                                                                            \
  ArgLoops<bool, Largest>::fns, ArgLoops<uint8_t, Largest>::fns, ArgLoops<int8_t, Largest>::fns, \
      ArgLoops<int16_t, Largest>::fns, ArgLoops<int32_t, Largest>::fns,                          \
      ArgLoops<int64_t, Largest>::fns, ArgLoops<HalfBits, Largest>::fns,                         \
      ArgLoops<BFloat16Bits, Largest>::fns, ArgLoops<float, Largest>::fns,                       \
      ArgLoops<double, Largest>::fns, kNoArg, kNoArg

}  // namespace

extern const ReduceFns reduce_table[kNumReduceOps][kNumDTypes];
const ReduceFns reduce_table[kNumReduceOps][kNumDTypes] = {
    {ALL(SumOp)},
    {ALL(NanSumOp)},
    {ALL(ProdOp)},
    {REALS(MaxOp), kNone, kNone},
    {REALS(MinOp), kNone, kNone},
    {FLOATS(SquaresLoops), SquaresLoops<Complex<float>>::fns, SquaresLoops<Complex<double>>::fns},
    {FLOATS(AbsLoops), AbsLoops<Complex<float>>::fns, AbsLoops<Complex<double>>::fns},
    {ALL(CountOp)},
    {FLOATS(MomentLoops), kNone, kNone},
};
extern const ArgFns arg_table[2][kNumDTypes];
const ArgFns arg_table[2][kNumDTypes] = {{ARGS(false)}, {ARGS(true)}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
