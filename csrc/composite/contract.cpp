// Contractions: every one becomes a single mm or bmm of reshaped operands.
#include <array>
#include <cctype>

#include "autograd/formulas_linalg.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau {
namespace ops {
namespace {

// Two operands whose dimensions are the same labels in the same order (size 1 where a label is
// absent). Sums over the dimensions in `summed`, which keep size 1.
Tensor contract_pair(Tensor a, Tensor b, const std::vector<bool>& summed) {
  const size_t n = a.sizes().size();
  Dims batch, left, right, sum, one_sided_a, one_sided_b;
  for (size_t d = 0; d < n; d++) {
    const bool in_a = a.sizes()[d] != 1, in_b = b.sizes()[d] != 1;
    if (summed[d]) {
      if (in_a && in_b)
        sum.push_back(int64_t(d));
      else if (in_a)
        one_sided_a.push_back(int64_t(d));
      else if (in_b)
        one_sided_b.push_back(int64_t(d));
    } else if (in_a && in_b) {
      batch.push_back(int64_t(d));
    } else if (in_b) {
      right.push_back(int64_t(d));
    } else {
      left.push_back(int64_t(d));
    }
  }
  if (!one_sided_a.empty()) a = sum_dim(a, one_sided_a, true, std::nullopt);
  if (!one_sided_b.empty()) b = sum_dim(b, one_sided_b, true, std::nullopt);
  if (sum.empty() && batch.empty()) return mul(a, b);
  auto count = [](const Tensor& t, const Dims& dims) {
    int64_t c = 1;
    for (int64_t d : dims) c *= t.sizes()[size_t(d)];
    return c;
  };
  const int64_t nb = count(a, batch), m = count(a, left), k = count(a, sum), cols = count(b, right);
  auto arranged = [&](const Tensor& t, std::initializer_list<const Dims*> order,
                      const Dims& shape) {
    Dims permutation, rest;
    std::vector<bool> seen(n, false);
    for (const Dims* part : order)
      for (int64_t d : *part) {
        permutation.push_back(d);
        seen[size_t(d)] = true;
      }
    for (size_t d = 0; d < n; d++)
      if (!seen[d]) permutation.push_back(int64_t(d));  // of size 1
    return reshape(permute(t, permutation), shape);
  };
  const bool batched = !batch.empty();
  Tensor x = arranged(a, {&batch, &left, &sum}, batched ? Dims{nb, m, k} : Dims{m, k});
  Tensor y = arranged(b, {&batch, &sum, &right}, batched ? Dims{nb, k, cols} : Dims{k, cols});
  Tensor out = batched ? bmm(x, y) : mm(x, y);
  Dims shape, back(n, 0);
  int64_t at = 0;
  for (const Dims* part : {&batch, &left, &right})
    for (int64_t d : *part) {
      shape.push_back((part == &right ? b : a).sizes()[size_t(d)]);
      back[size_t(d)] = at++;
    }
  for (size_t d = 0; d < n; d++)
    if (summed[d]) {
      shape.push_back(1);
      back[d] = at++;
    }
  return permute(reshape(out, shape), back);
}

// ---- einsum
// ---------------------------------------------------------------------------------------------

constexpr int kEllipsis = 256;

// A term as labels: characters, and kEllipsis for "...".
std::vector<int> parse_term(std::string_view text, const char* where) {
  std::vector<int> labels;
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      check(text.substr(i, 3) == "..." && !ellipsis, "einsum(): found '.' for ", where,
            " that is not part of any ellipsis");
      ellipsis = true;
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    check(std::isalpha(static_cast<unsigned char>(c)),
          "einsum(): invalid subscript given at index ", i,
          " in the equation string, subscripts must be in [a-zA-Z], but got '", std::string(1, c),
          "'");
    labels.push_back(c);
  }
  return labels;
}

struct Equation {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};

Equation parse_equation(const std::string& text, size_t operands) {
  Equation e;
  std::string_view all(text);
  const size_t arrow = all.find("->");
  std::string_view left = all.substr(0, arrow);
  std::array<int, 257> uses{};
  for (size_t at = 0; at <= left.size();) {
    const size_t comma = std::min(left.find(',', at), left.size());
    e.inputs.push_back(parse_term(left.substr(at, comma - at), "an operand"));
    for (int label : e.inputs.back()) uses[size_t(label)]++;
    at = comma + 1;
  }
  check(e.inputs.size() == operands, "einsum(): ", e.inputs.size() > operands ? "fewer" : "more",
        " operands were provided than specified in the equation '", text, "': expected ",
        e.inputs.size(), ", got ", operands);
  if (arrow == std::string_view::npos) {
    if (uses[kEllipsis]) e.output.push_back(kEllipsis);
    for (int c = 0; c < kEllipsis; c++)
      if (uses[size_t(c)] == 1) e.output.push_back(c);
    return e;
  }
  e.output = parse_term(all.substr(arrow + 2), "the output");
  std::array<int, 257> seen{};
  for (int label : e.output) {
    const std::string name(1, char(label));
    check(label == kEllipsis || uses[size_t(label)] > 0, "einsum(): output subscript ", name,
          " does not appear in the equation for any input operand");
    check(seen[size_t(label)]++ == 0, "einsum(): output subscript ", name,
          " appears more than once in the output");
  }
  return e;
}

// The positions that labels have in the common order: output labels first, then the summed ones.
struct Positions {
  std::array<int64_t, 256> of_letter;
  int64_t ellipsis = -1, ellipsis_dims = 0, output = 0, total = 0;

  Positions(const Equation& e, const TensorList& operands) {
    of_letter.fill(-1);
    for (size_t i = 0; i < operands.size(); i++) {
      bool has = false;
      for (int label : e.inputs[i]) has |= label == kEllipsis;
      const int64_t rest = operands[i].dim() - int64_t(e.inputs[i].size()) + (has ? 1 : 0);
      check(has ? rest >= 0 : rest == 0, "einsum(): the number of subscripts in the equation (",
            e.inputs[i].size() - (has ? 1 : 0), has ? ") is more than" : ") does not match",
            " the number of dimensions (", operands[i].dim(), ") for operand ", i,
            has ? "" : " and no ellipsis was given");
      if (has) ellipsis_dims = std::max(ellipsis_dims, rest);
    }
    for (int label : e.output) place(label);
    output = total;
    for (auto& term : e.inputs)
      for (int label : term) place(label);
  }

 private:
  void place(int label) {
    int64_t& slot = label == kEllipsis ? ellipsis : of_letter[size_t(label)];
    if (slot >= 0) return;
    slot = total;
    total += label == kEllipsis ? ellipsis_dims : 1;
  }
};

// The operand with one dimension per position; repeated labels become a diagonal.
Tensor aligned(Tensor t, const std::vector<int>& term, const Positions& p) {
  Dims where;  // position of each dimension of t
  for (int label : term) {
    if (label != kEllipsis) {
      where.push_back(p.of_letter[size_t(label)]);
      continue;
    }
    const int64_t own = t.dim() - int64_t(term.size()) + 1;
    for (int64_t d = 0; d < own; d++) where.push_back(p.ellipsis + p.ellipsis_dims - own + d);
  }
  for (size_t i = 0; i < where.size(); i++)
    for (size_t j = i + 1; j < where.size();) {
      if (where[j] != where[i]) {
        j++;
        continue;
      }
      check(t.sizes()[i] == t.sizes()[j],
            "einsum(): subscript is repeated for an operand but the sizes don't match, ",
            t.sizes()[j], " != ", t.sizes()[i]);
      t = movedim(diagonal(t, 0, int64_t(i), int64_t(j)), Dims{-1}, Dims{int64_t(i)});
      where.erase(j);
    }
  Dims order(size_t(p.total), -1), permutation, shape(size_t(p.total), 1);
  for (size_t i = 0; i < where.size(); i++) order[size_t(where[i])] = int64_t(i);
  for (size_t d = 0; d < order.size(); d++)
    if (order[d] >= 0) {
      permutation.push_back(order[d]);
      shape[d] = t.sizes()[size_t(order[d])];
    }
  t = permute(t, permutation);
  for (size_t d = 0; d < order.size(); d++)
    if (order[d] < 0) t = unsqueeze(t, int64_t(d));
  return t;
}

}  // namespace

Tensor _einsum(const std::string& equation, const TensorList& operands) {
  check<ValueError>(!operands.empty(), "einsum(): must provide at least one operand");
  const Equation e = parse_equation(equation, operands.size());
  const Positions p(e, operands);
  TensorList terms;
  for (size_t i = 0; i < operands.size(); i++)
    terms.push_back(aligned(operands[i], e.inputs[i], p));
  Dims sizes(size_t(p.total), 1), last(size_t(p.total), 0);
  for (size_t i = 0; i < terms.size(); i++)
    for (size_t d = 0; d < sizes.size(); d++) {
      const int64_t s = terms[i].sizes()[d];
      if (s == 1) continue;
      check(
          sizes[d] == 1 || sizes[d] == s,
          "einsum(): operands do not broadcast with remapped shapes [original->remapped]: operand ",
          i, " of shape ", operands[i].sizes(), " has size ", s, " for a subscript of size ",
          sizes[d]);
      sizes[d] = s;
      last[d] = int64_t(i);
    }
  auto summed_at = [&](size_t i) {
    std::vector<bool> summed(sizes.size(), false);
    for (size_t d = size_t(p.output); d < sizes.size(); d++) summed[d] = last[d] <= int64_t(i);
    return summed;
  };
  Tensor out = terms[0];
  for (size_t i = 1; i < terms.size(); i++) out = contract_pair(out, terms[i], summed_at(i));
  Dims rest;
  for (int64_t d = p.output; d < p.total; d++) rest.push_back(d);
  if (!rest.empty()) {
    if (terms.size() == 1) return sum_dim(out, rest, false, std::nullopt);
    out = reshape(out, IntSpan(sizes).first(size_t(p.output)));
  }
  return out;
}

Tensor _tensordot(const Tensor& self, const Tensor& other, const Dims& dims_self,
                  const Dims& dims_other) {
  check(dims_self.size() == dims_other.size(), "both dimension lists should have same length, got ",
        dims_self, " and ", dims_other);
  check(self.dtype() == other.dtype(), "both inputs should have same dtype, got ", self.dtype(),
        " and ", other.dtype());
  check<IndexError>(dims_self.empty() || (self.dim() > 0 && other.dim() > 0),
                    "tensordot: Dimension specified as ", dims_self.empty() ? 0 : dims_self[0],
                    " but tensor has no dimensions");
  std::vector<bool> used_a(size_t(self.dim()), false), used_b(size_t(other.dim()), false);
  Tensor a = self, b = other;
  Dims summed_a, summed_b, free_a, free_b, shape;
  for (size_t i = 0; i < dims_self.size(); i++) {
    const auto d = size_t(wrap_dim(dims_self[i], self.dim())),
               q = size_t(wrap_dim(dims_other[i], other.dim()));
    const int64_t n = a.sizes()[d], m = b.sizes()[q];
    check(!used_a[d] && !used_b[q], "tensordot: a dimension appears more than once in ",
          used_a[d] ? dims_self : dims_other);
    used_a[d] = used_b[q] = true;
    // a size of 1 stands for any size
    if (n == 1 && m != 1)
      b = sum_dim(b, Dims{int64_t(q)}, true, std::nullopt);
    else if (m == 1 && n != 1)
      a = sum_dim(a, Dims{int64_t(d)}, true, std::nullopt);
    else
      check(n == m, "contracted dimensions need to match, but first has size ", n, " in dim ",
            dims_self[i], " and second has size ", m, " in dim ", dims_other[i]);
    summed_a.push_back(int64_t(d));
    summed_b.push_back(int64_t(q));
  }
  int64_t rows = 1, cols = 1, k = 1;
  for (size_t d = 0; d < used_a.size(); d++) {
    if (used_a[d]) continue;
    free_a.push_back(int64_t(d));
    shape.push_back(a.sizes()[d]);
    rows *= a.sizes()[d];
  }
  for (size_t d = 0; d < used_b.size(); d++) {
    if (used_b[d]) continue;
    free_b.push_back(int64_t(d));
    shape.push_back(b.sizes()[d]);
    cols *= b.sizes()[d];
  }
  for (int64_t d : summed_a) k *= a.sizes()[size_t(d)];
  for (int64_t d : summed_a) free_a.push_back(d);
  for (int64_t d : free_b) summed_b.push_back(d);
  Tensor x = permute(a, free_a), y = permute(b, summed_b);
  if (rows == 1 && cols == 1) return reshape(dot(reshape(x, Dims{k}), reshape(y, Dims{k})), shape);
  return reshape(mm(reshape(x, Dims{rows, k}), reshape(y, Dims{k, cols})), shape);
}

Tensor linalg_multi_dot(const TensorList& tensors) {
  const size_t n = tensors.size();
  check(n >= 2, "multi_dot(): expected at least 2 tensors but got ", n);
  TensorList m = tensors;
  for (size_t i = 0; i < n; i++) {
    const bool end = i == 0 || i + 1 == n;
    check(m[i].dim() == 2 || (end && m[i].dim() == 1), "multi_dot(): expected tensor ", i,
          " to be ", end ? "1D or 2D" : "2D", " but got ", m[i].dim(), "D");
    check(m[i].dtype() == m[0].dtype(),
          "multi_dot(): expected all tensors to have the same dtype but tensor 0 is ", m[0].dtype(),
          " and tensor ", i, " ", m[i].dtype());
  }
  const bool row = m[0].dim() == 1, column = m[n - 1].dim() == 1;
  if (row) m[0] = unsqueeze(m[0], 0);
  if (column) m[n - 1] = unsqueeze(m[n - 1], 1);
  Dims size{m[0].sizes()[0]};
  for (size_t i = 0; i < n; i++) {
    check(m[i].sizes()[0] == size.back() || i == 0, "multi_dot(): tensors ", i - (i > 0), " and ",
          i, " with shapes ", tensors[i - (i > 0)].sizes(), " and ", tensors[i].sizes(),
          " cannot be multiplied");
    size.push_back(m[i].sizes()[1]);
  }
  // the classic table: cost of the product of matrices i..j and where to cut it
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> cut(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; length++)
    for (size_t i = 0; i + length < n; i++) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; k++) {
        const double c = cost[i][k] + cost[k + 1][j] +
                         double(size[i]) * double(size[k + 1]) * double(size[j + 1]);
        if (c < cost[i][j]) {
          cost[i][j] = c;
          cut[i][j] = k;
        }
      }
    }
  auto multiply = [&](auto& self, size_t i, size_t j) -> Tensor {
    if (i == j) return m[i];
    return mm(self(self, i, cut[i][j]), self(self, cut[i][j] + 1, j));
  };
  Tensor out = multiply(multiply, 0, n - 1);
  if (column) out = squeeze_dim(out, 1);
  return row ? squeeze_dim(out, 0) : out;
}

// ---- vectors
// --------------------------------------------------------------------------------------------

Tensor kron(const Tensor& self, const Tensor& other) {
  const size_t n = size_t(std::max(self.dim(), other.dim()));
  Dims a, b, shape;
  for (size_t d = 0; d < n; d++) {
    const size_t skip_a = n - self.sizes().size(), skip_b = n - other.sizes().size();
    const int64_t s = d < skip_a ? 1 : self.sizes()[d - skip_a],
                  t = d < skip_b ? 1 : other.sizes()[d - skip_b];
    for (int64_t v : {s, int64_t(1)}) a.push_back(v);
    for (int64_t v : {int64_t(1), t}) b.push_back(v);
    shape.push_back(s * t);
  }
  return reshape(mul(reshape(self, a), reshape(other, b)), shape);
}

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  check(self.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions.",
        " Got ", self.dim(), " and ", other.dim());
  const int64_t d = wrap_dim(dim, self.dim());
  check(self.dim() > 0, "linalg.cross: inputs must have at least one dimension");
  check(self.size(d) == 3 && other.size(d) == 3, "linalg.cross: inputs dimension ", dim,
        " must have length 3. Got ", self.size(d), " and ", other.size(d));
  const Dims sizes = broadcast_shapes(self.sizes(), other.sizes()), at{d};
  Tensor a = expand(self, sizes, false), b = expand(other, sizes, false);
  auto turned = [&](const Tensor& t, int64_t by) { return roll(t, Dims{-by}, at); };
  return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1);
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  if (dim) return linalg_cross(self, other, *dim);
  for (int64_t d = 0; d < self.dim(); d++)
    if (self.sizes()[size_t(d)] == 3) return linalg_cross(self, other, d);
  fail<Error>("no dimension of size 3 in input (cross), got shape ", self.sizes());
}

Tensor linalg_vecdot_uncast(const Tensor& x, const Tensor& y, int64_t dim) {
  return sum_dim(mul(conj(x), y), Dims{dim}, false, std::nullopt);
}

Tensor trace_uncast(const Tensor& self) {
  check(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  return sum(diagonal(self, 0, 0, 1), std::nullopt);
}

Tensor cdist_uncast(const Tensor& x1, const Tensor& x2, double p,
                    std::optional<int64_t> compute_mode) {
  check(x1.is_floating(), "cdist only supports floating-point dtypes, X1 got: ", x1.dtype());
  check(x2.is_floating(), "cdist only supports floating-point dtypes, X2 got: ", x2.dtype());
  check(p >= 0, "cdist only supports non-negative p values, got ", p);
  check(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  check(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  check(x1.size(-1) == x2.size(-1),
        "X1 and X2 must have the same number of columns. X1: ", x1.size(-1), " X2: ", x2.size(-1));
  const int64_t mode = compute_mode.value_or(0), rows = x1.size(-2), cols = x2.size(-2);
  check(mode >= 0 && mode <= 2,
        "possible modes: 0 (use matmul where it pays), 1 (always) and 2 (never), but was: ", mode);
  if (p == 2 && (mode == 1 || (mode == 0 && (rows > 25 || cols > 25)))) {
    Dims batch = broadcast_shapes(IntSpan(x1.sizes()).first(size_t(x1.dim() - 2)),
                                  IntSpan(x2.sizes()).first(size_t(x2.dim() - 2)));
    auto spread = [&](const Tensor& t) {
      Dims full = batch;
      full.push_back(t.size(-2));
      full.push_back(t.size(-1));
      return expand(t, full, false);
    };
    return _euclidean_dist(spread(x1), spread(x2));
  }
  return _vector_norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p, Dims{-1}, false);
}

}  // namespace ops

namespace kernels {

// |a|² + |b|² - 2 ab in double precision, where the cancellation of near points costs float32
// inputs nothing.
Tensor _euclidean_dist(const Tensor& x1, const Tensor& x2) {
  bool fits = x1.dim() >= 2 && x1.dim() == x2.dim() && x1.sizes().back() == x2.sizes().back();
  for (int64_t d = 0; fits && d < x1.dim() - 2; d++)
    fits = x1.sizes()[size_t(d)] == x2.sizes()[size_t(d)];
  check(fits && x1.is_floating() && x2.is_floating(),
        "cdist: expected floating-point batches of points of one size, but got shapes ", x1.sizes(),
        " and ", x2.sizes(), " of ", x1.dtype(), " and ", x2.dtype());
  Dims sizes = x1.sizes();
  sizes.back() = x2.size(-2);
  if (x1.is_meta()) return flambeau::empty(sizes, x1.dtype(), x1.device());
  const int64_t k = x1.size(-1), m = x1.size(-2), n = x2.size(-2),
                lead = product(IntSpan(sizes).first(sizes.size() - 2));
  Tensor a = contiguous_of(cast_of(x1, DType::Float64)),
         b = contiguous_of(cast_of(x2, DType::Float64));
  a = alias(a, Dims{lead, m, k}, Dims{m * k, k, 1}, a.offset());
  b = alias(b, Dims{lead, k, n}, Dims{n * k, 1, k}, b.offset());
  Tensor out = bmm(a, b);
  auto squares = [&](const Tensor& t, int64_t rows) {
    std::vector<double> s(size_t(lead * rows), 0);
    const double* v = t.data<double>();
    for (int64_t i = 0; i < lead * rows; i++)
      for (int64_t j = 0; j < k; j++) s[size_t(i)] += v[i * k + j] * v[i * k + j];
    return s;
  };
  const auto sa = squares(a, m), sb = squares(b, n);
  double* d = out.data<double>();
  for (int64_t i = 0; i < lead * m; i++)
    for (int64_t j = 0; j < n; j++, d++) {
      const double sum = sa[size_t(i)] + sb[size_t(i / m * n + j)], square = sum - 2 * *d;
      // below the rounding error of the sum the points are the same; NaN passes through
      *d = square <= sum * 0x1p-50 ? 0 : std::sqrt(square);
    }
  return cast_of(alias(out, sizes, contiguous_strides(sizes), 0), x1.dtype());
}

}  // namespace kernels

namespace formulas {
using namespace ops;

Tensor euclidean_grad(const Tensor& grad, const Tensor& x1, const Tensor& x2,
                      const Tensor& distance) {
  Tensor zero = eq(distance, Operand(Scalar(0)));
  Tensor ratio = masked_fill(grad / masked_fill(distance, zero, Scalar(1)), zero, Scalar(0));
  return x1 * sum_dim(ratio, Dims{-1}, true, std::nullopt) - matmul(ratio, x2);
}

}  // namespace formulas
}  // namespace flambeau
