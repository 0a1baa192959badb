// Comparisons of whole tensors, norms by name, covariance.
#include <cmath>

#include "autograd/formulas.h"
#include "core/transform.h"
#include "dispatch/promotion.h"
#include "kernels/reduce.h"
#include "ops/all.h"

namespace flambeau::ops {

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  check(self.dtype() == other.dtype(), self.dtype(), " did not match ", other.dtype(),
        ": isclose() compares tensors of one dtype");
  check(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  check(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = eq(self, other);
  const bool inexact = is_differentiable(self.dtype());
  if (equal_nan && inexact) close = logical_or(close, logical_and(isnan(self), isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  Tensor a = self, b = other;
  if (!inexact) {
    a = _to_dtype(self, default_dtype());
    b = _to_dtype(other, default_dtype());
  }
  Tensor allowed = abs(b * rtol) + atol, actual = abs(a - b);
  return logical_or(close, logical_and(isfinite(actual), le(actual, allowed)));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  NoGrad off;
  return equal(all(isclose(self, other, rtol, atol, equal_nan)),
               ones(Dims{}, DType::Bool, self.device()));
}

namespace {

Tensor norm_input(const char* op, const Tensor& self, std::optional<DType> dtype) {
  check(is_differentiable(self.dtype()), op,
        ": Expected a floating point or complex tensor as input. Got ", self.dtype());
  if (!dtype || *dtype == self.dtype()) return self;
  check(is_differentiable(*dtype), op, ": dtype should be floating point or complex, but got ",
        *dtype);
  check(is_complex(*dtype) == self.is_complex(), op, " expected a ",
        self.is_complex() ? "complex" : "real", " dtype, but got ", *dtype);
  check(promote(self.dtype(), *dtype) == *dtype, op, ": the dtype of the input ", self.dtype(),
        " should be convertible without narrowing to the specified dtype ", *dtype);
  return _to_dtype(self, *dtype);
}

Dims matrix_dims(const Tensor& self, const Dims& dim) {
  check(self.dim() >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  check(dim.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dim);
  Dims d{wrap_dim(dim[0], self.dim()), wrap_dim(dim[1], self.dim())};
  check(d[0] != d[1], "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ", dim[1],
        ")");
  return d;
}

// Norms of the singular values.
Tensor spectral_norm(const Tensor& self, const Dims& d, bool keepdim, double ord, bool nuclear) {
  Tensor values = linalg_svdvals(movedim(self, d, Dims{-2, -1}), std::nullopt);
  const bool none = values.size(-1) == 0 && ord > 0;  // the norm of nothing is 0
  Tensor out = nuclear || none ? sum_dim(values, Dims{-1}, false, std::nullopt)
               : ord > 0       ? amax(values, Dims{-1}, false)
                               : amin(values, Dims{-1}, false);
  if (!keepdim) return out;
  return unsqueeze(unsqueeze(out, std::min(d[0], d[1])), std::max(d[0], d[1]));
}

}  // namespace

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, const std::optional<Dims>& dim,
                          bool keepdim, std::optional<DType> dtype) {
  check(!ord.is_complex(),
        "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  return _vector_norm(norm_input("linalg.vector_norm", self, dtype), ord.to_double(), dim, keepdim);
}

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, const Dims& dim, bool keepdim,
                          std::optional<DType> dtype) {
  Tensor a = norm_input("linalg.matrix_norm", self, dtype);
  Dims d = matrix_dims(a, dim);
  const double p = ord.to_double(), size = std::abs(p);
  check(size == 1 || size == 2 || std::isinf(p), "linalg.matrix_norm: Order ", p,
        " not supported.");
  if (size == 2) return spectral_norm(a, d, keepdim, p, false);
  int64_t summed = size == 1 ? d[0] : d[1], chosen = size == 1 ? d[1] : d[0];
  if (!keepdim && chosen > summed) chosen--;
  Tensor sums = _vector_norm(a, 1, Dims{summed}, keepdim);
  return p > 0 ? amax(sums, Dims{chosen}, keepdim) : amin(sums, Dims{chosen}, keepdim);
}

Tensor linalg_matrix_norm_str_ord(const Tensor& self, const std::string& ord, const Dims& dim,
                                  bool keepdim, std::optional<DType> dtype) {
  check(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order ", ord, " not supported.");
  Tensor a = norm_input("linalg.matrix_norm", self, dtype);
  Dims d = matrix_dims(a, dim);
  return ord == "fro" ? _vector_norm(a, 2, d, keepdim) : spectral_norm(a, d, keepdim, 0, true);
}

Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord,
                   const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) {
  if (dim)
    check(dim->size() == 1 || dim->size() == 2,
          "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  if (!ord) return linalg_vector_norm(self, 2, dim, keepdim, dtype);
  if (!dim)
    check(self.dim() == 1 || self.dim() == 2,
          "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
          self.dim(), "D.");
  const bool vector = dim ? dim->size() == 1 : self.dim() == 1;
  if (vector) return linalg_vector_norm(self, *ord, dim, keepdim, dtype);
  return linalg_matrix_norm(self, *ord, dim.value_or(Dims{0, 1}), keepdim, dtype);
}

Tensor linalg_norm_ord_str(const Tensor& self, const std::string& ord,
                           const std::optional<Dims>& dim, bool keepdim,
                           std::optional<DType> dtype) {
  if (dim)
    check(dim->size() == 1 || dim->size() == 2,
          "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  else
    check(self.dim() == 2,
          "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
          self.dim(), "D.");
  return linalg_matrix_norm_str_ord(self, ord, dim.value_or(Dims{0, 1}), keepdim, dtype);
}

Tensor norm(const Tensor& self, const std::string& p, const std::optional<Dims>& dim, bool keepdim,
            std::optional<DType> dtype) {
  if (p == "fro") return linalg_vector_norm(self, 2, dim, keepdim, dtype);
  check(p == "nuc", "norm(): p must be a number, 'fro' or 'nuc', but got '", p, "'");
  return linalg_matrix_norm_str_ord(self, p, dim.value_or(Dims{-2, -1}), keepdim, dtype);
}

Tensor norm_Scalar(const Tensor& self, const std::optional<Scalar>& p,
                   const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) {
  return linalg_vector_norm(self, p.value_or(2), dim, keepdim, dtype);
}

namespace {
void check_weights(const char* name, const OptTensor& w, int64_t observations, bool floating) {
  if (!w) return;
  check(w->dim() <= 1, "cov(): expected ", name, " to have one or fewer dimensions but got ", name,
        " with ", w->dim(), " dimensions");
  check(floating ? w->is_floating() : is_integral(w->dtype()), "cov(): expected ", name,
        " to have ", floating ? "floating point" : "integral", " dtype but got ", name, " with ",
        w->dtype(), " dtype");
  check(w->numel() == observations, "cov(): expected ", name,
        " to have the same numel as there are observations in the input but got ", w->numel(),
        " != ", observations);
  NoGrad off;
  check(!has_values(*w) || w->numel() == 0 || item(ge(amin(*w, Dims{}, false), 0)).to_bool(),
        "cov(): ", name, " cannot be negative");
}
}  // namespace

Tensor cov(const Tensor& self, int64_t correction, const OptTensor& fweights,
           const OptTensor& aweights) {
  check(self.dim() <= 2,
        "cov(): expected input to have two or fewer dimensions but got an input with ", self.dim(),
        " dimensions");
  check(self.dtype() != DType::Bool, "cov(): bool dtype is not supported for input");
  Tensor x = self.dim() < 2 ? reshape(self, Dims{1, -1}) : self;
  const int64_t n = x.size(1);
  check_weights("fweights", fweights, n, false);
  check_weights("aweights", aweights, n, true);
  Tensor w;
  if (fweights) w = *fweights;
  if (aweights) w = fweights ? w * *aweights : *aweights;
  if (category(x.dtype()) <= Category::Integral) x = _to_dtype(x, default_dtype());
  Tensor total = w.defined() ? sum(_to_dtype(w, real_dtype(x.dtype())), std::nullopt)
                             : full(Dims{}, n, real_dtype(x.dtype()), x.device());
  Tensor mean_x = w.defined() ? sum_dim(x * w, Dims{1}, true, std::nullopt) / total
                              : mean_dim(x, Dims{1}, true, std::nullopt);
  Tensor divisor = total - correction;
  if (aweights && correction != 0)
    divisor = total - sum(w * *aweights, std::nullopt) / total * correction;
  x = x - mean_x;
  Tensor c = matmul(x, conj(transpose(w.defined() ? x * w : x, 0, 1)));
  return squeeze(c / clamp_min(divisor, 0));
}

Tensor corrcoef(const Tensor& self) {
  check(self.dim() <= 2,
        "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
        self.dim(), " dimensions");
  Tensor c = cov(self, 1, std::nullopt, std::nullopt);
  if (c.dim() == 0) return c / c;
  Tensor deviation = sqrt(real(diagonal(c, 0, 0, 1)));
  return c / unsqueeze(deviation, 1) / unsqueeze(deviation, 0);
}

// ---- differences and integrals
// ------------------------------------------------------------------------------

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const OptTensor& prepend,
            const OptTensor& append) {
  check(self.dim() >= 1, "diff expects input to be at least one-dimensional");
  check(n >= 0, "order must be non-negative but got ", n);
  const int64_t d = wrap_dim(dim, self.dim());
  TensorList parts;
  if (prepend) parts.push_back(*prepend);
  parts.push_back(self);
  if (append) parts.push_back(*append);
  for (auto& p : parts)
    check(p.dim() == self.dim(),
          "diff expects prepend or append to be the same dimension as input");
  if (n == 0) return self;
  Tensor x = parts.size() > 1 ? cat(parts, d) : self;
  for (n = std::min(n, x.sizes()[size_t(d)]); n > 0; n--) {
    const int64_t size = x.sizes()[size_t(d)];
    Tensor high = narrow(x, d, 1, size - 1), low = narrow(x, d, 0, size - 1);
    x = x.dtype() == DType::Bool ? logical_xor(high, low) : high - low;
  }
  return x;
}

namespace {

int64_t integrated_dim(const Tensor& y, int64_t dim) {
  check<IndexError>(y.dim() > 0, "trapezoid: dimension specified as ", dim,
                    " but tensor has no dimensions");
  return wrap_dim(dim, y.dim());
}

// Mean of neighbours times their distance.
Tensor trapezoids(const Tensor& y, const Operand& dx, int64_t d) {
  check(y.dtype() != DType::Bool,
        "trapezoid: received a bool input for `y`, but bool is not supported");
  const int64_t n = y.sizes()[size_t(d)];
  return (narrow(y, d, 0, n - 1) + narrow(y, d, 1, n - 1)) * dx / 2;
}

Tensor empty_integral(const Tensor& y, int64_t d, bool cumulative) {
  Dims shape = y.sizes();
  if (cumulative)
    shape[size_t(d)] = 0;
  else
    shape.erase(size_t(d));
  return zeros(shape, y.dtype(), y.device());
}

// Distances of the points x, shaped to go with y.
Tensor distances(const char* op, const Tensor& y, const Tensor& x, int64_t d) {
  check(x.dim() != 1 || x.sizes()[0] == y.sizes()[size_t(d)], op,
        ": There must be one `x` value for each sample point");
  Tensor points = x;
  if (x.dim() == 1) {
    Dims shape(size_t(y.dim()), 1);
    shape[size_t(d)] = x.numel();
    points = reshape(x, shape);
  }
  return diff(points, 1, x.dim() == 1 ? d : d - y.dim(), std::nullopt, std::nullopt);
}

}  // namespace

Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const int64_t d = integrated_dim(y, dim);
  if (y.sizes()[size_t(d)] == 0) return empty_integral(y, d, false);
  return sum_dim(trapezoids(y, distances("trapezoid", y, x, d), d), Dims{d}, false, std::nullopt);
}
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  const int64_t d = integrated_dim(y, dim);
  if (y.sizes()[size_t(d)] == 0) return empty_integral(y, d, false);
  return sum_dim(trapezoids(y, dx, d), Dims{d}, false, std::nullopt);
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const int64_t d = integrated_dim(y, dim);
  if (y.sizes()[size_t(d)] == 0) return empty_integral(y, d, true);
  return cumsum(trapezoids(y, distances("cumulative_trapezoid", y, x, d), d), d, std::nullopt);
}
Tensor cumulative_trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  const int64_t d = integrated_dim(y, dim);
  if (y.sizes()[size_t(d)] == 0) return empty_integral(y, d, true);
  return cumsum(trapezoids(y, dx, d), d, std::nullopt);
}

}  // namespace flambeau::ops
