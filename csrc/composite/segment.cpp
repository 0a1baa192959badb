// Reductions of consecutive segments of a dimension.
#include <limits>

#include "autograd/formulas.h"
#include "core/transform.h"
#include "dispatch/promotion.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::ops {
namespace {

// The segment that each entry of the axis belongs to; `segments` for those of none.
Tensor segment_numbers(const Tensor& any_given, bool offsets, int64_t n, int64_t segments,
                       bool unsafe) {
  const Tensor given = readable(any_given, "segment_reduce");
  Dims sizes = given.sizes();
  const int64_t width = sizes.back();
  sizes.back() = n;
  if (given.is_meta()) return flambeau::empty(sizes, DType::Int64, given.device());
  Tensor out = flambeau::empty(sizes, DType::Int64);
  fill_kernel(out, segments);
  Tensor bounds = contiguous_of(cast_of(given, DType::Int64));
  const int64_t* p = bounds.data<int64_t>();
  int64_t* to = out.data<int64_t>();
  const int64_t rows = width ? bounds.numel() / width : 0;
  for (int64_t r = 0; r < rows; r++, p += width, to += n) {
    int64_t at = offsets ? p[0] : 0;
    for (int64_t s = 0; s < segments; s++) {
      const int64_t end = offsets ? p[s + 1] : at + p[s];
      check(end >= at, "segment_reduce(): lengths contains negative value!");
      check(at >= 0 && end <= n, "segment_reduce(): segment ", s, " reaches from ", at, " to ", end,
            " of an axis of size ", n);
      std::fill(to + at, to + end, s);
      at = end;
    }
    check(unsafe || offsets || at == n,
          "segment_reduce(): Expected all rows of lengths along axis to sum to "
          "data.size(lengths.dim()-1) when !unsafe.");
  }
  return out;
}

}  // namespace

Tensor segment_reduce(const Tensor& data, const std::string& reduce, const OptTensor& lengths,
                      const OptTensor& indices, const OptTensor& offsets, int64_t axis, bool unsafe,
                      const std::optional<Scalar>& initial) {
  axis = wrap_dim(axis, data.dim());
  check(data.numel() > 0 || data.dim() > 0, "segment_reduce(): data must have dimensions");
  check(!indices, "segment_reduce(): indices based reduction is not supported yet.");
  check(lengths.has_value() || offsets.has_value(),
        "segment_reduce(): Either lengths or offsets must be defined.");
  const Tensor& given = lengths ? *lengths : *offsets;
  const char* what = lengths ? "lengths" : "offsets";
  check(given.dtype() == DType::Int64 || given.dtype() == DType::Int32,
        "segment_reduce(): Expected ", what, " of dtype int32 or int64, got ", given.dtype());
  check(axis == given.dim() - 1, "segment_reduce(): Expected axis to be the last dimension of ",
        what, " but got ", axis, ".");
  check(
      reduce == "sum" || reduce == "mean" || reduce == "max" || reduce == "min" || reduce == "prod",
      "reduce argument must be either sum, prod, mean, max or min, got ", reduce);
  check<NotImplementedError>(data.is_floating(), "\"segment_reduce\" not implemented for '",
                             info(data.dtype()).name, "'");
  for (int64_t d = 0; d < axis; d++)
    check(given.sizes()[size_t(d)] == data.sizes()[size_t(d)], "segment_reduce(): ", what,
          " of shape ", given.sizes(), " do not fit data of shape ", data.sizes());
  const bool by_offset = !lengths;
  const int64_t n = data.sizes()[size_t(axis)],
                segments = std::max<int64_t>(given.sizes().back() - by_offset, 0);
  Tensor at = segment_numbers(given, by_offset, n, segments, unsafe);
  Dims column = at.sizes(), sizes = data.sizes();
  while (column.size() < sizes.size()) column.push_back(1);
  at = expand(reshape(at, column), sizes, false);
  sizes[size_t(axis)] = segments + 1;  // the last one takes what belongs to none

  const double inf = std::numeric_limits<double>::infinity();
  const bool mean = reduce == "mean";
  const double neutral = reduce == "max" ? -inf : reduce == "min" ? inf : reduce == "prod";
  Tensor start = full(sizes, initial.value_or(Scalar(neutral)), data.dtype(), data.device());
  const std::string how = mean              ? "sum"
                          : reduce == "max" ? "amax"
                          : reduce == "min" ? "amin"
                                            : reduce;
  Tensor out = scatter_reduce_two(start, axis, at, data, how, true);
  if (mean) {
    Tensor one = full(data.sizes(), 1, data.dtype(), data.device());
    Tensor none = full(sizes, 0, data.dtype(), data.device());
    Tensor counts = scatter_add(none, axis, at, one);
    // an empty segment has no mean
    out = initial ? out / clamp_min(counts, 1) : out / counts;
  }
  return contiguous(narrow(out, axis, 0, segments), std::nullopt);
}

}  // namespace flambeau::ops
