// Elements put at positions of the flattened tensor, and through a view's geometry.
#include <algorithm>

#include "dispatch/promotion.h"
#include "kernels/index.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::kernels {

void put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check(index.dtype() == DType::Int64, "put_(): Expected a long tensor for index, but got ",
        index.dtype());
  check(self.dtype() == source.dtype(),
        "put_(): self and source expected to have the same dtype, but got self.dtype = ",
        self.dtype(), " and source.dtype = ", source.dtype());
  check<IndexError>(source.numel() == index.numel(),
                    "put_(): Expected source and index to have the same number of elements, but "
                    "got source.numel() = ",
                    source.numel(), ", index.numel() = ", index.numel());
  check<IndexError>(self.numel() > 0 || index.numel() == 0,
                    "put_(): Tried to put elements into an empty tensor");
  if (self.is_meta() || index.numel() == 0) return;
  Tensor at = contiguous_of(index), from = contiguous_of(source);
  const int64_t *p = at.data<int64_t>(), n = self.numel(), count = at.numel();
  for (int64_t i = 0; i < count; i++)
    check<IndexError>(p[i] >= -n && p[i] < n, "out of range: tried to access index ", p[i],
                      " on a tensor of ", n, " elements.");
  Tensor flat = contiguous_of(self);
  visit(self.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    E* to = flat.template data<E>();
    const E* v = from.template data<E>();
    for (int64_t i = 0; i < count; i++) {
      E& target = to[p[i] < 0 ? p[i] + n : p[i]];
      target = accumulate ? E(target + v[i]) : v[i];
    }
  });
  if (!flat.is_same(self)) copy_kernel(self, flat);
}

Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  check(size >= 0, "nonzero_static: 'size' must be an non-negative integer, got ", size);
  Tensor out = flambeau::empty(Dims{size, self.dim()}, DType::Int64, self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  fill_kernel(out, fill_value);
  Tensor found = nonzero(self);
  const int64_t rows = std::min(size, found.sizes()[0]), n = rows * self.dim();
  std::copy_n(found.data<int64_t>(), n, out.data<int64_t>());
  return out;
}

Tensor as_strided_scatter(const Tensor& self, const Tensor& src, const Dims& size,
                          const Dims& stride, std::optional<int64_t> storage_offset) {
  check(equal(src.sizes(), size),
        "expected src to have a size equal to the slice of self. src size = ", src.sizes(),
        ", slice size = ", size);
  check(self.dtype() == src.dtype() || can_cast(src.dtype(), self.dtype()),
        "as_strided_scatter: src of dtype ", src.dtype(), " does not fit into ", self.dtype());
  // a copy of all the memory, so that the geometry means the same in the result
  Tensor shown = as_strided(self, size, stride, storage_offset);
  if (self.is_meta())
    return flambeau::empty_strided(self.sizes(), self.strides(), self.dtype(), self.device());
  const int64_t elements = int64_t(self.storage()->bytes()) / self.itemsize();
  Tensor all = flambeau::empty(Dims{elements}, self.dtype());
  copy_kernel(all, flambeau::alias(self, Dims{elements}, Dims{1}, 0));
  copy_kernel(flambeau::alias(all, size, stride, shown.offset()), src);
  return flambeau::alias(all, self.sizes(), self.strides(), self.offset());
}

}  // namespace flambeau::kernels
