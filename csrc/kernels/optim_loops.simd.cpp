// Element updates in PyTorch's order of operations, so that trajectories agree to rounding: each
// r(...) is one operator of a step that is made of tensor operators. PyTorch's add rounds its alpha
// to the tensors' dtype; the other operators take their numbers as floats.
#include "kernels/optim_loops.h"

#include "simd/element.h"
#include "simd/vmath.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class S, bool Wide>
struct Cell {
  using Stored = S;
  using Value = decltype(load(S()));
};

template <class C>
FLAMBEAU_INLINE typename C::Value round_to(typename C::Value x) {
  return load(store<typename C::Stored>(x));
}

// The value that an operator's result has in the tensor that holds it.
template <class C>
struct Rounded {
  using T = typename C::Value;
  __attribute__((always_inline)) T operator()(T x) const { return x; }
};
template <class S>
  requires(sizeof(S) == 2)
struct Rounded<Cell<S, false>> {
  __attribute__((always_inline)) float operator()(float x) const {
    return round_to<Cell<S, false>>(x);
  }
};

// rule(parameter, gradient, state...) for every element; `States` of the three are used.
template <class C, int States, class Rule>
FLAMBEAU_INLINE void each(void* const* at, int64_t n, Rule&& rule) {
  using S = typename C::Stored;
  using T = typename C::Value;
  S* p = static_cast<S*>(at[0]);
  const S* g = static_cast<const S*>(at[1]);
  S* a = States > 0 ? static_cast<S*>(at[2]) : nullptr;
  S* b = States > 1 ? static_cast<S*>(at[3]) : nullptr;
  S* c = States > 2 ? static_cast<S*>(at[4]) : nullptr;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T x = load(p[i]), d = load(g[i]), u{}, v{}, w{};
    if constexpr (States > 0) u = load(a[i]);
    if constexpr (States > 1) v = load(b[i]);
    if constexpr (States > 2) w = load(c[i]);
    rule(x, d, u, v, w);
    p[i] = store<S>(x);
    if constexpr (States > 0) a[i] = store<S>(u);
    if constexpr (States > 1) b[i] = store<S>(v);
    if constexpr (States > 2) c[i] = store<S>(w);
  }
}

template <class C>
struct Gradient {
  using T = typename C::Value;
  T sign, decay;
  bool decays;
  explicit Gradient(const GradientNumbers& s)
      : sign(s.maximize ? T(-1) : T(1)),
        decay(Rounded<C>()(T(s.weight_decay))),
        decays(s.weight_decay != 0) {}
  __attribute__((always_inline)) T operator()(T d, T x) const {
    return decays ? Rounded<C>()(sign * d + decay * x) : sign * d;
  }
};

// in the form that is exact at the nearer end
template <class T>
FLAMBEAU_INLINE T lerp(T from, T to, T weight) {
  return weight < T(0.5) ? from + weight * (to - from) : to - (to - from) * (T(1) - weight);
}

#define RULE(...) [=](T& x, T d, __VA_ARGS__) __attribute__((always_inline))
#define NUMBER(name) [[maybe_unused]] const T name = T(s.name)
#define SETUP                  \
  using T = typename C::Value; \
  const Rounded<C> r;          \
  const Gradient<C> gradient(s)

template <class C, bool Amsgrad>
void adam_loop(void* const* at, int64_t n, const AdamNumbers& s) {
  SETUP;
  NUMBER(mean_rest);
  NUMBER(beta2);
  NUMBER(square_rest);
  NUMBER(root_correction);
  NUMBER(eps);
  const T step = T(-s.step_size), shrink = T(s.shrink);
  const bool shrinks = s.shrinks;
  each<C, Amsgrad ? 3 : 2>(
      at, n, RULE(T & mean, T & square, T & peak) {
        x = shrinks ? r(x * shrink) : x;
        d = gradient(d, x);
        mean = r(lerp(mean, d, mean_rest));
        square = r(r(square * beta2) + square_rest * d * d);
        if constexpr (Amsgrad) peak = maximum(peak, square);
        const T root = r(sqrt(Amsgrad ? peak : square));
        x = r(x + step * mean / r(r(root / root_correction) + eps));
      });
}

template <class C>
void adam(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const AdamNumbers*>(numbers);
  at[4] ? adam_loop<C, true>(at, n, s) : adam_loop<C, false>(at, n, s);
}

template <class C, bool Momentum>
void sgd_loop(void* const* at, int64_t n, const SgdNumbers& s) {
  SETUP;
  NUMBER(momentum);
  const T step = r(T(-s.lr)), rest = r(T(s.rest));
  const bool first = s.first, nesterov = s.nesterov;
  each<C, Momentum ? 1 : 0>(
      at, n, RULE(T & buffer, T&, T&) {
        d = gradient(d, x);
        if constexpr (Momentum) {
          // on the first step the buffer holds no value yet
          buffer = first ? d : r(r(buffer * momentum) + rest * d);
          d = nesterov ? r(d + r(momentum) * buffer) : buffer;
        }
        x = r(x + step * d);
      });
}

template <class C>
void sgd(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const SgdNumbers*>(numbers);
  at[2] ? sgd_loop<C, true>(at, n, s) : sgd_loop<C, false>(at, n, s);
}

template <class C>
void adamax(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const AdamaxNumbers*>(numbers);
  SETUP;
  NUMBER(mean_rest);
  NUMBER(beta2);
  NUMBER(eps);
  const T step = T(-s.step_size);
  each<C, 2>(
      at, n, RULE(T & mean, T & norm, T&) {
        d = gradient(d, x);
        mean = r(lerp(mean, d, mean_rest));
        norm = maximum(r(norm * beta2), r(abs(d) + eps));
        x = r(x + step * mean / norm);
      });
}

template <class C>
void nadam(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const NadamNumbers*>(numbers);
  SETUP;
  NUMBER(shrink);
  NUMBER(mean_rest);
  NUMBER(beta2);
  NUMBER(square_rest);
  NUMBER(correction);
  NUMBER(eps);
  NUMBER(gradient_size);
  NUMBER(mean_size);
  const bool shrinks = s.shrinks;
  each<C, 2>(
      at, n, RULE(T & mean, T & square, T&) {
        x = shrinks ? r(x * shrink) : x;
        d = gradient(d, x);
        mean = r(lerp(mean, d, mean_rest));
        square = r(r(square * beta2) + square_rest * d * d);
        const T scale = r(r(sqrt(r(square / correction))) + eps);
        x = r(x + gradient_size * d / scale);
        x = r(x + mean_size * mean / scale);
      });
}

template <class C>
void radam(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const RadamNumbers*>(numbers);
  SETUP;
  NUMBER(shrink);
  NUMBER(mean_rest);
  NUMBER(beta2);
  NUMBER(square_rest);
  NUMBER(mean_correction);
  NUMBER(root_correction);
  NUMBER(eps);
  NUMBER(lr);
  NUMBER(rectification);
  const bool shrinks = s.shrinks, rectified = s.rectified;
  each<C, 2>(
      at, n, RULE(T & mean, T & square, T&) {
        x = shrinks ? r(x * shrink) : x;
        d = gradient(d, x);
        mean = r(lerp(mean, d, mean_rest));
        square = r(r(square * beta2) + square_rest * d * d);
        T change = r(r(mean / mean_correction) * lr);
        if (rectified) {
          const T inverse = r(T(1) / r(r(sqrt(square)) + eps));
          change = r(r(change * r(inverse * root_correction)) * rectification);
        }
        x = r(x - change);
      });
}

template <class C>
void adadelta(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const AdadeltaNumbers*>(numbers);
  SETUP;
  NUMBER(rho);
  NUMBER(rest);
  NUMBER(eps);
  const T step = r(T(-s.lr));
  each<C, 2>(
      at, n, RULE(T & square, T & moved, T&) {
        d = gradient(d, x);
        square = r(r(square * rho) + rest * d * d);
        const T root = r(sqrt(r(square + eps)));
        const T change = r(r(r(sqrt(r(moved + eps))) / root) * d);
        moved = r(r(moved * rho) + rest * change * change);
        x = r(x + step * change);
      });
}

template <class C>
void adagrad(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const AdagradNumbers*>(numbers);
  SETUP;
  NUMBER(eps);
  const T step = T(-s.step_size);
  each<C, 1>(
      at, n, RULE(T & sum, T&, T&) {
        d = gradient(d, x);
        sum = r(sum + d * d);
        x = r(x + step * d / r(r(sqrt(sum)) + eps));
      });
}

template <class C>
void asgd(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const AsgdNumbers*>(numbers);
  SETUP;
  NUMBER(shrink);
  NUMBER(mu);
  const T step = r(T(-s.eta));
  const bool averages = s.mu != 1;
  each<C, 1>(
      at, n, RULE(T & average, T&, T&) {
        d = gradient(d, x);
        x = r(r(x * shrink) + step * d);
        average = averages ? r(average + r(r(x - average) * mu)) : x;
      });
}

template <class C, bool Centered, bool Momentum>
void rmsprop_loop(void* const* at, int64_t n, const RmspropNumbers& s) {
  SETUP;
  NUMBER(alpha);
  NUMBER(rest);
  NUMBER(eps);
  NUMBER(momentum);
  const T step = T(-s.lr);
  // the state that is there stands together
  void* const used[] = {at[0], at[1], at[2], Centered ? at[3] : at[4], at[4]};
  each<C, 1 + Centered + Momentum>(
      used, n, RULE(T & square, T & first, T & second) {
        d = gradient(d, x);
        square = r(r(square * alpha) + rest * d * d);
        T variance = square;
        if constexpr (Centered) {
          first = r(lerp(first, d, rest));
          variance = r(square - first * first);
        }
        const T scale = r(r(sqrt(variance)) + eps);
        if constexpr (Momentum) {
          T& buffer = Centered ? second : first;
          buffer = r(r(buffer * momentum) + d / scale);
          x = r(x + r(step) * buffer);
        } else {
          x = r(x + step * d / scale);
        }
      });
}

template <class C>
void rmsprop(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const RmspropNumbers*>(numbers);
  if (at[3])
    at[4] ? rmsprop_loop<C, true, true>(at, n, s) : rmsprop_loop<C, true, false>(at, n, s);
  else
    at[4] ? rmsprop_loop<C, false, true>(at, n, s) : rmsprop_loop<C, false, false>(at, n, s);
}

template <class C>
void rprop(void* const* at, int64_t n, const void* numbers) {
  const auto& s = *static_cast<const RpropNumbers*>(numbers);
  SETUP;
  const T shrink = r(T(s.eta_minus)), grow = r(T(s.eta_plus));
  const T smallest = r(T(s.smallest)), largest = r(T(s.largest));
  each<C, 2>(
      at, n, RULE(T & previous, T & size, T&) {
        d = gradient(d, x);
        const T agreement = r(d * previous);
        T grown = r(size * (agreement > T(0) ? grow : agreement < T(0) ? shrink : T(1)));
        // a NaN stays
        grown = grown < smallest ? smallest : grown;
        size = grown > largest ? largest : grown;
        // Where the sign changed the element stays, and the next step starts afresh.
        d = agreement < T(0) ? T(0) : d;
        x = r(x - sign(d) * size);
        previous = d;
      });
}

template <class C>
void unscale(void* const* at, int64_t n, const void* numbers) {
  using S = typename C::Stored;
  using T = typename C::Value;
  using Flag = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  const auto& s = *static_cast<const UnscaleNumbers*>(numbers);
  S* g = static_cast<S*>(at[0]);
  Flag bad = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    const T x = load(g[i]);
    bad |= Flag(x - x != T(0));  // inf and NaN, whose difference is NaN
    g[i] = store<S>(x * T(s.factor));
  }
  if (bad) __atomic_store_n(s.bad, 1, __ATOMIC_RELAXED);
}

#undef SETUP
#undef NUMBER
#undef RULE

using F32 = Cell<float, true>;
using F64 = Cell<double, true>;
using F16 = Cell<HalfBits, false>;
using BF16 = Cell<BFloat16Bits, false>;
using Wide16 = Cell<HalfBits, true>;
using WideBF16 = Cell<BFloat16Bits, true>;

}  // namespace

// In the order of OptimKind; those without a wide form are never asked for it.
#define ALL(rule) {rule<F32>, rule<F64>, rule<F16>, rule<BF16>, rule<Wide16>, rule<WideBF16>}
#define NARROW(rule) {rule<F32>, rule<F64>, rule<F16>, rule<BF16>, nullptr, nullptr}

extern const OptimLoops optim_loops[];
const OptimLoops optim_loops[] = {{ALL(adam), ALL(sgd), NARROW(adamax), NARROW(nadam),
                                   NARROW(radam), NARROW(adadelta), ALL(adagrad), NARROW(asgd),
                                   NARROW(rmsprop), NARROW(rprop), NARROW(unscale)}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
