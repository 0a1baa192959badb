// Sums of squares and of magnitudes, in double.
#include "kernels/reduce_loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

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
  FLAMBEAU_INLINE double map(Computed<T> v) {
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
using Squares = Loops<NormOp<T, true>>;
template <class T>
using Magnitudes = Loops<NormOp<T, false>>;

}  // namespace

extern const ReduceFns reduce_squares[kNumDTypes];
const ReduceFns reduce_squares[kNumDTypes] = {
    FLAMBEAU_FLOAT_LOOPS(Squares), Squares<Complex<float>>::fns, Squares<Complex<double>>::fns};

extern const ReduceFns reduce_abs[kNumDTypes];
const ReduceFns reduce_abs[kNumDTypes] = {FLAMBEAU_FLOAT_LOOPS(Magnitudes),
                                          Magnitudes<Complex<float>>::fns,
                                          Magnitudes<Complex<double>>::fns};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
