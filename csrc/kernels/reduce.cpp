// Reductions that are one pass of the driver: sums, products, extremes, moments, norms, counts.
#include "kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "dispatch/state.h"
#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

DType sum_dtype(const Tensor& self, std::optional<DType> dtype) {
  if (dtype) return *dtype;
  return category(self.dtype()) <= Category::Integral ? DType::Int64 : self.dtype();
}

// An input that has to be converted first, as the sum of another dtype asks for.
Tensor sum_input(const Tensor& self, DType to) {
  const bool widens = category(self.dtype()) <= Category::Integral &&
                      !is_storage_only(self.dtype()) && to == DType::Int64;
  return widens || self.is_meta() ? self : cast_of(self, to);
}

Tensor sum_over(ReduceOp op, const Tensor& self, IntSpan dims, bool keepdim,
                std::optional<DType> dtype) {
  const DType to = sum_dtype(self, dtype);
  return reduce_tensor(op, sum_input(self, to), dims, keepdim, to);
}

Tensor mean_over(const char* op, const Tensor& self, IntSpan dims, bool keepdim,
                 std::optional<DType> dtype) {
  const DType to = dtype.value_or(self.dtype());
  check(category(to) >= Category::Floating, op, "(): could not infer output dtype. ",
        dtype ? "Optional" : "Input",
        " dtype must be either a floating point or complex dtype. Got: ", info(to).scalar_type,
        " (pass dtype=torch.float32)");
  double n = 1;
  for (int64_t d : dims) n *= double(self.sizes()[size_t(d)]);
  return reduce_tensor(ReduceOp::Sum, sum_input(self, to), dims, keepdim, to, n);
}

void check_real(const char* op, const Tensor& self) {
  check<NotImplementedError>(!self.is_complex(), op, "(): complex numbers have no order (got ",
                             self.dtype(), ")");
}

void check_nonempty(const char* op, const Tensor& self, IntSpan dims, bool named) {
  if (self.numel() != 0) return;
  for (int64_t d : dims)
    check<IndexError>(self.sizes()[size_t(d)] != 0 || !named, op, "(): Expected reduction dim ", d,
                      " to have non-zero size.");
  check(named, op,
        "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
        "dim with the 'dim' argument.");
}

Tensor extreme(const char* op, ReduceOp kind, const Tensor& self, IntSpan dims, bool keepdim,
               bool named) {
  check_real(op, self);
  check_nonempty(op, self, dims, named);
  return reduce_tensor(kind, self, dims, keepdim, self.dtype());
}

struct Arg {
  Tensor values, indices;
};

Arg arg_over(const char* op, bool largest, const Tensor& self, int64_t dim, bool keepdim,
             bool want_values) {
  check(!self.is_complex(), op, "(): does not support complex input");
  const int64_t d = wrap_dim(dim, self.dim());
  Dims shape = self.sizes();
  if (self.dim()) {
    if (self.numel() == 0)
      check<IndexError>(shape[size_t(d)] != 0, op, "(): Expected reduction dim ", d,
                        " to have non-zero size.");
    shape = reduced_shape(self.sizes(), Dims{d}, keepdim);
  }
  Arg out;
  out.indices = empty(shape, DType::Int64, self.device());
  out.values =
      want_values || !self.is_meta() ? empty(shape, self.dtype(), self.device()) : Tensor();
  if (self.is_meta() || out.indices.numel() == 0) return out;
  const ArgFns& f = arg_fns(largest, self.dtype());
  Tensor x = contiguous_of(self);
  const Around a(x.sizes(), d);
  const int64_t width = x.itemsize();
  char *values = out.values.bytes(), *in = x.bytes();
  int64_t* indices = out.indices.data<int64_t>();
  LongWork guard(x.numel() > (1 << 18));
  if (a.inner == 1) {
    parallel_for(a.outer, std::max<int64_t>(1, 32768 / a.n), [&](int64_t begin, int64_t end) {
      f.rows(values + begin * width, indices + begin, in + begin * a.n * width, end - begin, a.n);
    });
    return out;
  }
  constexpr int64_t strip = 512;
  const int64_t strips = (a.inner + strip - 1) / strip;
  parallel_for(a.outer * strips, std::max<int64_t>(1, 32768 / (a.n * std::min(a.inner, strip))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; k++) {
                   const int64_t o = k / strips, c = k % strips * strip,
                                 cols = std::min(strip, a.inner - c);
                   f.columns(values + (o * a.inner + c) * width, indices + o * a.inner + c,
                             in + (o * a.n * a.inner + c) * width, a.n, cols, a.inner);
                 }
               });
  return out;
}

Tensor arg_all(const char* op, bool largest, const Tensor& self, std::optional<int64_t> dim,
               bool keepdim) {
  check(self.dtype() != DType::Bool, op, "(): does not support bool input; convert it with .int()");
  if (dim) return arg_over(op, largest, self, *dim, keepdim, false).indices;
  check<IndexError>(self.numel() > 0, op,
                    "(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                    "the reduction dim with the 'dim' argument.");
  Dims shape = keepdim ? Dims(size_t(self.dim()), 1) : Dims{};
  if (self.is_meta()) return empty(shape, DType::Int64, self.device());
  Tensor flat = contiguous_of(self);
  Tensor out = arg_over(op, largest, alias(flat, Dims{flat.numel()}, Dims{1}, flat.offset()), 0,
                        false, false)
                   .indices;
  return alias(out, shape, contiguous_strides(shape), 0);
}

Tensor truth_over(bool any, const Tensor& self, IntSpan dims, bool keepdim) {
  const DType to = self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool;
  if (self.is_meta()) return empty(reduced_shape(self.sizes(), dims, keepdim), to, self.device());
  return reduce_tensor(any ? ReduceOp::Max : ReduceOp::Min, cast_of(self, DType::Bool), dims,
                       keepdim, to);
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
void write_moments(const Moments* m, int64_t n, double correction, bool root, T* spread, T* mean) {
  for (int64_t i = 0; i < n; i++) {
    const double v = m[i].m2 / std::max(0.0, m[i].n - correction);
    const double value = m[i].n == 0 ? NAN : v;
    if (spread) spread[i] = T(Wide<T>(root ? std::sqrt(value) : value));
    if (mean) mean[i] = T(Wide<T>(m[i].n == 0 ? NAN : m[i].mean));
  }
}

}  // namespace

// ---- sums and products
// --------------------------------------------------------------------------------

Tensor sum(const Tensor& self, std::optional<DType> dtype) {
  return sum_dim(self, std::nullopt, false, dtype);
}
Tensor sum_dim(const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
               std::optional<DType> dtype) {
  return sum_over(ReduceOp::Sum, self, reduced_dims(dim, self.dim()), keepdim, dtype);
}
Tensor nansum(const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
              std::optional<DType> dtype) {
  check(!self.is_complex(), "nansum does not support complex inputs");
  return sum_over(ReduceOp::NanSum, self, reduced_dims(dim, self.dim()), keepdim, dtype);
}
Tensor mean(const Tensor& self, std::optional<DType> dtype) {
  return mean_dim(self, std::nullopt, false, dtype);
}
Tensor mean_dim(const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                std::optional<DType> dtype) {
  return mean_over("mean", self, reduced_dims(dim, self.dim()), keepdim, dtype);
}
Tensor prod(const Tensor& self, std::optional<DType> dtype) {
  return sum_over(ReduceOp::Prod, self, reduced_dims(std::nullopt, self.dim()), false, dtype);
}
Tensor prod_dim(const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  return sum_over(ReduceOp::Prod, self, reduced_dims(Dims{dim}, self.dim()), keepdim, dtype);
}
Tensor count_nonzero(const Tensor& self, const std::optional<Dims>& dim) {
  return reduce_tensor(ReduceOp::CountNonzero, self, reduced_dims(dim, self.dim()), false,
                       DType::Int64);
}

Tensor sum_to_size(const Tensor& self, const Dims& size) {
  const int64_t lead = self.dim() - int64_t(size.size());
  Dims dims;
  bool fits = lead >= 0;
  for (int64_t d = 0; fits && d < self.dim(); d++) {
    const int64_t have = self.sizes()[size_t(d)];
    if (d < lead) {
      dims.push_back(d);
      continue;
    }
    const int64_t want = size[size_t(d - lead)];
    if (want == have) continue;
    fits = want == 1;
    dims.push_back(d);
  }
  check(fits, "size {", size, "} is not expandable to size {", self.sizes(), "}.");
  if (dims.empty()) return alias(self, self.sizes(), self.strides(), self.offset());
  if (product(size) == self.numel() && self.numel()) {  // nothing to add, as for a batch of one
    Dims strides = self.strides();
    for (int64_t d = 0; d < lead; d++) strides.erase(0);
    Tensor out = alias(self, size, strides, self.offset());
    return cast_of(out, sum_dtype(self, std::nullopt));
  }
  Tensor out = reduce_tensor(ReduceOp::Sum, self, dims, true, sum_dtype(self, std::nullopt));
  Dims strides = out.strides();
  for (int64_t d = 0; d < lead; d++) strides.erase(0);
  return alias(out, size, strides, out.offset());
}

// ---- extremes
// ---------------------------------------------------------------------------------------------

Tensor max(const Tensor& self) {
  return extreme("max", ReduceOp::Max, self, reduced_dims({}, self.dim()), false, false);
}
Tensor min(const Tensor& self) {
  return extreme("min", ReduceOp::Min, self, reduced_dims({}, self.dim()), false, false);
}
Tensor amax(const Tensor& self, const Dims& dim, bool keepdim) {
  return extreme("amax", ReduceOp::Max, self, reduced_dims(dim, self.dim()), keepdim, !dim.empty());
}
Tensor amin(const Tensor& self, const Dims& dim, bool keepdim) {
  return extreme("amin", ReduceOp::Min, self, reduced_dims(dim, self.dim()), keepdim, !dim.empty());
}
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  Dims dims = reduced_dims(dim ? std::optional<Dims>(Dims{*dim}) : std::nullopt, self.dim());
  check(self.numel() != 0 || dim,
        "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
        "identity.");
  return {extreme("aminmax", ReduceOp::Min, self, dims, keepdim, dim.has_value()),
          extreme("aminmax", ReduceOp::Max, self, dims, keepdim, dim.has_value())};
}
std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  Arg a = arg_over("max", true, self, dim, keepdim, true);
  return {a.values, a.indices};
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  Arg a = arg_over("min", false, self, dim, keepdim, true);
  return {a.values, a.indices};
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_all("argmax", true, self, dim, keepdim);
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_all("argmin", false, self, dim, keepdim);
}

// ---- truth
// ------------------------------------------------------------------------------------------------

Tensor any(const Tensor& self) {
  return truth_over(true, self, reduced_dims({}, self.dim()), false);
}
Tensor all(const Tensor& self) {
  return truth_over(false, self, reduced_dims({}, self.dim()), false);
}
Tensor any_dims(const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  return truth_over(true, self, dim && dim->empty() ? Dims{} : reduced_dims(dim, self.dim()),
                    keepdim);
}
Tensor all_dims(const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  return truth_over(false, self, dim && dim->empty() ? Dims{} : reduced_dims(dim, self.dim()),
                    keepdim);
}
bool equal(const Tensor& self, const Tensor& other) {
  check(!self.is_meta(), "equal(): the 'meta' device has no values to compare");
  if (!flambeau::equal(self.sizes(), other.sizes())) return false;
  return all(ops::eq(self, other)).data<bool>()[0];
}

// ---- moments and norms
// ---------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> _var_mean(const Tensor& self, const std::optional<Dims>& dim,
                                     double correction, bool keepdim, bool root) {
  const char* op = root ? "std" : "var";
  check(category(self.dtype()) >= Category::Floating,
        "std and var only support floating point and complex dtypes (", op, "() got ", self.dtype(),
        "; convert with .float())");
  const Dims dims = reduced_dims(dim, self.dim());
  if (self.is_complex() && !self.is_meta()) {
    Tensor real = ops::view_as_real(dims.empty() ? ops::unsqueeze(self, 0) : self);
    auto [parts, mean] =
        _var_mean(real, dims.empty() ? Dims{0} : dims, correction, keepdim && !dims.empty(), false);
    Tensor var = sum_dim(parts, Dims{-1}, false, std::nullopt);
    return {root ? ops::sqrt(var) : var, ops::view_as_complex(contiguous_of(mean))};
  }
  Dims shape = reduced_shape(self.sizes(), dims, keepdim);
  if (self.is_meta())
    return {empty(shape, real_dtype(self.dtype()), self.device()),
            empty(shape, self.dtype(), self.device())};
  Reduced r = run_reduction(reduce_fns(ReduceOp::Moments, self.dtype()), self, dims, keepdim);
  Tensor spread = empty_strided(r.sizes, r.strides, self.dtype()),
         mean = empty_strided(r.sizes, r.strides, self.dtype());
  visit(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, half_t> ||
                  std::is_same_v<T, bfloat16_t>)
      write_moments(static_cast<const Moments*>(r.acc), r.count, correction, root, spread.data<T>(),
                    mean.data<T>());
  });
  return {spread, mean};
}

Tensor _vector_norm(const Tensor& self, double ord, const std::optional<Dims>& dim, bool keepdim) {
  check(category(self.dtype()) >= Category::Floating,
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
        self.dtype());
  const Dims dims = reduced_dims(dim, self.dim());
  const DType real = real_dtype(self.dtype());
  if (self.is_meta()) return empty(reduced_shape(self.sizes(), dims, keepdim), real, self.device());
  if (self.dtype() == DType::Complex32)
    return cast_of(_vector_norm(cast_of(self, DType::Complex64), ord, dim, keepdim), real);
  if (ord == 2) {
    Reduced r = run_reduction(reduce_fns(ReduceOp::SumSquares, self.dtype()), self, dims, keepdim);
    Tensor out = empty_strided(r.sizes, r.strides, real);
    double* acc = static_cast<double*>(r.acc);
    for (int64_t i = 0; i < r.count; i++) acc[i] = std::sqrt(acc[i]);
    convert_elements(out.bytes(), real, acc, DType::Float64, r.count);
    return out;
  }
  if (ord == 1) return reduce_tensor(ReduceOp::SumAbs, self, dims, keepdim, real);
  if (ord == 0)
    return cast_of(reduce_tensor(ReduceOp::CountNonzero, self, dims, keepdim, DType::Int64), real);
  if (std::isinf(ord)) {
    if (self.numel() == 0)
      for (int64_t d : dims)
        check(self.sizes()[size_t(d)] != 0,
              "linalg.vector_norm cannot compute the infinity norm on an empty dimension because "
              "the operation does not have an identity");
    return reduce_tensor(ord > 0 ? ReduceOp::Max : ReduceOp::Min, ops::abs(self), dims, keepdim,
                         real);
  }
  check(self.numel() != 0 || ord > 0 || dims.empty(), "linalg.vector_norm cannot compute the ", ord,
        " norm on an empty tensor because the operation does not have an identity");
  Tensor x = ops::abs(cast_of(self, info(self.dtype()).compute));
  Tensor total = reduce_tensor(ReduceOp::Sum, ops::pow(x, ord), dims, keepdim, x.dtype());
  return cast_of(ops::pow(total, 1 / ord), real);
}

// Exclusive or of 64-bit patterns: integers as they are, floats as float64.
Tensor hash_tensor(const Tensor& self, const Dims& dim, bool keepdim, int64_t mode) {
  check(mode == 0, "Unknown hash_tensor mode: ", mode);
  check<NotImplementedError>(!self.is_complex() && self.dtype() < DType::Float8_e4m3fn,
                             "\"hash_tensor\" not implemented for '",
                             info(self.dtype()).scalar_type, "'");
  const Dims dims = reduced_dims(dim.empty() ? std::nullopt : std::optional(dim), self.dim());
  check(self.numel() != 0 || !dim.empty(),
        "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the "
        "reduction dim with the 'dim' argument.");
  for (int64_t d : dims)
    check<IndexError>(self.sizes()[size_t(d)] != 0, "hash_tensor: Expected reduction dim ", d,
                      " to have non-zero size.");
  Tensor out = empty(reduced_shape(self.sizes(), dims, keepdim), DType::UInt64, self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Dims order;
  for (int64_t d = 0; d < self.dim(); d++)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  for (int64_t d : dims) order.push_back(d);
  const DType as = self.is_floating()              ? DType::Float64
                   : self.dtype() == DType::UInt64 ? DType::UInt64
                                                   : DType::Int64;
  const Tensor words = contiguous_of(cast_of(ops::permute(self, order), as));
  const uint64_t* w = words.data<uint64_t>();
  const int64_t n = words.numel() / out.numel();
  for (int64_t i = 0; i < out.numel(); i++, w += n)
    out.data<uint64_t>()[i] = std::accumulate(w, w + n, uint64_t(0), std::bit_xor<>());
  return out;
}

Tensor logsumexp(const Tensor& self, const Dims& dim, bool keepdim) {
  Tensor x = category(self.dtype()) <= Category::Integral && !self.is_meta()
                 ? cast_of(self, default_dtype())
                 : self;
  const Dims dims = reduced_dims(dim, self.dim());
  if (self.is_meta())
    return empty(reduced_shape(self.sizes(), dims, keepdim),
                 is_differentiable(self.dtype()) ? self.dtype() : default_dtype(), self.device());
  const DType to = x.dtype();
  if (x.numel() == 0) return ops::log(reduce_tensor(ReduceOp::Sum, ops::exp(x), dims, keepdim, to));
  x = cast_of(x, info(to).compute);
  Tensor size = x.is_complex() ? ops::real(x) : x;
  Tensor top = reduce_tensor(ReduceOp::Max, size, dims, true, size.dtype());
  top = ops::_where(ops::isfinite(top), top, 0);
  Tensor total = reduce_tensor(ReduceOp::Sum, ops::exp(ops::sub(x, top, 1)), dims, true, x.dtype());
  Tensor out = ops::add(ops::log(total), top, 1);
  Dims shape = reduced_shape(self.sizes(), dims, keepdim);
  return cast_of(alias(contiguous_of(out), shape, contiguous_strides(shape), 0), to);
}

// ---- counts
// -------------------------------------------------------------------------------------------------

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  check(bins > 0, "bins must be > 0, but got ", bins);
  check<NotImplementedError>(self.is_floating(), "\"histogram_cpu\" not implemented for '",
                             info(self.dtype()).name, "'");
  Tensor out = empty(Dims{bins}, self.dtype(), self.device());
  if (self.is_meta()) return out;
  double low = min.to_double(), high = max.to_double();
  Tensor x = cast_of(contiguous_of(self), DType::Float64);
  const double* p = x.data<double>();
  if (low == high && x.numel()) {
    low = *std::min_element(p, p + x.numel());
    high = *std::max_element(p, p + x.numel());
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  check(std::isfinite(low) && std::isfinite(high), "range of [", low, ", ", high,
        "] is not finite");
  check(low < high, "max must be larger than min");
  std::vector<double> counts(size_t(bins), 0.0);
  for (int64_t i = 0; i < x.numel(); i++)
    if (p[i] >= low && p[i] <= high)
      counts[size_t(std::min(bins - 1, int64_t((p[i] - low) / (high - low) * double(bins))))]++;
  convert_elements(out.bytes(), out.dtype(), counts.data(), DType::Float64, bins);
  return out;
}

Tensor bincount(const Tensor& self, const OptTensor& weights, int64_t minlength) {
  check(minlength >= 0, "minlength should be >= 0");
  check<NotImplementedError>(!self.is_floating() && !self.is_complex(),
                             "\"bincount_cpu\" not implemented for '",
                             info(self.dtype()).scalar_type, "'; the elements must be integers");
  check(is_integral(self.dtype()), "bincount only supports 1-d non-negative integral inputs. (got ",
        self.dtype(), ")");
  check(!self.is_meta(),
        "bincount(): the shape of the result depends on values, which the 'meta' device has not");
  check(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  check(!weights || (weights->dim() == 1 && weights->numel() == self.numel()),
        "weights should be 1-d and have the same length as input");
  Tensor x = cast_of(contiguous_of(self), DType::Int64);
  const int64_t* p = x.data<int64_t>();
  int64_t top = -1;
  for (int64_t i = 0; i < x.numel(); i++) {
    check(p[i] >= 0, "bincount only supports 1-d non-negative integral inputs. (element ", i,
          " is ", p[i], ")");
    top = std::max(top, p[i]);
  }
  check(top < std::numeric_limits<int64_t>::max(), "bincount: the element ", top, " is too large");
  const int64_t bins = std::max(minlength, top + 1);
  const bool counts = !weights;
  const DType to = counts                               ? DType::Int64
                   : weights->dtype() == DType::Float32 ? DType::Float32
                                                        : DType::Float64;
  Tensor out = empty(Dims{bins}, to);
  fill_kernel(out, 0);
  if (counts) {
    for (int64_t i = 0; i < x.numel(); i++) out.data<int64_t>()[p[i]]++;
    return out;
  }
  Tensor w = cast_of(contiguous_of(*weights), to);
  visit_float(to, "bincount", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < x.numel(); i++) out.data<T>()[p[i]] += w.data<T>()[i];
  });
  return out;
}

}  // namespace flambeau::kernels
