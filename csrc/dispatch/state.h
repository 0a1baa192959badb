// Per-thread modes read by every operator's prologue.
#pragma once
#include "core/dtype.h"

namespace flambeau {

struct ThreadState {
  bool grad_mode = true;
  bool inference_mode = false;
  bool autocast = false;  // set while the autocast policy applies
  DType autocast_dtype = DType::BFloat16;
};

extern constinit thread_local ThreadState thread_state;

inline bool grad_enabled() { return thread_state.grad_mode; }

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

struct NoGrad : Scoped<bool> {
  NoGrad() : Scoped(thread_state.grad_mode, false) {}
};

}  // namespace flambeau
