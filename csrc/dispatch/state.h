// Per-thread modes read by every operator's prologue.
#pragma once
#include "core/dtype.h"

namespace flambeau {

// Whether operators record history. While the kernel of a recorded operator runs, they do not, but
// what is recorded below (the values of a transform's tensors) still is.
enum GradMode : uint8_t { kGradOff = 0, kGradOn = 1, kGradInKernel = 2 };

struct ThreadState {
  uint8_t grad_mode = kGradOn;
  bool inference_mode = false;
  bool autocast = false;  // set while the autocast policy applies
  DType autocast_dtype = DType::BFloat16;
  int32_t transforms = 0;  // function transforms that run
};

extern constinit thread_local ThreadState thread_state;

inline bool grad_enabled() { return thread_state.grad_mode & kGradOn; }

// Sets a field for a scope.
template <class T>
struct Scoped {
  Scoped(T& field, T value) : field_(field), saved_(field) { field = value; }
  ~Scoped() { field_ = saved_; }
  Scoped(const Scoped&) = delete;

 private:
  T& field_;
  T saved_;
};

struct NoGrad : Scoped<uint8_t> {
  NoGrad() : Scoped(thread_state.grad_mode, uint8_t(kGradOff)) {}
};
struct InKernel : Scoped<uint8_t> {
  InKernel() : Scoped(thread_state.grad_mode, uint8_t(kGradInKernel)) {}
};

}  // namespace flambeau
