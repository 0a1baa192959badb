// Products by rank, out of mm and bmm.
#include "autograd/formulas_linalg.h"

#include "autograd/node.h"
#include "dispatch/promotion.h"
#include "ops/all.h"

namespace flambeau {
namespace ops {

Tensor mv_uncast(const Tensor& self, const Tensor& vec) {
  check(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got ", self.dim(),
        "D @ ", vec.dim(), "D (mv)");
  check(self.sizes()[1] == vec.sizes()[0], "size mismatch, got input (", self.sizes()[0],
        "), mat (", self.sizes()[0], "x", self.sizes()[1], "), vec (", vec.sizes()[0], ")");
  NodeMark mark;
  return mark.named(squeeze_dim(mm(self, unsqueeze(vec, 1)), 1), "MvBackward0");
}

Tensor dot_uncast(const Tensor& self, const Tensor& other) {
  check(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(), "D and ",
        other.dim(), "D tensors");
  check(self.dtype() == other.dtype(), "dot : expected both vectors to have same dtype, but found ",
        self.dtype(), " and ", other.dtype());
  check(self.numel() == other.numel(), "inconsistent tensor size, expected tensor [", self.numel(),
        "] and src [", other.numel(), "] to have the same number of elements, but got ",
        self.numel(), " and ", other.numel(), " elements respectively");
  NodeMark mark;
  return mark.named(reshape(mm(unsqueeze(self, 0), unsqueeze(other, 1)), Dims{}), "DotBackward0");
}

Tensor outer(const Tensor& self, const Tensor& vec2) {
  check(self.dim() == 1, "outer: Expected 1-D argument self, but got ", self.dim(), "-D");
  check(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  return mul(unsqueeze(self, 1), unsqueeze(vec2, 0));
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return mul(self, other);
  check(self.sizes().back() == other.sizes().back(),
        "inner() the last dimension must match on both input tensors but got shapes ", self.sizes(),
        " and ", other.sizes());
  if (self.dim() == 1 && other.dim() == 1) return reshape(dot(self, other), Dims{});
  Dims shape = self.sizes();
  shape.pop_back();
  for (size_t i = 0; i + 1 < other.sizes().size(); i++) shape.push_back(other.sizes()[i]);
  int64_t k = self.sizes().back();
  Tensor a = reshape(self, Dims{k ? self.numel() / k
                                  : product(IntSpan(self.sizes()).first(self.sizes().size() - 1)),
                                k});
  Tensor b = reshape(
      other,
      Dims{k ? other.numel() / k : product(IntSpan(other.sizes()).first(other.sizes().size() - 1)),
           k});
  return reshape(mm(a, t(b)), shape);
}

Tensor matmul_uncast(const Tensor& self, const Tensor& other) {
  int64_t p = self.dim(), q = other.dim();
  check(p > 0 && q > 0, "both arguments to matmul need to be at least 1D, but they are ", p,
        "D and ", q, "D");
  if (p == 1 && q == 1) return dot(self, other);
  if (p == 2 && q == 1) return mv(self, other);
  NodeMark mark;
  if (p == 1 && q == 2)
    return mark.named(squeeze_dim(mm(unsqueeze(self, 0), other), 0), "SqueezeBackward4");
  if (p == 2 && q == 2) return mm(self, other);
  if (q <= 2 && p > 2) {
    // the batch is rows of one product
    Tensor right = q == 1 ? unsqueeze(other, 1) : other;
    int64_t k = self.sizes().back();
    check(k == right.sizes()[0], "mat1 and mat2 shapes cannot be multiplied (",
          k ? self.numel() / k : 0, "x", k, " and ", right.sizes()[0], "x", right.sizes()[1], ")");
    Dims shape = self.sizes();
    shape.back() = right.sizes()[1];
    int64_t rows = product(IntSpan(self.sizes()).first(size_t(p) - 1));
    Tensor out = reshape(mm(reshape(self, Dims{rows, k}), right), shape);
    return mark.named(q == 1 ? squeeze_dim(out, -1) : out, "UnsafeViewBackward0");
  }
  Tensor a = p == 1 ? unsqueeze(self, 0) : self, b = q == 1 ? unsqueeze(other, 1) : other;
  IntSpan batch_a = IntSpan(a.sizes()).first(size_t(a.dim() - 2)),
          batch_b = IntSpan(b.sizes()).first(size_t(b.dim() - 2));
  Dims batch = broadcast_shapes(batch_a, batch_b), full_a = batch, full_b = batch;
  int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1), count = product(batch);
  full_a.push_back(m);
  full_a.push_back(k);
  full_b.push_back(b.size(-2));
  full_b.push_back(n);
  check(k == b.size(-2), "Expected size for first two dimensions of batch2 tensor to be: [", count,
        ", ", k, "] but got: [", count, ", ", b.size(-2), "].");
  Tensor x = reshape(expand(a, full_a, false), Dims{count, m, k}),
         y = reshape(expand(b, full_b, false), Dims{count, k, n});
  Dims shape = batch;
  if (p > 1) shape.push_back(m);
  if (q > 1) shape.push_back(n);
  return mark.named(reshape(bmm(x, y), shape), "UnsafeViewBackward0");
}

namespace {
// beta · self + alpha · product(a, b); 16-bit floats round once, at the end. With alpha 0 some of
// these operators do not read the product.
template <class F>
Tensor scaled_product(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                      const Scalar& alpha, F&& product, bool zero_alpha_skips = false) {
  if (zero_alpha_skips && alpha == Scalar(0) && !a.requires_grad() && !b.requires_grad()) {
    Tensor zero = zeros(product(a, b).sizes(), self.dtype(), self.device());
    return formulas::scaled_sum(self, zero, beta, 1);
  }
  if (self.dtype() == DType::Float16 || self.dtype() == DType::BFloat16) {
    auto wide = [](const Tensor& t) { return _to_dtype(t, DType::Float32); };
    check(a.dtype() == self.dtype() && b.dtype() == self.dtype(),
          "self, mat1 and mat2 must have the same dtype, but got ", self.dtype(), ", ", a.dtype(),
          " and ", b.dtype());
    return _to_dtype(formulas::scaled_sum(wide(self), product(wide(a), wide(b)), beta, alpha),
                     self.dtype());
  }
  return formulas::scaled_sum(self, product(a, b), beta, alpha);
}
}  // namespace

Tensor addmm_uncast(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                    const Scalar& alpha) {
  return scaled_product(self, a, b, beta, alpha, mm, true);
}
Tensor addmv_uncast(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                    const Scalar& alpha) {
  return scaled_product(self, a, b, beta, alpha, mv, true);
}
Tensor addr(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
            const Scalar& alpha) {
  check(a.dim() == 1 && b.dim() == 1, "addr: Expected 1-D arguments vec1 and vec2, but got ",
        a.dim(), "-D and ", b.dim(), "-D");
  const DType t = promote(self.dtype(), promote(a.dtype(), b.dtype()));
  for (auto [s, name] : {std::pair{&beta, "beta"}, std::pair{&alpha, "alpha"}}) {
    check(s->category() != Category::Bool || t == DType::Bool, "Boolean ", name,
          " only supported for Boolean results.");
    check(is_floating(t) || is_complex(t) || s->is_integral(),
          "For integral input tensors, argument ", name, " must not be a floating point number.");
    check(is_complex(t) || !s->is_complex(), "For non-complex input tensors, argument ", name,
          " must not be a complex number.");
  }
  auto cast = [t](const Tensor& x) { return x.dtype() == t ? x : _to_dtype(x, t); };
  if (t != DType::Bool) return scaled_product(cast(self), cast(a), cast(b), beta, alpha, outer);
  Tensor product = logical_and(unsqueeze(a, 1), unsqueeze(b, 0));
  Tensor old = expand(self, product.sizes(), false);
  if (!alpha.to_bool()) product = zeros_like(product, {}, {}, {});
  return beta.to_bool() ? logical_or(old, product) : product;
}
Tensor baddbmm_uncast(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                      const Scalar& alpha) {
  return scaled_product(self, a, b, beta, alpha, bmm);
}
Tensor addbmm_uncast(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                     const Scalar& alpha) {
  return scaled_product(self, a, b, beta, alpha, [](const Tensor& x, const Tensor& y) {
    return sum_dim(bmm(x, y), Dims{0}, false, std::nullopt);
  });
}

Tensor _scaled_mm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a,
                  const Tensor& scale_b, const OptTensor& bias, const OptTensor&,
                  std::optional<DType> out_dtype, bool) {
  check(self.dim() == 2 && mat2.dim() == 2, "_scaled_mm: expected two matrices, got shapes ",
        self.sizes(), " and ", mat2.sizes());
  const int64_t rows = self.size(0), columns = mat2.size(1);
  check(self.size(1) == mat2.size(0), "mat_a and mat_b shapes cannot be multiplied (", rows, "x",
        self.size(1), " and ", mat2.size(0), "x", columns, ") (_scaled_mm)");
  auto is_float8 = [](const Tensor& t) {
    return t.dtype() == DType::Float8_e4m3fn || t.dtype() == DType::Float8_e5m2 ||
           t.dtype() == DType::Float8_e4m3fnuz || t.dtype() == DType::Float8_e5m2fnuz;
  };
  const bool floats = scale_a.dtype() == DType::Float32 && scale_b.dtype() == DType::Float32,
             single = scale_a.numel() == 1 && scale_b.numel() == 1,
             each = equal(scale_a.sizes(), Dims{rows, 1}) &&
                    equal(scale_b.sizes(), Dims{1, columns}) && scale_a.is_contiguous() &&
                    scale_b.is_contiguous();
  check<ValueError>(is_float8(self) && is_float8(mat2) && floats && (single || each),
                    "Invalid scaling configuration (_scaled_mm): expected float8 matrices and "
                    "float32 scales, either one number each or contiguous ones of shapes ",
                    Dims{rows, 1}, " and ", Dims{1, columns}, ", got ", self.dtype(), " and ",
                    mat2.dtype(), " with scales of ", scale_a.dtype(), ", shape ", scale_a.sizes(),
                    ", and ", scale_b.dtype(), ", shape ", scale_b.sizes());
  check(!bias || equal(bias->sizes(), Dims{columns}), "_scaled_mm: Bias must be size ", columns,
        " but got ", bias ? bias->sizes() : Dims{});
  Tensor out = mm(_to_dtype(self, DType::Float32), _to_dtype(mat2, DType::Float32));
  out = out * reshape(scale_a, single ? Dims{} : Dims{rows, 1}) *
        reshape(scale_b, single ? Dims{} : Dims{1, columns});
  if (bias) out = out + _to_dtype(*bias, DType::Float32);
  return _to_dtype(out, out_dtype.value_or(self.dtype()));
}

namespace {

// Where groups end along a dimension of so many elements.
std::vector<int64_t> group_ends(const Tensor& offs, int64_t size) {
  check(offs.dim() == 1, "offs has to be 1D, got shape ", offs.sizes(), " (_grouped_mm)");
  check(offs.dtype() == DType::Int32, "Offsets have to be int32, got ", offs.dtype(),
        " (_grouped_mm)");
  const Tensor dense = contiguous(offs, MemoryFormat::Contiguous);
  const int32_t* values = dense.data<int32_t>();
  std::vector<int64_t> ends(values, values + dense.numel());
  int64_t last = 0;
  for (int64_t end : ends) {
    check(end >= last && end <= size, "offs must rise from 0 to at most ", size,
          ", the size of the dimension, got ", end, " after ", last, " (_grouped_mm)");
    last = end;
  }
  return ends;
}

}  // namespace

Tensor _grouped_mm(const Tensor& self, const Tensor& mat2, const OptTensor& offs,
                   const OptTensor& bias, std::optional<DType> out_dtype) {
  for (auto [t, name] : {std::pair{&self, "mat_a"}, std::pair{&mat2, "mat_b"}}) {
    check(t->dim() == 2 || t->dim() == 3, name, " has to be 2 or 3d, got shape ", t->sizes(),
          " (_grouped_mm)");
    check(t->dtype() == DType::Float32 || t->dtype() == DType::BFloat16 ||
              t->dtype() == DType::Float16,
          "Expected ", name, " to be Float32, BFloat16 or Float16 matrix, got ",
          info(t->dtype()).scalar_type, " (_grouped_mm)");
  }
  const bool many_a = self.dim() == 3, many_b = mat2.dim() == 3;
  check(self.size(-1) == mat2.size(-2), "contraction dimension of mat_a and mat_b must match, got ",
        self.sizes(), " and ", mat2.sizes(), " (_grouped_mm)");
  check(self.dtype() == mat2.dtype(),
        "expected m1 and m2 to have the same dtype, but got: ", self.dtype(), " != ", mat2.dtype(),
        " (_grouped_mm)");
  check(bool(offs) != (many_a && many_b),
        "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d "
        "(_grouped_mm)");
  check(!bias, "Bias not supported yet (_grouped_mm)");
  check(out_dtype.value_or(self.dtype()) == self.dtype(),
        "Grouped gemm output dtype must match `mat_a` dtype (_grouped_mm)");
  const int64_t rows = self.size(-2), columns = mat2.size(-1);
  const int64_t groups = many_a ? self.size(0) : many_b ? mat2.size(0) : offs->numel();
  check((many_b ? mat2.size(0) : groups) == groups && (!offs || offs->numel() == groups),
        "matrix batch sizes have to match, got ", self.sizes(), ", ", mat2.sizes(), " and ",
        offs ? offs->numel() : groups, " offsets (_grouped_mm)");
  NodeMark mark;
  if (!offs) return mark.named(bmm(self, mat2), "GroupedMmBackward0");
  if (self.is_meta() || mat2.is_meta() || offs->is_meta())
    return new_empty(self, many_a == many_b ? Dims{groups, rows, columns} : Dims{rows, columns});
  // The dimension of the 2-d matrices that holds the groups.
  const int64_t dim_a = many_b ? 0 : 1, dim_b = many_a ? 1 : 0;
  const int64_t size = many_a ? columns : self.size(dim_a);
  TensorList parts;
  int64_t begin = 0;
  int64_t group = 0;
  for (int64_t end : group_ends(*offs, size)) {
    Tensor a = many_a ? select(self, 0, group) : narrow(self, dim_a, begin, end - begin);
    Tensor b = many_b ? select(mat2, 0, group) : narrow(mat2, dim_b, begin, end - begin);
    parts.push_back(mm(a, b));
    begin = end;
    group++;
  }
  if (many_a == many_b) {
    if (parts.empty()) return new_zeros(self, Dims{0, rows, columns});
    return mark.named(stack(parts, 0), "GroupedMmBackward0");
  }
  // What lies behind the last group belongs to none.
  parts.push_back(many_a ? new_zeros(self, Dims{rows, size - begin})
                         : new_zeros(self, Dims{size - begin, columns}));
  return mark.named(cat(parts, many_a ? 1 : 0), "GroupedMmBackward0");
}

}  // namespace ops

namespace formulas {
using namespace ops;

Tensor scaled_sum(const Tensor& self, const Tensor& product, const Scalar& beta,
                  const Scalar& alpha) {
  // integers take the integral part of a number
  auto fitting = [&](const Scalar& s, const char* name) {
    const bool integral = category(product.dtype()) <= Category::Integral;
    check(product.is_complex() || !s.is_complex(), name, ": value cannot be converted to type ",
          integral ? "int64_t" : info(product.dtype()).name, " without overflow");
    if (!integral || s.is_integral()) return s;
    const double v = s.to_double();
    check(v > -0x1p63 && v < 0x1p63, name,
          ": value cannot be converted to type int64_t without overflow");
    return Scalar(int64_t(v));
  };
  check(self.dtype() == product.dtype(), "self and mat2 must have the same dtype, but got ",
        self.dtype(), " and ", product.dtype());
  check(equal(broadcast_shapes(self.sizes(), product.sizes()), product.sizes()),
        "The expanded size of the tensor ", product.sizes(), " must match the existing size ",
        self.sizes());
  Scalar b = fitting(beta, "beta"), a = fitting(alpha, "alpha");
  Tensor scaled = a == Scalar(1) ? product : mul(product, Operand(a));
  if (b == Scalar(0)) return scaled;  // NaN in self does not reach the result
  return b == Scalar(1) ? add(scaled, self, 1) : add(scaled, self, b);
}

Tensor linear_weight_grad(const Tensor& grad, const Tensor& input) {
  int64_t k = input.sizes().back();
  if (grad.dim() < input.dim())
    return reshape(mm(reshape(grad, Dims{1, -1}), conj(reshape(input, Dims{-1, k}))), Dims{k});
  if (grad.dim() == 2) return mm(t(grad), conj(input));
  int64_t n = grad.sizes().back(),
          rows = product(IntSpan(grad.sizes()).first(size_t(grad.dim()) - 1));
  return mm(t(reshape(grad, Dims{rows, n})), conj(reshape(input, Dims{rows, k})));
}

const char* linear_node(const Tensor& input, const OptTensor& bias) {
  if (input.dim() == 2) return bias ? "AddmmBackward0" : "MmBackward0";
  if (bias) return bias->dim() > 1 ? "AddBackward0" : "ViewBackward0";
  return input.dim() == 1 ? "SqueezeBackward4" : "UnsafeViewBackward0";
}

}  // namespace formulas
}  // namespace flambeau
