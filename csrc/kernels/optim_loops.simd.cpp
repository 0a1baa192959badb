// Element updates in PyTorch's order of operations, so that trajectories agree to rounding.
#include "kernels/optim_loops.h"

#include "simd/element.h"
#include "simd/vmath.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T, bool Amsgrad>
void adam_loop(T* p, const T* g, T* m, T* v, T* vmax, int64_t n, const AdamScalars& s) {
  const T sign = s.maximize ? T(-1) : T(1), decay = T(s.weight_decay);
  const bool decays = s.decay_gradient;
  const T factor = s.decay_parameter ? T(s.decay_factor) : T(1), a = T(s.beta1_rest),
          b = T(s.beta2);
  const T c = T(s.beta2_rest), correction = T(s.correction), eps = T(s.eps), step = T(s.step_size);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T x = p[i] * factor;
    T d = decays ? sign * g[i] + decay * p[i] : sign * g[i];
    // lerp in the form that is exact at the nearer end
    T first = a < T(0.5) ? m[i] + a * (d - m[i]) : d - (d - m[i]) * (T(1) - a);
    T second = v[i] * b + c * d * d;
    T used = second;
    if constexpr (Amsgrad) {
      used = maximum(vmax[i], second);
      vmax[i] = used;
    }
    T denominator = sqrt(used) / correction + eps;
    m[i] = first;
    v[i] = second;
    p[i] = x - step * (first / denominator);
  }
}

template <class T>
void adam(void* p, const void* g, void* m, void* v, void* vmax, int64_t n, const AdamScalars& s) {
  auto run = s.amsgrad ? adam_loop<T, true> : adam_loop<T, false>;
  run(static_cast<T*>(p), static_cast<const T*>(g), static_cast<T*>(m), static_cast<T*>(v),
      static_cast<T*>(vmax), n, s);
}

template <class T, bool Momentum>
void sgd_loop(T* p, const T* g, T* buffer, int64_t n, const SgdScalars& s) {
  const T sign = s.maximize ? T(-1) : T(1), decay = T(s.weight_decay), momentum = T(s.momentum);
  const T rest = s.first ? T(1) : T(s.rest), keep = s.first ? T(0) : momentum,
          step = T(s.negative_lr);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T d = s.weight_decay != 0 ? sign * g[i] + decay * p[i] : sign * g[i];
    if constexpr (Momentum) {
      // on the first step the buffer holds no value yet
      T moved = s.first ? d : buffer[i] * keep + rest * d;
      buffer[i] = moved;
      d = s.nesterov ? d + momentum * moved : moved;
    }
    p[i] = p[i] + step * d;
  }
}

template <class T>
void sgd(void* p, const void* g, void* buffer, int64_t n, const SgdScalars& s) {
  auto run = buffer ? sgd_loop<T, true> : sgd_loop<T, false>;
  run(static_cast<T*>(p), static_cast<const T*>(g), static_cast<T*>(buffer), n, s);
}

template <class T>
bool unscale(void* grad, int64_t n, float factor) {
  using Wide = std::conditional_t<__is_same(T, double), double, float>;
  using Flag = std::conditional_t<__is_same(T, double), int64_t, int32_t>;
  T* g = static_cast<T*>(grad);
  Flag bad = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    const Wide x = load(g[i]);
    bad |= Flag(x - x != Wide(0));  // inf and NaN, whose difference is NaN
    g[i] = store<T>(x * Wide(factor));
  }
  return bad != 0;
}

}  // namespace

extern const OptimLoops optim_loops[];
const OptimLoops optim_loops[] = {
    {{adam<float>, adam<double>},
     {sgd<float>, sgd<double>},
     {unscale<float>, unscale<double>, unscale<HalfBits>, unscale<BFloat16Bits>}}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
