// Quantiles, membership, combinations, renormalisation.
#include <numeric>

#include "autograd/formulas.h"
#include "core/transform.h"
#include "dispatch/promotion.h"
#include "ops/all.h"

namespace flambeau::ops {
namespace {

Tensor quantiles(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                 const std::string& how, bool skip_nan) {
  check(q.dim() <= 1, "quantile() q must be a scalar or 1D tensor");
  check(self.dtype() == DType::Float32 || self.dtype() == DType::Float64,
        "quantile() input tensor must be either float or double dtype");
  check(q.dtype() == self.dtype(), "quantile() q tensor must be same dtype as the input tensor");
  check(
      how == "linear" || how == "lower" || how == "higher" || how == "midpoint" || how == "nearest",
      "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
      "got ",
      how);
  check(self.numel() != 0, "quantile() input tensor must be non-empty");
  const int64_t d = dim ? wrap_dim(*dim, self.dim()) : 0;
  Tensor x = dim && self.dim() ? movedim(self, Dims{d}, Dims{-1}) : reshape(self, Dims{-1});
  const double top = double(x.size(-1) - 1);
  Tensor sorted = std::get<0>(sort(x, -1, false));
  // NaN sorts last: the number of others, or whether there is one, comes from counting
  Tensor nan = isnan(sorted), shares = q.dim() ? q : unsqueeze(q, 0), rank;
  if (skip_nan) {
    Tensor last = top - sum_dim(nan, Dims{-1}, true, std::nullopt);
    rank = shares * clamp_min(_to_dtype(last, self.dtype()), 0);
  } else {
    rank = masked_fill(shares * top, any_dims(nan, Dims{-1}, true), top);
  }
  if (how == "lower") rank = floor(rank);
  if (how == "higher") rank = ceil(rank);
  if (how == "nearest") rank = round(rank);
  Dims wanted = sorted.sizes();
  wanted.back() = shares.numel();
  rank = expand(rank, wanted, false);
  Tensor below = _to_dtype(detach(rank), DType::Int64), out = gather(sorted, -1, below, false);
  if (how == "linear" || how == "midpoint") {
    Tensor above = gather(sorted, -1, _to_dtype(ceil(detach(rank)), DType::Int64), false);
    out = how == "linear" ? lerp(out, above, rank - below) : lerp(out, above, 0.5);
  }
  // the shares come first
  out = q.dim() ? movedim(out, Dims{-1}, Dims{0}) : squeeze_dim(out, -1);
  if (!keepdim || self.dim() == 0) return out;
  Dims shape = dim ? self.sizes() : Dims(size_t(self.dim()), 1);
  if (dim) shape[size_t(d)] = 1;
  if (q.dim()) shape.insert(0, q.numel());
  return reshape(out, shape);
}

void check_shares(const Tensor& q) {
  if (!has_values(q) || q.numel() == 0) return;
  NoGrad off;
  check(item(all(logical_and(ge(q, 0), le(q, 1)))).to_bool(),
        "quantile() q values must be in the range [0, 1]");
}

Tensor share_like(double q, const Tensor& self) {
  check(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got ", q);
  return full(Dims{}, q, self.dtype(), self.device());
}

}  // namespace

Tensor quantile_uncast(const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                       bool keepdim, const std::string& interpolation) {
  if (q.dtype() == self.dtype()) check_shares(q);
  return quantiles(self, q, dim, keepdim, interpolation, false);
}
Tensor quantile_scalar_uncast(const Tensor& self, double q, std::optional<int64_t> dim,
                              bool keepdim, const std::string& interpolation) {
  return quantiles(self, share_like(q, self), dim, keepdim, interpolation, false);
}
Tensor nanquantile_uncast(const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                          bool keepdim, const std::string& interpolation) {
  if (q.dtype() == self.dtype()) check_shares(q);
  return quantiles(self, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile_scalar_uncast(const Tensor& self, double q, std::optional<int64_t> dim,
                                 bool keepdim, const std::string& interpolation) {
  return quantiles(self, share_like(q, self), dim, keepdim, interpolation, true);
}

// ---- membership
// --------------------------------------------------------------------------------------------

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  for (const Tensor& t : {elements, test_elements})
    check(!t.is_complex() && t.dtype() != DType::Bool,
          "Unsupported input type encountered for isin(): ", t.is_complex() ? "Complex" : "Bool",
          " (got ", t.dtype(), "; elements need an order)");
  if (test_elements.numel() == 0)
    return full(elements.sizes(), invert, DType::Bool, elements.device());
  DType common = flambeau::result_type(elements, test_elements);
  if (info(common).compute != common) common = info(common).compute;
  NoGrad off;
  Tensor x = contiguous(_to_dtype(elements, common), std::nullopt);
  Tensor sorted = std::get<0>(sort(_to_dtype(reshape(test_elements, Dims{-1}), common), 0, false));
  Tensor at = clamp_max(searchsorted(sorted, x), sorted.numel() - 1);
  Tensor found = take(sorted, at);
  return invert ? ne(found, x) : eq(found, x);
}
Tensor isin_Tensor_Scalar(const Tensor& elements, const Scalar& test_element, bool unique,
                          bool invert) {
  return isin(elements, full(Dims{}, test_element, std::nullopt, elements.device()), unique,
              invert);
}
Tensor isin_Scalar_Tensor(const Scalar& element, const Tensor& test_elements, bool unique,
                          bool invert) {
  return isin(full(Dims{}, element, std::nullopt, test_elements.device()), test_elements, unique,
              invert);
}

// ---- combinations
// ------------------------------------------------------------------------------------------

namespace {

int64_t number_of_choices(int64_t n, int64_t r, bool with_replacement) {
  if (n == 0) return 0;
  const int64_t from = with_replacement ? n + r - 1 : n;
  if (r > from) return 0;
  const int64_t k = std::min(r, from - r);
  double estimate = 1;
  int64_t count = 1;
  for (int64_t i = 1; i <= k; i++) {
    estimate *= double(from - k + i) / double(i);
    check(estimate * double(r) < 0x1p53, "combinations: there are too many choices of ", r,
          " from ", n, " elements to hold them");
    count = count * (from - k + i) / i;
  }
  return count;
}

}  // namespace

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  check(self.dim() == 1, "Expect a 1D vector, but got shape ", self.sizes());
  check(r >= 0, "Expect a non-negative number, but got ", r);
  if (r == 0) return flambeau::empty(Dims{0}, self.dtype(), self.device());
  const int64_t n = self.numel(), count = number_of_choices(n, r, with_replacement);
  Tensor at = flambeau::empty(Dims{count * r}, DType::Int64, self.device());
  if (at.is_meta() || count == 0) return reshape(index_select(self, 0, at), Dims{count, r});
  // places rise along a row (or stay, with replacement); rows are in lexicographic order
  std::vector<int64_t> row(static_cast<size_t>(r));
  const int64_t step = with_replacement ? 0 : 1;
  for (int64_t i = 0; i < r; i++) row[size_t(i)] = i * step;
  for (int64_t* to = at.data<int64_t>();; to += r) {
    std::copy(row.begin(), row.end(), to);
    int64_t i = r - 1;
    while (i >= 0 && row[size_t(i)] == n - 1 - (r - 1 - i) * step) i--;
    if (i < 0) break;
    row[size_t(i)]++;
    for (int64_t k = i + 1; k < r; k++) row[size_t(k)] = row[size_t(k - 1)] + step;
  }
  return reshape(index_select(self, 0, at), Dims{count, r});
}

// ---- renormalisation
// ---------------------------------------------------------------------------------------

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  check(!p.is_complex(), "renorm: p must be real-valued");
  check(p.to_double() > 0, "renorm: non-positive-norm not supported");
  check(!maxnorm.is_complex(), "renorm: maxnorm must be real-valued");
  check(maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
  check(self.dim() > 1, "renorm: input needs at least 2 dimensions, got ", self.dim(),
        " dimensions");
  const int64_t d = wrap_dim(dim, self.dim());
  Dims others;
  for (int64_t i = 0; i < self.dim(); i++)
    if (i != d) others.push_back(i);
  const DType compute = info(self.dtype()).compute;
  const std::optional<DType> wide = compute != self.dtype() ? std::optional(compute) : std::nullopt;
  Tensor norm = linalg_vector_norm(self, p, others, true, wide);
  Tensor factor = where(gt(norm, maxnorm), maxnorm * reciprocal(norm + 1e-7),
                        ones_like(norm, std::nullopt, std::nullopt, std::nullopt));
  return self * _to_dtype(factor, real_dtype(self.dtype()));
}

}  // namespace flambeau::ops
