// Gather and scatter kernels. Every index is checked before anything is written.
#include <algorithm>
#include <cstring>

#include "dispatch/promotion.h"
#include "kernels/checks.h"
#include "kernels/index.h"
#include "kernels/number.h"
#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
Tensor as_positions(const Tensor& index, const char* op) {
  check<IndexError>(index.dtype() == DType::Int64 || index.dtype() == DType::Int32 ||
                        index.dtype() == DType::Int16 || index.dtype() == DType::Int8 ||
                        index.dtype() == DType::UInt8,
                    op, "(): Expected dtype int32/int64 for index, got ", index.dtype());
  return cast_of(contiguous_of(index), DType::Int64);
}

namespace {

constexpr int64_t kGrain = 1 << 14;

template <class F>
void by_dtype(DType t, F&& f) {
  visit(t, f);
}

void check_index_1d(const Tensor& self, int64_t dim, const Tensor& index, const char* op) {
  check<IndexError>(index.dim() <= 1, op,
                    "(): Index is supposed to be a vector, but got dim: ", index.dim());
  check(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
        "(): Expected dtype int32 or int64 for index, got ", index.dtype());
  wrap_dim(dim, self.dim());
}

}  // namespace

// ---- advanced indexing
// ----------------------------------------------------------------------------------

namespace {

struct IndexPlan {
  Tensor source;                // self with the indexed dimensions first
  std::vector<Tensor> indices;  // int64, broadcast together, contiguous
  Dims index_shape, rest, result;
  std::vector<Tensor> given;  // the indices as they lie, broadcast
  int64_t first = 0;          // where the index dimensions stand in the result
  bool leading = true;
};

std::vector<OptTensor> expand_masks(const Tensor& self, const std::vector<OptTensor>& indices) {
  std::vector<OptTensor> out;
  int64_t dim = 0;
  for (auto& index : indices) {
    if (!index) {
      out.push_back(std::nullopt);
      dim++;
      continue;
    }
    const Tensor& t = *index;
    if (t.dtype() == DType::Bool || t.dtype() == DType::UInt8) {
      for (int64_t d = 0; d < t.dim(); d++)
        if (dim + d >= self.dim() || t.sizes()[size_t(d)] != self.sizes()[size_t(dim + d)])
          fail<IndexError>("The shape of the mask ", t.sizes(), " at index ", d,
                           " does not match the shape of the indexed tensor ", self.sizes(),
                           " at index ", dim + d);
      Tensor at = nonzero(t);
      for (int64_t d = 0; d < t.dim(); d++) out.push_back(contiguous_of(select(at, 1, d)));
      dim += t.dim();
    } else {
      check<IndexError>(is_integral(t.dtype()),
                        "tensors used as indices must be long, int, byte or bool tensors");
      out.push_back(t);
      dim++;
    }
  }
  check<IndexError>(int64_t(out.size()) <= self.dim(), "too many indices for tensor of dimension ",
                    self.dim(), " (got ", out.size(), ")");
  return out;
}

IndexPlan plan_index(const Tensor& self, const std::vector<OptTensor>& raw) {
  IndexPlan plan;
  std::vector<OptTensor> indices = expand_masks(self, raw);
  Dims shape;
  bool any = false;
  for (auto& i : indices)
    if (i) {
      // cpu indices serve tensors of any device
      check(!i->is_meta() || self.is_meta(),
            "index: Expected all tensors to be on the same device, but the indices are on meta and "
            "the "
            "indexed tensor is on ",
            self.device());
      if (any) {
        bool fits = true;
        try {
          shape = broadcast_shapes(shape, i->sizes());
        } catch (const Error&) {
          fits = false;
        }
        check<IndexError>(
            fits, "shape mismatch: indexing tensors could not be broadcast together with shapes ",
            shape, ", ", i->sizes());
      } else {
        shape = i->sizes();
      }
      any = true;
    }
  plan.index_shape = shape;
  Dims order, rest;
  int64_t first = -1, last = -1;
  for (int64_t d = 0; d < self.dim(); d++) {
    if (d < int64_t(indices.size()) && indices[size_t(d)]) {
      order.push_back(d);
      if (first < 0) first = d;
      last = d;
    } else {
      rest.push_back(d);
    }
  }
  bool adjacent = last - first + 1 == int64_t(order.size());
  plan.first = adjacent ? std::max<int64_t>(first, 0) : 0;
  for (int64_t d : order) {
    Tensor t = cast_of(*indices[size_t(d)], DType::Int64);
    t = expand(t, shape, false);
    plan.given.push_back(t);
    t = contiguous_of(t);
    if (t.is_same(*indices[size_t(d)])) t = clone(t, std::nullopt);
    if (!t.is_meta()) {
      int64_t n = self.sizes()[size_t(d)], *p = t.data<int64_t>();
      for (int64_t i = 0; i < t.numel(); i++) {
        if (p[i] < -n || p[i] >= n)
          fail<IndexError>("index ", p[i], " is out of bounds for dimension ", d, " with size ", n);
        if (p[i] < 0) p[i] += n;
      }
    }
    plan.indices.push_back(t);
  }
  Dims permutation = order;
  for (int64_t d : rest) {
    permutation.push_back(d);
    plan.rest.push_back(self.sizes()[size_t(d)]);
  }
  plan.source = permute(self, permutation);
  return plan;
}

// Element offset of each index row in the source.
Tensor row_offsets(const IndexPlan& plan) {
  int64_t n = product(plan.index_shape);
  Tensor out = flambeau::empty(Dims{n}, DType::Int64);
  int64_t* o = out.data<int64_t>();
  std::fill(o, o + n, 0);
  for (size_t k = 0; k < plan.indices.size(); k++) {
    const int64_t* p = plan.indices[k].data<int64_t>();
    int64_t step = plan.source.strides()[k];
    for (int64_t i = 0; i < n; i++) o[i] += p[i] * step;
  }
  return out;
}

Tensor rest_view(const IndexPlan& plan, int64_t offset) {
  size_t k = plan.indices.size();
  Dims strides(IntSpan(plan.source.strides()).subspan(k));
  return flambeau::alias(plan.source, plan.rest, strides, plan.source.offset() + offset);
}

// The dimensions of the index stand where the first of them was.
Dims result_sizes(const IndexPlan& plan) {
  Dims sizes = plan.index_shape;
  for (size_t d = 0; d < plan.rest.size(); d++) {
    if (int64_t(d) < plan.first)
      sizes.insert(d, plan.rest[d]);
    else
      sizes.push_back(plan.rest[d]);
  }
  return sizes;
}
// Strides of the result: its dimensions lie in the order of those of self and then of the indices,
// where each of them moves in both dimensions compared; without such a hint they keep their order.
Dims result_strides(const IndexPlan& plan, const Dims& sizes) {
  const size_t n = sizes.size(), k = plan.index_shape.size(), first = size_t(plan.first),
               many = plan.indices.size();
  if (n == 1) return Dims{1};
  std::vector<Dims> operands{Dims(n, 0)};
  operands.reserve(1 + many);
  for (size_t d = 0; d < plan.rest.size(); d++)
    operands[0][d < first ? d : d + k] = plan.source.strides()[many + d];
  Dims shape(n, 1);  // of the indices beside the other dimensions
  for (size_t d = 0; d < k; d++) shape[first + d] = plan.index_shape[d];
  for (const Tensor& t : plan.given) {
    Dims strides =
        t.is_contiguous() ? contiguous_strides(shape) : Dims(ops::reshape(t, shape).strides());
    for (size_t d = 0; d < n; d++)
      if (shape[d] == 1 && sizes[d] != 1) strides[d] = 0;
    operands.push_back(strides);
  }
  auto compare = [&](int64_t a, int64_t b) {
    for (const Dims& s : operands) {
      const int64_t x = s[size_t(a)], y = s[size_t(b)];
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (sizes[size_t(a)] > sizes[size_t(b)]) return 1;
    }
    return 0;
  };
  // dimensions from the innermost outwards; comparisons are partial, so how they are inserted
  // counts
  Dims order;
  for (size_t d = n; d-- > 0;) order.push_back(int64_t(d));
  for (size_t i = 1; i < n; i++)
    for (size_t at = i, j = i; j-- > 0;) {
      const int way = compare(order[j], order[at]);
      if (way < 0) break;
      if (way == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  Dims strides(n, 1);
  int64_t step = 1;
  for (int64_t d : order) {
    strides[size_t(d)] = step;
    step *= sizes[size_t(d)];
  }
  return strides;
}
// A tensor of the result's shape, with the index dimensions first.
Tensor unplace(const IndexPlan& plan, const Tensor& t) {
  if (plan.first == 0) return t;
  int64_t k = int64_t(plan.index_shape.size());
  Dims order;
  for (int64_t d = 0; d < k; d++) order.push_back(plan.first + d);
  for (int64_t d = 0; d < t.dim(); d++)
    if (d < plan.first || d >= plan.first + k) order.push_back(d);
  return permute(t, order);
}

}  // namespace

Tensor index(const Tensor& self, const std::vector<OptTensor>& indices) {
  IndexPlan plan = plan_index(self, indices);
  // dimensions before those of the indices, these, and dimensions behind them
  const IntSpan before = IntSpan(plan.rest).first(size_t(plan.first)),
                behind = IntSpan(plan.rest).subspan(size_t(plan.first));
  const Dims sizes = result_sizes(plan), placed = result_strides(plan, sizes);
  Tensor out = flambeau::empty_strided(sizes, placed, self.dtype(), self.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  Tensor offsets = row_offsets(plan);
  const int64_t* at = offsets.data<int64_t>();
  const IntSpan strides = IntSpan(plan.source.strides()).subspan(plan.indices.size());
  auto all_offsets = [](IntSpan of, IntSpan steps) {
    std::vector<int64_t> all{0};
    for (size_t d = 0; d < of.size(); d++) {
      std::vector<int64_t> next;
      next.reserve(all.size() * size_t(of[d]));
      for (int64_t o : all)
        for (int64_t i = 0; i < of[d]; i++) next.push_back(o + i * steps[d]);
      all = std::move(next);
    }
    return all;
  };
  const IntSpan to_strides(placed);
  const size_t k = plan.index_shape.size();
  const std::vector<int64_t> outer = all_offsets(before, strides.first(before.size()));
  const int64_t n = offsets.numel(), row = product(behind), w = self.itemsize(),
                rows = n * int64_t(outer.size());
  const IntSpan to_row = to_strides.subspan(before.size() + k);
  // where rows go; in a contiguous result one after the other
  const bool dense = out.is_contiguous();
  const std::vector<int64_t> to_outer =
      dense ? outer : all_offsets(before, to_strides.first(before.size()));
  const std::vector<int64_t> to_index =
      dense ? std::vector<int64_t>()
            : all_offsets(plan.index_shape, to_strides.subspan(before.size(), k));
  auto target = [&](int64_t j) {
    return dense ? j * row : to_outer[size_t(j / n)] + to_index[size_t(j % n)];
  };
  auto target_row = [&](int64_t j) { return flambeau::alias(out, behind, to_row, target(j)); };
  const IntSpan row_strides = strides.subspan(before.size());
  auto source_row = [&](int64_t offset) {
    return flambeau::alias(plan.source, behind, row_strides, plan.source.offset() + offset);
  };
  char* to = out.bytes();
  const char* from = plan.source.bytes();
  LongWork work(out.numel() > (1 << 18));
  if (!source_row(0).is_contiguous() || !target_row(0).is_contiguous()) {
    for (int64_t j = 0; j < rows; j++)
      copy_kernel(target_row(j), source_row(outer[size_t(j / n)] + at[j % n]));
    return out;
  }
  visit_width(w, [&](auto tag) {
    using E = typename decltype(tag)::type;
    parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(row, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t u = begin / n; u * n < end; u++) {
                     const int64_t base = outer[size_t(u)];
                     for (int64_t j = std::max(begin, u * n); j < std::min(end, (u + 1) * n); j++) {
                       const int64_t offset = base + at[j - u * n];
                       if (row == 1)
                         reinterpret_cast<E*>(to)[dense ? j : target(j)] =
                             reinterpret_cast<const E*>(from)[offset];
                       else
                         std::memcpy(to + target(j) * w, from + offset * w, size_t(row * w));
                     }
                   }
                 });
  });
  return out;
}

Tensor index_put_(const Tensor& self, const std::vector<OptTensor>& indices, const Tensor& values,
                  bool accumulate) {
  check(self.dtype() == values.dtype(),
        "Index put requires the source and destination dtypes match, got ", self.dtype(),
        " for the destination and ", values.dtype(), " for the source.");
  check(self.is_meta() || !values.is_meta(),
        "index_put_: Expected all tensors to be on the same device, but got self on ",
        self.device(), " and values on meta");
  check_overlap("index_put_", self, self);
  IndexPlan plan = plan_index(self, indices);
  const Dims sizes = result_sizes(plan);
  bool fits = true;
  try {
    fits = equal(broadcast_shapes(values.sizes(), sizes), sizes);
  } catch (const Error&) {
    fits = false;
  }
  check(fits, "shape mismatch: value tensor of shape ", values.sizes(),
        " cannot be broadcast to indexing result of shape ", sizes);
  if (self.is_meta() || product(sizes) == 0) return self;
  Tensor source = contiguous_of(unplace(plan, expand(values, sizes, false)));
  if (source.storage() == self.storage()) source = clone(source, std::nullopt);
  Tensor offsets = row_offsets(plan);
  const int64_t* at = offsets.data<int64_t>();
  int64_t n = offsets.numel(), row = product(plan.rest);
  by_dtype(self.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    E* to = plan.source.template data<E>();
    const E* from = source.template data<E>();
    Tensor sample = rest_view(plan, 0);
    if (sample.is_contiguous()) {
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < row; j++) {
          E& target = to[at[i] + j];
          target = accumulate ? E(target + from[i * row + j]) : from[i * row + j];
        }
    } else {
      for (int64_t i = 0; i < n; i++) {
        Tensor part = rest_view(plan, at[i]);
        Tensor value = flambeau::alias(source, plan.rest, contiguous_strides(plan.rest),
                                       source.offset() + i * row);
        if (accumulate) {
          Tensor sum = contiguous_of(part);
          if (sum.is_same(part)) sum = clone(part, std::nullopt);
          E* s = sum.template data<E>();
          const E* v = value.template data<E>();
          for (int64_t j = 0; j < row; j++) s[j] = E(s[j] + v[j]);
          value = sum;
        }
        copy_kernel(part, value);
      }
    }
  });
  return self;
}

// ---- along one dimension
// -----------------------------------------------------------------------------------

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  check_index_1d(self, dim, index, "index_select");
  int64_t d = wrap_dim(dim, self.dim());
  check(self.dim() > 0 || index.numel() == 1,
        "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  Dims sizes = self.sizes();
  if (self.dim()) sizes[size_t(d)] = index.numel();
  Tensor out = flambeau::empty(sizes, self.dtype(), self.device());
  if (out.is_meta()) return out;
  Tensor at = as_positions(index, "index_select"), source = contiguous_of(self);
  check_positions(at, self.dim() ? self.sizes()[size_t(d)] : 1, "index_select", false);
  if (out.numel() == 0) return out;
  Around s(self.sizes(), d);
  const int64_t* p = at.data<int64_t>();
  int64_t n = at.numel(), w = self.itemsize(), run = s.inner * w;
  LongWork work(out.numel() > (1 << 18));
  visit_width(w, [&](auto tag) {
    using E = typename decltype(tag)::type;
    const E* from = reinterpret_cast<const E*>(source.bytes());
    E* to = reinterpret_cast<E*>(out.bytes());
    parallel_for(s.outer * n, std::max<int64_t>(1, kGrain / s.inner),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t o = begin / n; o * n < end; o++) {
                     const int64_t base = o * s.n, stop = std::min(end, (o + 1) * n);
                     for (int64_t k = std::max(begin, o * n); k < stop; k++) {
                       const int64_t row = base + p[k - o * n];
                       if (run == w)
                         to[k] = from[row];
                       else
                         std::memcpy(to + k * s.inner, from + row * s.inner, size_t(run));
                     }
                   }
                 });
  });
  return out;
}

namespace {
// Changes entries of a dimension; the kernels below change `self`.
template <class F>
void along_dim(const char* op, const Tensor& self, int64_t dim, const Tensor& index,
               const Tensor* source, F&& f) {
  check_index_1d(self, dim, index, op);
  int64_t d = wrap_dim(dim, self.dim());
  if (source) {
    check(self.dtype() == source->dtype(), op, "(): self (", self.dtype(), ") and source (",
          source->dtype(), ") must have the same dtype");
    if (source->dim() > 0 && self.dim() > 0) {
      check(source->dim() == self.dim(), op,
            "(): source and destination must have the same number of dimensions, got ",
            source->dim(), " and ", self.dim());
      for (int64_t k = 0; k < self.dim(); k++)
        check(k == d || source->sizes()[size_t(k)] == self.sizes()[size_t(k)], op,
              "(): source shape ", source->sizes(), " and self shape ", self.sizes(),
              " must agree except in dimension ", d);
      check(index.numel() == source->sizes()[size_t(d)], op, "(): Number of indices (",
            index.numel(), ") should be equal to source.size(dim): (", source->sizes()[size_t(d)],
            ")");
    } else {
      check<IndexError>(index.numel() == (source->dim() ? source->numel() : 1), op,
                        "(): When source is scalar, index should have one element (got ",
                        index.numel(), ")");
    }
  }
  if (self.is_meta()) return;
  Tensor at = as_positions(index, op);
  // filling counts from the end, too
  check_positions(at, self.dim() ? self.sizes()[size_t(d)] : 1, op, source == nullptr);
  Tensor out = contiguous_of(self);
  Tensor from = source ? contiguous_of(*source) : Tensor();
  Around s(self.sizes(), d);
  int64_t *p = at.data<int64_t>(), n = at.numel();
  by_dtype(self.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    E* to = out.template data<E>();
    const E* v = source ? from.template data<E>() : nullptr;
    const auto change = f(E());
    auto each = [&](int64_t inner) __attribute__((always_inline)) {
      for (int64_t o = 0; o < s.outer; o++)
        for (int64_t i = 0; i < n; i++) {
          const int64_t j = p[i] < 0 ? p[i] + s.n : p[i];
          change(to + (o * s.n + j) * inner, v ? v + (o * n + i) * inner : v, inner);
        }
    };
    if (s.inner == 1)
      each(1);  // one addition each, not a loop
    else
      each(s.inner);
  });
  if (!out.is_same(self)) copy_kernel(self, out);
}
}  // namespace

void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                const Scalar& alpha) {
  check(self.dim() > 0 || source.numel() == 1, "index_add(): source of shape ", source.sizes(),
        " does not fit self, which has no dimension");
  along_dim("index_add", self, dim, index, &source, [&]<class E>(E) {
    return [a = alpha.to<E>()](E* to, const E* from, int64_t n) {
      for (int64_t k = 0; k < n; k++) to[k] = E(to[k] + E(a * from[k]));
    };
  });
}
void index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  along_dim("index_copy", self, dim, index, &source, [&]<class E>(E) {
    return [](E* to, const E* from, int64_t n) { std::copy(from, from + n, to); };
  });
}
void index_fill_(const Tensor& self, int64_t dim, const Tensor& index, const Operand& value) {
  if (value.is_tensor())
    check(value.tensor().dim() == 0,
          "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
          value.tensor().dim(), " dimension(s).");
  if (self.is_meta()) return;
  Scalar s = value.is_tensor() ? ops::item(value.tensor()) : value.scalar();
  check(!s.is_complex() || self.is_complex(),
        "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  check_fits(s, self.dtype());
  along_dim("index_fill", self, dim, index, nullptr, [&]<class E>(E) {
    return [v = s.to<E>()](E* to, const E*, int64_t n) { std::fill(to, to + n, v); };
  });
}

// ---- gather and scatter
// --------------------------------------------------------------------------------------

void check_gather_shapes(const char* op, const Tensor& self, int64_t d, const Tensor& index,
                         const Tensor* src) {
  check(is_integral(index.dtype()), op, "(): Expected dtype int32/int64 for index, got ",
        index.dtype());
  if (index.numel() == 0) return;
  int64_t n = std::max<int64_t>(self.dim(), 1);
  check(std::max<int64_t>(index.dim(), 1) == n,
        "Index tensor must have the same number of dimensions as self tensor (", op,
        "): ", index.dim(), " and ", self.dim());
  for (int64_t k = 0; k < index.dim() && k < self.dim(); k++) {
    if (k == d) continue;
    check(index.sizes()[size_t(k)] <= self.sizes()[size_t(k)], "Expected index ", index.sizes(),
          " to be no larger than self ", self.sizes(), " apart from dimension ", d);
  }
  if (src) {
    check(std::max<int64_t>(src->dim(), 1) == n,
          "Index tensor must have the same number of dimensions as src tensor");
    for (int64_t k = 0; k < index.dim() && k < src->dim(); k++)
      check(index.sizes()[size_t(k)] <= src->sizes()[size_t(k)], "Expected index ", index.sizes(),
            " to be no larger than src ", src->sizes());
  }
}

namespace {

template <class F>
void scatter_with(const char* op, const Tensor& self, int64_t dim, const Tensor& index,
                  const Tensor* src, F&& f) {
  int64_t d = wrap_dim(dim, self.dim());
  check_gather_shapes(op, self, d, index, src);
  if (src)
    check(self.dtype() == src->dtype(), op,
          "(): Expected self.dtype to be equal to src.dtype, got ", self.dtype(), " and ",
          src->dtype());
  if (self.is_meta() || index.numel() == 0) return;
  Tensor at = at_least_1d(as_positions(index, op)), to = at_least_1d(self);
  check_positions<Error>(at, to.sizes()[size_t(d)], op, false);
  Tensor from = src ? at_least_1d(*src) : Tensor();
  by_dtype(self.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    E* base = to.template data<E>();
    const E* values = src ? from.template data<E>() : nullptr;
    auto put = [&](auto step, auto value) {
      walk(at, 0, row_count(at), to.strides(), src ? IntSpan(from.strides()) : IntSpan(), d,
           [=, &f](int64_t a, int64_t b, int64_t, int64_t i) { f(base[a + i * step], value(b)); });
    };
    const int64_t step = to.strides()[size_t(d)];
    const auto value = [=](int64_t b) { return values[b]; };
    if (!src)
      put(step, [](int64_t) { return E(); });
    else if (step == 1)
      put(std::integral_constant<int64_t, 1>(), value);  // nothing to multiply
    else
      put(step, value);
  });
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  int64_t d = wrap_dim(dim, self.dim());
  check_gather_shapes("gather", self, d, index, nullptr);
  Tensor out = flambeau::empty(index.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor at = at_least_1d(as_positions(index, "gather")), from = at_least_1d(self);
  check_positions<Error>(at, from.sizes()[size_t(d)], "gather", false);
  visit_width(self.itemsize(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    const E* base = reinterpret_cast<const E*>(from.bytes());
    E* to = reinterpret_cast<E*>(out.bytes());
    int64_t step = from.strides()[size_t(d)];
    parallel_for(
        row_count(at), std::max<int64_t>(1, 16384 / at.sizes().back()),
        [&](int64_t begin, int64_t end) {
          walk(at, begin, end, from.strides(), IntSpan(), d,
               [&](int64_t a, int64_t, int64_t k, int64_t i) { to[k] = base[a + i * step]; });
        });
  });
  return out;
}

void scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_with("scatter", self, dim, index, &src, [](auto& to, auto v) { to = v; });
}
void scatter_value_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  check_fits(value, self.dtype());
  scatter_with("scatter", self, dim, index, nullptr,
               [&](auto& to, auto v) { to = value.to<decltype(v)>(); });
}
// Many numbers into few places: each piece of them has places of its own, and these are added up in
// the order of the pieces. What the pieces are follows from the sizes alone.
bool scatter_add_in_pieces(const Tensor& self, int64_t dim, const Tensor& index,
                           const Tensor& src) {
  wrap_dim(dim, self.dim());
  const int64_t n = index.numel(), places = self.numel(), pieces = std::min<int64_t>(n >> 16, 8);
  if (self.dim() != 1 || index.dim() != 1 || pieces < 2 || places > n / 32 || self.is_meta() ||
      src.dim() != 1 || src.dtype() != self.dtype() || !is_integral(index.dtype()) ||
      src.numel() < n || src.strides()[0] != 1 || !self.is_floating() || !self.is_contiguous())
    return false;
  const Tensor at = contiguous_of(as_positions(index, "scatter_add"));
  std::atomic<bool> good = true;
  visit(self.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<E>) {
      const auto* i = at.data<int64_t>();
      const E* from = src.data<E>();
      std::vector<E> sums(size_t(pieces * places), E(0));
      const int64_t step = (n + pieces - 1) / pieces;
      parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; p++) {
          E* to = sums.data() + p * places;
          // positions are checked while they are in the cache for their use
          for (int64_t k = p * step, stop = std::min(n, k + step); k < stop;) {
            const int64_t end_of_block = std::min(stop, k + 1024);
            if (!all_between(i + k, end_of_block - k, 0, places)) {
              good = false;
              break;
            }
            for (; k < end_of_block; k++) to[i[k]] += from[k];
          }
        }
      });
      if (!good) check_positions<Error>(at, places, "scatter_add", false);
      E* to = self.data<E>();
      for (int64_t k = 0; k < places; k++)
        for (int64_t p = 0; p < pieces; p++) to[k] += sums[size_t(p * places + k)];
    }
  });
  return true;
}

void scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (self.dtype() == DType::Float32 || self.dtype() == DType::Float64)
    if (scatter_add_in_pieces(self, dim, index, src)) return;
  scatter_with("scatter_add", self, dim, index, &src,
               [](auto& to, auto v) { to = decltype(v)(to + v); });
}
void scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                     const std::string& reduce) {
  check(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply.");
  bool add = reduce == "add";
  scatter_with("scatter", self, dim, index, &src,
               [add](auto& to, auto v) { to = add ? decltype(v)(to + v) : decltype(v)(to * v); });
}
void scatter_value_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                           const Scalar& value, const std::string& reduce) {
  check(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply.");
  bool add = reduce == "add";
  scatter_with("scatter", self, dim, index, nullptr, [&](auto& to, auto v) {
    using E = decltype(v);
    to = add ? E(to + value.to<E>()) : E(to * value.to<E>());
  });
}

// ---- masks
// -----------------------------------------------------------------------------------------------------

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check(mask.dtype() == DType::Bool,
        "masked_scatter_ only supports boolean masks, but got mask with dtype ", mask.dtype());
  check(self.dtype() == source.dtype(),
        "masked_scatter: expected self and source to have same dtypes but got ", self.dtype(),
        " and ", source.dtype());
  Dims sizes = broadcast_shapes(self.sizes(), mask.sizes());
  Tensor out = flambeau::empty(sizes, self.dtype(), self.device());
  if (out.is_meta()) return out;
  copy_kernel(out, expand(self, sizes, false));
  Tensor m = contiguous_of(expand(mask, sizes, false)), from = contiguous_of(source);
  const uint8_t* flags = m.truth();
  int64_t k = 0, n = out.numel(), w = out.itemsize();
  for (int64_t i = 0; i < n; i++)
    if (flags[i]) {
      check(k < from.numel(), "masked_scatter: Number of elements of source (", from.numel(),
            ") < number of ones in mask");
      std::memcpy(out.bytes() + i * w, from.bytes() + k++ * w, size_t(w));
    }
  return out;
}

Tensor nonzero(const Tensor& self) {
  check<NotImplementedError>(
      !self.is_meta(),
      "nonzero: the shape of the result depends on data, which meta tensors do not have");
  Tensor flags = contiguous_of(cast_of(self, DType::Bool));
  const uint8_t* p = flags.truth();
  int64_t n = self.numel(), count = 0;
  for (int64_t i = 0; i < n; i++) count += p[i] != 0;
  Tensor out = flambeau::empty(Dims{count, self.dim()}, DType::Int64);
  int64_t* to = out.data<int64_t>();
  Dims at(size_t(self.dim()), 0);
  for (int64_t i = 0; i < n; i++) {
    if (p[i]) to = std::copy(at.begin(), at.end(), to);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < self.sizes()[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

// ---- embedding
// ---------------------------------------------------------------------------------------------------

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool, bool) {
  check(weight.dim() == 2, "'weight' must be 2-D");
  check(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
        "Long, Int; but got ",
        indices.dtype(), " instead (while checking arguments for embedding)");
  (void)padding_idx;
  Dims sizes = indices.sizes();
  sizes.push_back(weight.sizes()[1]);
  Tensor out = flambeau::empty(sizes, weight.dtype(), weight.device());
  if (out.is_meta()) return out;
  Tensor at = as_positions(indices, "embedding"), table = contiguous_of(weight);
  int64_t rows = weight.sizes()[0], run = weight.sizes()[1] * weight.itemsize(), n = at.numel();
  const int64_t* p = at.data<int64_t>();
  for (int64_t i = 0; i < n; i++)
    if (p[i] < 0 || p[i] >= rows)
      fail<IndexError>("index out of range in self: embedding got index ", p[i], " at element ", i,
                       ", but the table has ", rows, " rows");
  parallel_for(n, std::max<int64_t>(1, kGrain / std::max<int64_t>(weight.sizes()[1], 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++)
                   std::memcpy(out.bytes() + i * run, table.bytes() + p[i] * run, size_t(run));
               });
  return out;
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, const Dims& size,
                          int64_t padding_idx, bool scale_grad_by_freq) {
  check_sizes("embedding_backward", "size", size);
  check(size.size() == 2 && grad.numel() == indices.numel() * size[1], "embedding_backward: grad ",
        grad.sizes(), " does not fit indices ", indices.sizes(), " and weight ", size);
  Tensor out = flambeau::empty(size, grad.dtype(), grad.device());
  fill_kernel(out, 0);
  if (out.is_meta()) return out;
  Tensor at = as_positions(indices, "embedding_backward"), from = contiguous_of(grad);
  check_positions(at, size[0], "embedding_backward", false);
  const int64_t* p = at.data<int64_t>();
  std::vector<int64_t> counts;
  if (scale_grad_by_freq) {
    counts.assign(size_t(size[0]), 0);
    for (int64_t i = 0; i < at.numel(); i++) counts[size_t(p[i])]++;
  }
  DType compute = info(grad.dtype()).compute;
  Tensor wide = cast_of(from, compute), sum = cast_of(out, compute);
  visit(compute, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E* to = sum.template data<E>();
    const E* v = wide.template data<E>();
    int64_t width = size[1];
    for (int64_t i = 0; i < at.numel(); i++) {
      if (p[i] == padding_idx) continue;
      E scale = counts.empty() ? E(1) : E(double(1) / double(counts[size_t(p[i])]));
      for (int64_t k = 0; k < width; k++)
        to[p[i] * width + k] = E(to[p[i] * width + k] + E(v[i * width + k] * scale));
    }
  });
  return cast_of(sum, grad.dtype());
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  check(self.dtype() == DType::Int64,
        "one_hot is only applicable to index tensor of type LongTensor, got ", self.dtype());
  check(!self.is_meta() || num_classes > 0, "one_hot: num_classes must be given for meta tensors");
  Tensor at = contiguous_of(self);
  const int64_t* p = self.is_meta() ? nullptr : at.data<int64_t>();
  int64_t n = self.numel(), classes = num_classes;
  if (n == 0) check(num_classes > 0, "Can not infer total number of classes from empty tensor.");
  if (p) {
    int64_t high = -1;
    for (int64_t i = 0; i < n; i++) {
      check(p[i] >= 0, "Class values must be non-negative, got ", p[i], " at element ", i);
      high = std::max(high, p[i]);
    }
    if (classes == -1) classes = high + 1;
    check(classes > 0 && high < classes, "Class values must be smaller than num_classes: got ",
          high, " for num_classes=", classes);
  }
  Dims sizes = self.sizes();
  sizes.push_back(classes);
  Tensor out = flambeau::empty(sizes, DType::Int64, self.device());
  fill_kernel(out, 0);
  if (p)
    for (int64_t i = 0; i < n; i++) out.data<int64_t>()[i * classes + p[i]] = 1;
  return out;
}

}  // namespace flambeau::kernels
