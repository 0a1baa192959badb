// Result dtypes: tensors with dimensions outrank 0-d tensors, which outrank Python numbers, within
// a category; a higher category always wins (PyTorch's rule).
#pragma once
#include <vector>

#include "core/tensor.h"

namespace flambeau {

class ResultType {
 public:
  void add(const Tensor& t) {
    if (t->wrapped_number)
      add_to(number_, has_number_, t.dtype() == DType::Float64 ? default_dtype() : t.dtype());
    else if (t.dim() == 0)
      add_to(zero_, has_zero_, t.dtype());
    else
      add_to(dim_, has_dim_, t.dtype());
  }
  void add(const Scalar& s) { add_to(number_, has_number_, s.dtype()); }
  void add(const Operand& o) {
    if (o.is_tensor())
      add(o.tensor());
    else
      add(o.scalar());
  }
  DType get() const {
    DType t = has_dim_ ? dim_ : DType::Bool;
    bool any = has_dim_;
    if (has_zero_) {
      t = any ? combine(t, zero_) : zero_;
      any = true;
    }
    if (has_number_) t = any ? combine(t, number_) : number_;
    return t;
  }

 private:
  static void add_to(DType& slot, bool& has, DType t) {
    slot = has ? promote(slot, t) : t;
    has = true;
  }
  // `low` matters only when its category is higher
  static DType combine(DType high, DType low) {
    if (category(low) <= category(high)) return high;
    if (category(low) == Category::Complex && is_floating(high))
      return promote(high, DType::Complex64) == DType::Complex128 ? DType::Complex128
                                                                  : complex_dtype(high);
    return promote(high, low);
  }
  DType dim_{}, zero_{}, number_{};
  bool has_dim_ = false, has_zero_ = false, has_number_ = false;
};

template <class... A>
DType result_type(const A&... args) {
  ResultType r;
  (r.add(args), ...);
  return r.get();
}

// Whether a result of dtype `from` may be written into a tensor of dtype `to` (in-place and out=).
inline bool can_cast(DType from, DType to) {
  if (is_complex(from)) return is_complex(to);
  if (is_floating(from)) return category(to) >= Category::Floating;
  if (is_integral(from)) return category(to) >= Category::Integral;
  return true;
}

}  // namespace flambeau
