// What the generated dispatch files include: nodes, kernels, formulas.
#pragma once
#include <cmath>
#include <initializer_list>
#include <limits>

#include "autograd/formulas.h"
#include "autograd/node.h"
#include "dispatch/autocast.h"
#include "dispatch/entry.h"
#include "dispatch/promotion.h"
#include "kernels/number.h"
#include "kernels/pointwise.h"
#include "kernels/targets.h"
#include "ops/all.h"

namespace flambeau {

// Zeros for the outputs of a node whose gradient did not arrive.
void fill_undefined(Node& node, Grads& grads);
// out= with gradients is refused.
inline void check_out_grad(const char* op, bool wants) {
  if (wants) [[unlikely]]
    fail(op,
         "(): functions with out=... arguments don't support automatic differentiation, but one of "
         "the "
         "arguments requires grad.");
}
// Whether the CPU's kernel `own` may change `self` itself: nobody else's kernel serves the
// operator, elements of `self` do not share memory, and none is among what the kernel reads.
bool changes_directly(const OpEntry& entry, void* own, const Tensor& self,
                      std::initializer_list<const Tensor*> read);
void check_inplace_result(const char* op, const Tensor& self, const Tensor& result);
// The dtype of a factory's result with out=: that of `out`, which a given dtype must equal.
DType dtype_for_out(const char* op, std::optional<DType> dtype, const Tensor& out);
// `exact`: out has to have the result's dtype; else one that it can be cast to.
void write_out(const char* op, const Tensor& out, const Tensor& result, bool exact = false);
// On meta every tensor of a kernel must be there: those that look at their first argument rely on
// it.
void require_meta(const char* op, const char* name, const Tensor& t);
inline void require_meta(const char* op, const char* name, const OptTensor& t) {
  if (t) require_meta(op, name, *t);
}
inline void require_meta(const char* op, const char* name, const TensorList& list) {
  for (auto& t : list) require_meta(op, name, t);
}
// The elements of an argument may not be among those that `out` writes.
void check_apart(const char* op, const Tensor& out, const Tensor& t);
inline void check_apart(const char* op, const Tensor& out, const TensorList& list) {
  for (auto& t : list) check_apart(op, out, t);
}
// A gradient that does not depend on the argument it belongs to, wherever that is smooth: under
// create_graph it requires grad as one that does, with a derivative of zero.
Tensor with_flat_derivative(const Node& node, size_t input, const Tensor& grad, const char* name);
// View bookkeeping after a view operator.
void mark_view(const Tensor& result, const Tensor& base, const char* op, bool several = false);

}  // namespace flambeau
