// Autocast: arguments in the dtype that an operator's policy asks for, and the casts of weights
// that a region keeps.
#pragma once
#include "core/tensor.h"
#include "dispatch/state.h"

namespace flambeau {

// `t` in that dtype where autocast may touch it: floating point but not float64, with memory.
Tensor autocast_to(const Tensor& t, DType dtype);
inline OptTensor autocast_to(const OptTensor& t, DType dtype) {
  return t ? OptTensor(autocast_to(*t, dtype)) : t;
}
inline Operand autocast_to(const Operand& t, DType dtype) {
  return t.is_tensor() ? Operand(autocast_to(t.tensor(), dtype)) : t;
}
TensorList autocast_to(const TensorList& list, DType dtype);

// The policy "promote": float32 as soon as one argument is, else autocast's dtype.
void autocast_widen(const char* op, DType& widest, const Tensor& t);
inline void autocast_widen(const char* op, DType& widest, const OptTensor& t) {
  if (t) autocast_widen(op, widest, *t);
}
inline void autocast_widen(const char* op, DType& widest, const TensorList& list) {
  for (auto& t : list) autocast_widen(op, widest, t);
}
template <class... A>
DType autocast_widest(const char* op, const A&... args) {
  DType widest = thread_state.autocast_dtype;
  (autocast_widen(op, widest, args), ...);
  return widest;
}

// Of this thread.
struct AutocastRegions {
  bool keep_casts = true;
  int depth = 0;
};
extern constinit thread_local AutocastRegions autocast_regions;
void clear_autocast_cache();

}  // namespace flambeau
