// Reductions of scattered elements: sum, prod, mean, amax, amin at positions of an index.
#include <limits>

#include "dispatch/promotion.h"
#include "kernels/index.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::kernels {
namespace {

enum class Reduce { Sum, Prod, Mean, Max, Min };

std::optional<Reduce> reduction_named(const std::string& name) {
  if (name == "sum") return Reduce::Sum;
  if (name == "prod") return Reduce::Prod;
  if (name == "mean") return Reduce::Mean;
  if (name == "amax") return Reduce::Max;
  if (name == "amin") return Reduce::Min;
  return std::nullopt;
}

template <class E>
constexpr bool kOrdered = std::is_arithmetic_v<E>;

// What a reduction starts from when the element that was there does not count.
template <class E>
E identity(Reduce r) {
  if (r == Reduce::Prod) return E(1);
  if constexpr (kOrdered<E>) {
    using L = std::numeric_limits<E>;
    if (r == Reduce::Max) return L::has_infinity ? -L::infinity() : L::lowest();
    if (r == Reduce::Min) return L::has_infinity ? L::infinity() : L::max();
  }
  return E(0);
}

template <Reduce R, class E>
E combine(E a, E b) {
  if constexpr (R == Reduce::Prod) {
    return E(a * b);
  } else if constexpr (R == Reduce::Sum || R == Reduce::Mean || !kOrdered<E>) {
    return E(a + b);
  } else {
    const bool better = R == Reduce::Max ? b > a : b < a;
    return better || b != b ? b : a;  // a NaN stays
  }
}

template <class E>
E divided(E sum, int64_t n) {
  if constexpr (std::is_integral_v<E>) {
    const int64_t s = int64_t(sum), q = s / n;
    return E(s % n != 0 && s < 0 ? q - 1 : q);
  } else {
    return sum / E(double(n));
  }
}

template <class F>
void with_reduction(Reduce r, F&& f) {
  switch (r) {
    case Reduce::Sum:
      return f(std::integral_constant<Reduce, Reduce::Sum>{});
    case Reduce::Prod:
      return f(std::integral_constant<Reduce, Reduce::Prod>{});
    case Reduce::Mean:
      return f(std::integral_constant<Reduce, Reduce::Mean>{});
    case Reduce::Max:
      return f(std::integral_constant<Reduce, Reduce::Max>{});
    case Reduce::Min:
      return f(std::integral_constant<Reduce, Reduce::Min>{});
  }
}

// `into` (contiguous, at least 1-d) reduced with elements of `src` at positions `at`.
void reduce_at(const Tensor& into, int64_t d, const Tensor& at, const Tensor& src, Reduce r,
               bool include_self) {
  visit(into.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<E, half_t> && !std::is_same_v<E, bfloat16_t>) {
      E* to = into.template data<E>();
      const E* from = src.template data<E>();
      const int64_t step = into.strides()[size_t(d)];
      std::vector<int64_t> counts(r == Reduce::Mean ? size_t(into.numel()) : 0, include_self);
      if (!include_self)
        walk(at, 0, row_count(at), into.strides(), IntSpan(), d,
             [&](int64_t a, int64_t, int64_t, int64_t i) { to[a + i * step] = identity<E>(r); });
      with_reduction(r, [&](auto which) {
        walk(at, 0, row_count(at), into.strides(), src.strides(), d,
             [&](int64_t a, int64_t b, int64_t, int64_t i) {
               const int64_t k = a + i * step;
               to[k] = combine<which()>(to[k], from[b]);
               if constexpr (which() == Reduce::Mean) counts[size_t(k)]++;
             });
      });
      for (size_t k = 0; k < counts.size(); k++)
        if (counts[k] > 1) to[k] = divided(to[k], counts[k]);
    }
  });
}

// Same for any dtype and layout: 16-bit floats add up in float32.
void reduce_into(const Tensor& self, int64_t d, const Tensor& at, const Tensor& src, Reduce r,
                 bool include_self) {
  const DType compute = info(self.dtype()).compute;
  Tensor wide = cast_of(contiguous_of(self), compute);
  reduce_at(at_least_1d(wide), d, at, at_least_1d(cast_of(src, compute)), r, include_self);
  if (!wide.is_same(self)) copy_kernel(self, wide);
}

void check_ordered(const char* op, Reduce r, DType t) {
  if (r == Reduce::Max || r == Reduce::Min)
    check<NotImplementedError>(!is_complex(t), "\"", op, "_amax_amin\" not implemented for '",
                               info(t).name, "': complex numbers have no order");
  if (r == Reduce::Mean)
    check<NotImplementedError>(t != DType::Bool, "\"", op, "_mean\" not implemented for 'Bool'");
}

}  // namespace

void scatter_reduce_two_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                         const std::string& reduce, bool include_self) {
  auto r = reduction_named(reduce);
  check(r.has_value(), "reduce argument must be either sum, prod, mean, amax or amin, got ",
        reduce);
  int64_t d = wrap_dim(dim, self.dim());
  check_gather_shapes("scatter_reduce", self, d, index, &src);
  check(self.dtype() == src.dtype(),
        "scatter_reduce(): Expected self.dtype to be equal to src.dtype, got ", self.dtype(),
        " and ", src.dtype());
  check_ordered("scatter_reduce", *r, self.dtype());
  if (self.is_meta() || index.numel() == 0) return;
  Tensor at = at_least_1d(as_positions(index, "scatter_reduce"));
  check_positions<Error>(at, self.dim() ? self.sizes()[size_t(d)] : 1, "scatter_reduce", false);
  reduce_into(self, d, at, src, *r, include_self);
}

void index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                   const std::string& reduce, bool include_self) {
  auto r = reduction_named(reduce);
  check(r.has_value() && *r != Reduce::Sum,
        "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce,
        ".");
  check<IndexError>(index.dim() <= 1,
                    "index_reduce_(): Index is supposed to be a vector, but got dim: ", index.dim(),
                    " with size: ", index.sizes());
  check(index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
        "index_reduce_(): Expected dtype int32/int64 for index but got: ", index.dtype());
  check(self.dtype() == source.dtype(), "index_reduce_(): self (", self.dtype(), ") and source (",
        source.dtype(), ") must have the same scalar type");
  int64_t d = wrap_dim(dim, self.dim());
  check(source.dim() == 0 || d < source.dim(), "index_reduce_(): Indexing dim ", d,
        " is out of bounds of the source tensor with dim ", source.dim());
  const int64_t n = source.dim() ? source.sizes()[size_t(d)] : 1;
  check(index.numel() == n, "index_reduce_(): Number of indices (", index.numel(),
        ") should be equal to source.size(dim): (", n, "), for dim: ", d);
  check(std::max<int64_t>(source.dim(), 1) == std::max<int64_t>(self.dim(), 1),
        "index_reduce_(): source and self must have the same number of dimensions, got ",
        source.dim(), " and ", self.dim());
  for (int64_t k = 0; k < self.dim() && k < source.dim(); k++)
    check(k == d || self.sizes()[size_t(k)] == source.sizes()[size_t(k)],
          "index_reduce_(): source shape ", source.sizes(), " and self shape ", self.sizes(),
          " must agree except in dimension ", d);
  check<NotImplementedError>(!self.is_complex() && self.dtype() != DType::Bool,
                             "\"index_reduce\" not implemented for '", info(self.dtype()).name,
                             "'");
  if (self.is_meta() || source.numel() == 0) return;
  Tensor positions = as_positions(index, "index_reduce");
  check_positions(positions, self.dim() ? self.sizes()[size_t(d)] : 1, "index_reduce", false);
  Tensor from = at_least_1d(source);
  Dims steps(from.sizes().size(), 0);
  steps[size_t(d)] = 1;
  Tensor at = contiguous_of(flambeau::alias(positions, from.sizes(), steps, positions.offset()));
  reduce_into(self, d, at, from, *r, include_self);
}

}  // namespace flambeau::kernels
