// The strided driver of all pointwise operators. An operator brings only contiguous inner loops,
// one per compute dtype and instruction set; broadcasting, strides, dtype conversion (float16
// computes in float32) and threads are handled here, through blocks that stay in the L1 cache.
#pragma once
#include <initializer_list>

#include "core/tensor.h"

namespace flambeau {

// out[i] = f(in[0][i], in[1][i], …) for i < n, all contiguous; params are compute-dtype values, 16
// bytes apart.
using LoopFn = void (*)(void* out, const void* const* in, int64_t n, const void* params);

// Signed: Promote without bools, which have no differences.
enum class DTypeRule : uint8_t { Promote, Float, Bool, Real, Signed };

constexpr int kMaxInputs = 4;
constexpr int kMaxParams = 6;

struct PointwiseOp {
  const char* name;
  DTypeRule rule;
  uint8_t inputs;
  uint8_t params;
  uint8_t bool_inputs;    // bit i: input i is read as bool whatever the compute dtype
  uint8_t integer_param;  // bit i: parameter i must be integral when the compute dtype is (alpha)
  bool bounds;            // numbers only bound: beyond the dtype's range they act as its ends
  uint8_t cost;           // about ns per 16 elements: decides when threads pay
  const LoopFn (*tables[3])[kNumDTypes];  // by CpuTarget, [op] row of the family table
};

// One input: a tensor or a number, borrowed.
struct Input {
  const Tensor* tensor = nullptr;
  const Scalar* scalar = nullptr;
  Input(const Tensor& t) : tensor(&t) {}
  Input(const Scalar& s) : scalar(&s) {}
  Input(const Operand& o) {
    if (o.is_tensor())
      tensor = &o.tensor();
    else
      scalar = &o.scalar();
  }
};

Tensor run_pointwise(const PointwiseOp& op, std::initializer_list<Input> inputs,
                     std::initializer_list<Scalar> params = {});
// Writes into `out` (in-place when out is also an input, with PyTorch's dtype and shape rules).
void run_pointwise_out(const PointwiseOp& op, const Tensor& out,
                       std::initializer_list<Input> inputs,
                       std::initializer_list<Scalar> params = {}, bool inplace = false);

// dst[...] = src[...] with conversion; shapes equal (expand src first).
void copy_kernel(const Tensor& dst, const Tensor& src);
void fill_kernel(const Tensor& dst, const Scalar& value);
// A fresh contiguous tensor of the same elements, or the tensor itself when it is already so.
Tensor contiguous_of(const Tensor& t);
// Converted copy (or itself when nothing changes).
Tensor cast_of(const Tensor& t, DType dtype);
// Converts n contiguous elements.
void convert_elements(void* dst, DType to, const void* src, DType from, int64_t n);

// Makes `out` ready to take a result: right shape (resized, with a warning when it had elements),
// castable dtype, no partial overlap. Shared by all out= forms.
void prepare_out(const char* op, const Tensor& out, IntSpan sizes, DType dtype);
void resize_tensor(const Tensor& t, IntSpan sizes);
void check_overlap(const char* op, const Tensor& out, const Tensor& in);

}  // namespace flambeau
