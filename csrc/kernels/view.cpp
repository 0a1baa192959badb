// View operators: new sizes and strides over the same storage.
#include "kernels/checks.h"
#include "kernels/pointwise.h"
#include "kernels/shape.h"
#include "ops/all.h"

namespace flambeau {

// Resolves one -1 in `size` for `numel` elements.
Dims infer_size(IntSpan size, int64_t numel, const char* op) {
  Dims out(size);
  int64_t known = 1, hole = -1;
  for (size_t i = 0; i < out.size(); i++) {
    if (out[i] == -1) {
      check(hole < 0, op, ": only one dimension can be inferred");
      hole = int64_t(i);
    } else {
      check(out[i] >= 0, op, ": invalid shape dimension ", out[i], " in ", size);
      check(!__builtin_mul_overflow(known, out[i], &known) || numel == 0, "shape '", size,
            "' is invalid for input of size ", numel);
    }
  }
  if (hole >= 0) {
    check(known != 0, op, ": cannot reshape tensor of ", numel, " elements into shape ", size,
          " because the unspecified dimension size -1 can be any value and is ambiguous");
    check(numel % known == 0, "shape '", size, "' is invalid for input of size ", numel);
    out[size_t(hole)] = numel / known;
  } else {
    check(known == numel, "shape '", size, "' is invalid for input of size ", numel);
  }
  return out;
}

// Strides that show `sizes` with these strides as `shape`, or nothing when a copy is needed.
std::optional<Dims> view_strides(IntSpan sizes, IntSpan strides, IntSpan shape) {
  Dims out;
  out.resize(shape.size());
  if (product(sizes) == 0) {
    if (equal(sizes, shape)) return Dims(strides);
    return contiguous_strides(shape);
  }
  int64_t v = int64_t(shape.size()) - 1;
  int64_t i = int64_t(sizes.size()) - 1;
  int64_t base = sizes.empty() ? 1 : strides[size_t(i)];
  int64_t have = 1, want = 1;
  if (sizes.empty()) {
    std::fill(out.begin(), out.end(), 1);
    return out;
  }
  for (; i >= 0; i--) {
    have *= sizes[size_t(i)];
    // a run ends where the next outer stride does not continue it
    if (i == 0 || (sizes[size_t(i - 1)] != 1 && strides[size_t(i - 1)] != have * base)) {
      while (v >= 0 && (want < have || shape[size_t(v)] == 1)) {
        out[size_t(v)] = want * base;
        want *= shape[size_t(v)];
        v--;
      }
      if (want != have) return std::nullopt;
      if (i > 0) {
        base = strides[size_t(i - 1)];
        have = want = 1;
      }
    }
  }
  if (v != -1) return std::nullopt;
  return out;
}

namespace kernels {

Tensor view(const Tensor& self, const Dims& size) {
  Dims shape = infer_size(size, self.numel(), "view");
  auto strides = view_strides(self.sizes(), self.strides(), shape);
  check(strides.has_value(),
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two "
        "contiguous subspaces): input sizes ",
        self.sizes(), ", strides ", self.strides(), ", view size ", shape,
        ". Use .reshape(...) instead.");
  return flambeau::alias(self, shape, *strides, self.offset());
}

Tensor view_dtype(const Tensor& self, DType dtype) {
  int64_t from = self.itemsize(), to = itemsize(dtype);
  if (from == to) {
    Tensor out = flambeau::alias(self, self.sizes(), self.strides(), self.offset());
    out->dtype = dtype;
    return out;
  }
  check(self.dim() > 0, "self.dim() cannot be 0 to view ", self.dtype(), " as ", dtype,
        " (different element sizes)");
  Dims sizes = self.sizes(), strides = self.strides();
  check(strides.back() == 1, "self.stride(-1) must be 1 to view ", self.dtype(), " as ", dtype,
        " (different element sizes), but got ", strides.back());
  int64_t offset = self.offset();
  if (from > to) {
    int64_t k = from / to;
    for (size_t i = 0; i + 1 < sizes.size(); i++) strides[i] *= k;
    sizes.back() *= k;
    offset *= k;
  } else {
    int64_t k = to / from;
    check(sizes.back() % k == 0, "self.size(-1) must be divisible by ", k, " to view ",
          self.dtype(), " as ", dtype, ", but got ", sizes.back());
    check(offset % k == 0, "self.storage_offset() must be divisible by ", k, " to view ",
          self.dtype(), " as ", dtype, ", but got ", offset);
    for (size_t i = 0; i + 1 < strides.size(); i++) {
      check(strides[i] % k == 0, "self.stride(", i, ") must be divisible by ", k, " to view ",
            self.dtype(), " as ", dtype);
      strides[i] /= k;
    }
    sizes.back() /= k;
    offset /= k;
  }
  Tensor out = flambeau::alias(self, sizes, strides, offset);
  out->dtype = dtype;
  return out;
}

Tensor permute(const Tensor& self, const Dims& dims) {
  check(int64_t(dims.size()) == self.dim(),
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
        "of the "
        "desired ordering of dimensions i.e. input.dim() = ",
        self.dim(), " is not equal to len(dims) = ", dims.size());
  Dims sizes(dims.size(), 0), strides(dims.size(), 0);
  Dims seen(dims.size(), 0);
  for (size_t i = 0; i < dims.size(); i++) {
    int64_t d = wrap_dim(dims[i], self.dim());
    check(!seen[size_t(d)]++, "permute(): duplicate dims are not allowed.");
    sizes[i] = self.sizes()[size_t(d)];
    strides[i] = self.strides()[size_t(d)];
  }
  return flambeau::alias(self, sizes, strides, self.offset());
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
  Dims sizes = self.sizes(), strides = self.strides();
  if (self.dim()) {
    std::swap(sizes[size_t(a)], sizes[size_t(b)]);
    std::swap(strides[size_t(a)], strides[size_t(b)]);
  }
  return flambeau::alias(self, sizes, strides, self.offset());
}

Tensor expand(const Tensor& self, const Dims& size, bool) {
  check(int64_t(size.size()) >= self.dim(), "expand(", self.sizes(), ", size=", size,
        "): the number of sizes provided (", size.size(),
        ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), ")");
  size_t lead = size.size() - size_t(self.dim());
  Dims sizes(size.size(), 0), strides(size.size(), 0);
  for (size_t i = 0; i < size.size(); i++) {
    int64_t want = size[i];
    if (i < lead) {
      check(want >= 0, "expand(", self.sizes(), ", size=", size,
            "): the expanded size of the tensor (", want,
            ") isn't allowed in a leading, non-existing dimension ", i);
      sizes[i] = want;
      continue;
    }
    int64_t have = self.sizes()[i - lead];
    if (want == -1) want = have;
    check(want == have || have == 1, "The expanded size of the tensor (", want,
          ") must match the existing size (", have, ") at non-singleton dimension ", i,
          ".  Target sizes: ", size, ".  Tensor sizes: ", self.sizes());
    check(want >= 0, "expand: negative size ", want);
    sizes[i] = want;
    strides[i] = want == have ? self.strides()[i - lead] : 0;
  }
  return flambeau::alias(self, sizes, strides, self.offset());
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  int64_t d = wrap_dim(dim, self.dim() + 1);
  Dims sizes = self.sizes(), strides = self.strides();
  int64_t step = d < self.dim() ? sizes[size_t(d)] * strides[size_t(d)] : 1;
  sizes.insert(size_t(d), 1);
  strides.insert(size_t(d), step);
  return flambeau::alias(self, sizes, strides, self.offset());
}

// Without the dimensions of size 1 for which `may_go(d)`.
template <class F>
static Tensor squeeze_where(const Tensor& self, F&& may_go) {
  Dims sizes, strides;
  for (int64_t d = 0; d < self.dim(); d++)
    if (self.sizes()[size_t(d)] != 1 || !may_go(d)) {
      sizes.push_back(self.sizes()[size_t(d)]);
      strides.push_back(self.strides()[size_t(d)]);
    }
  return flambeau::alias(self, sizes, strides, self.offset());
}
Tensor squeeze(const Tensor& self) {
  return squeeze_where(self, [](int64_t) { return true; });
}
Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  const int64_t only = wrap_dim(dim, self.dim());
  return squeeze_where(self, [only](int64_t d) { return d == only; });
}
Tensor squeeze_dims(const Tensor& self, const Dims& dim) {
  const Dims some = dim.empty() ? Dims{} : wrap_dims(dim, self.dim());
  return squeeze_where(
      self, [&some](int64_t d) { return std::find(some.begin(), some.end(), d) != some.end(); });
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  check<IndexError>(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  size_t d = size_t(wrap_dim(dim, self.dim()));
  int64_t n = self.sizes()[d];
  if (index < -n || index >= n)
    fail<IndexError>("index ", index, " is out of bounds for dimension ", d, " with size ", n);
  Dims sizes = self.sizes(), strides = self.strides();
  int64_t offset = self.offset() + (index < 0 ? index + n : index) * strides[d];
  sizes.erase(d);
  strides.erase(d);
  return flambeau::alias(self, sizes, strides, offset);
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  check(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  check<ValueError>(step > 0, "slice step must be positive");
  size_t d = size_t(wrap_dim(dim, self.dim()));
  int64_t n = self.sizes()[d];
  auto bound = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + n : v, 0, n); };
  int64_t a = bound(start.value_or(0)), b = bound(end.value_or(n));
  int64_t length = b > a ? (b - a - 1) / step + 1 : 0;
  Dims sizes = self.sizes(), strides = self.strides();
  int64_t offset = self.offset() + a * strides[d];
  sizes[d] = length;
  if (__builtin_mul_overflow(strides[d], step, &strides[d])) strides[d] = 1;  // one entry at most
  return flambeau::alias(self, sizes, strides, offset);
}

TensorList unbind(const Tensor& self, int64_t dim) {
  int64_t d = wrap_dim(dim, self.dim());
  check<IndexError>(self.dim() > 0, "Dimension specified as ", dim,
                    " but tensor has no dimensions");
  TensorList out;
  for (int64_t i = 0; i < self.sizes()[size_t(d)]; i++) out.push_back(select(self, d, i));
  return out;
}

TensorList _split(const Tensor& self, const Dims& sizes, int64_t dim) {
  check(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  size_t d = size_t(wrap_dim(dim, self.dim()));
  int64_t total = 0, at = 0;
  for (int64_t s : sizes) {
    check(
        s >= 0,
        "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
        sizes);
    // a sum past the size stays past it: no overflow
    total = s > self.sizes()[d] - total ? self.sizes()[d] + 1 : total + s;
    if (total > self.sizes()[d]) break;
  }
  check(total == self.sizes()[d], "split_with_sizes expects split_sizes to sum exactly to ",
        self.sizes()[d], " (input tensor's size at dimension ", d,
        "), but got split_sizes=", sizes);
  TensorList out;
  for (int64_t s : sizes) {
    Dims shape = self.sizes();
    shape[d] = s;
    out.push_back(
        flambeau::alias(self, shape, self.strides(), self.offset() + at * self.strides()[d]));
    at += s;
  }
  return out;
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  size_t a = size_t(wrap_dim(dim1, self.dim())), b = size_t(wrap_dim(dim2, self.dim()));
  check(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  Dims sizes = self.sizes(), strides = self.strides();
  int64_t length = offset >= 0 ? std::max<int64_t>(std::min(sizes[a], sizes[b] - offset), 0)
                               : std::max<int64_t>(std::min(sizes[a] + offset, sizes[b]), 0);
  int64_t start = self.offset();
  if (length > 0) start += offset >= 0 ? offset * strides[b] : -offset * strides[a];
  int64_t step = strides[a] + strides[b];
  sizes.erase(std::max(a, b));
  strides.erase(std::max(a, b));
  sizes.erase(std::min(a, b));
  strides.erase(std::min(a, b));
  sizes.push_back(length);
  strides.push_back(step);
  return flambeau::alias(self, sizes, strides, start);
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  size_t d = size_t(wrap_dim(dimension, self.dim()));
  int64_t n = self.dim() ? self.sizes()[d] : 1, stride = self.dim() ? self.strides()[d] : 1;
  check(size >= 0 && size <= n, "maximum size for tensor at dimension ", d, " is ", n,
        " but size is ", size);
  check(step > 0, "step is ", step, " but must be > 0");
  Dims sizes = self.sizes(), strides = self.strides();
  if (self.dim()) {
    sizes[d] = (n - size) / step + 1;
    strides[d] = std::min(step, n) * stride;  // a step beyond the end leaves one window
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return flambeau::alias(self, sizes, strides, self.offset());
}

Tensor as_strided(const Tensor& self, const Dims& size, const Dims& stride,
                  std::optional<int64_t> storage_offset) {
  check(size.size() == stride.size(), "mismatch in length of strides and shape: ", size, " and ",
        stride);
  int64_t offset = storage_offset.value_or(self.offset());
  for (int64_t s : stride)
    check(s >= 0,
          "as_strided: Negative strides are not supported at the moment, got strides: ", stride);
  for (int64_t s : size) check(s >= 0, "as_strided: negative size in ", size);
  check(offset >= 0, "Tensor: invalid storage offset ", offset);
  const int64_t need = storage_bytes(size, stride, offset, self.itemsize());
  check(self.is_meta() || need <= int64_t(self.storage()->bytes()), "setStorage: sizes ", size,
        ", strides ", stride, ", storage offset ", offset, ", and itemsize ", self.itemsize(),
        " requiring a storage size of ", need, " are out of bounds for storage of size ",
        self.storage()->bytes());
  return flambeau::alias(self, size, stride, offset);
}

Tensor alias(const Tensor& self) {
  return flambeau::alias(self, self.sizes(), self.strides(), self.offset());
}

Tensor view_as_real(const Tensor& self) {
  check(self.is_complex(), "view_as_real is only supported for complex tensors, got ",
        self.dtype());
  Dims sizes = self.sizes(), strides = self.strides();
  for (auto& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  Tensor out = flambeau::alias(self, sizes, strides, self.offset() * 2);
  out->dtype = real_dtype(self.dtype());
  return out;
}

Tensor view_as_complex(const Tensor& self) {
  check(self.dtype() == DType::Float32 || self.dtype() == DType::Float64 ||
            self.dtype() == DType::Float16,
        "view_as_complex is only supported for half, float and double tensors, but got a tensor of "
        "scalar type: ",
        self.dtype());
  check(self.dim() > 0 && self.sizes().back() == 2,
        "Tensor must have a last dimension of size 2, got shape ", self.sizes());
  check(self.strides().back() == 1, "Tensor must have a last dimension with stride 1");
  Dims sizes = self.sizes(), strides = self.strides();
  sizes.pop_back();
  strides.pop_back();
  for (auto& s : strides) {
    check(s % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
    s /= 2;
  }
  check(self.offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  Tensor out = flambeau::alias(self, sizes, strides, self.offset() / 2);
  out->dtype = complex_dtype(self.dtype());
  return out;
}

// ---- gather and scatter through a view's geometry
// ----------------------------------------------------

namespace {
template <class F>
void each_position(IntSpan sizes, IntSpan strides, int64_t offset, F&& f) {
  int64_t n = product(sizes);
  Dims at(sizes.size(), 0);
  int64_t position = offset;
  for (int64_t i = 0; i < n; i++) {
    f(i, position);
    for (size_t d = sizes.size(); d-- > 0;) {
      position += strides[d];
      if (++at[d] < sizes[d]) break;
      position -= sizes[d] * strides[d];
      at[d] = 0;
    }
  }
}
// A tensor over fresh zeros with the base's geometry, reaching from the lowest to the highest
// element of base and view.
struct Arena {
  Tensor flat;
  int64_t low;
};
Arena arena(const Tensor& like, const Dims& base_size, const Dims& base_stride, int64_t base_offset,
            const Dims& size, const Dims& stride, int64_t offset) {
  for (auto [sizes, strides, at] :
       {std::tuple{&base_size, &base_stride, base_offset}, std::tuple{&size, &stride, offset}}) {
    check_sizes("strided", "size", *sizes);
    bool fits = strides->size() == sizes->size() && at >= 0 && at < (int64_t(1) << 56);
    for (int64_t s : *strides) fits &= s >= 0;
    check(fits, "strided: sizes ", *sizes, ", strides ", *strides, " and offset ", at,
          " are not those of a tensor");
  }
  int64_t low = std::min(base_offset, offset);
  int64_t high = std::max(base_offset + storage_extent(base_size, base_stride),
                          offset + storage_extent(size, stride));
  Tensor flat = empty(Dims{high - low}, like.dtype(), like.device());
  fill_kernel(flat, 0);
  return {flat, low};
}
}  // namespace

Tensor _strided_scatter(const Tensor& self, const Dims& base_size, const Dims& base_stride,
                        int64_t base_offset, const Dims& size, const Dims& stride, int64_t offset) {
  check_shape("strided_scatter", "input", self, size);
  Arena a = arena(self, base_size, base_stride, base_offset, size, stride, offset);
  Tensor base = flambeau::alias(a.flat, base_size, base_stride, base_offset - a.low);
  if (self.is_meta()) return empty(base_size, self.dtype(), self.device());
  Tensor source = contiguous_of(self);
  visit(self.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::type;
    E* to = a.flat.template data<E>();
    const E* from = source.template data<E>();
    each_position(size, stride, offset - a.low,
                  [&](int64_t i, int64_t p) { to[p] = E(to[p] + from[i]); });
  });
  // overlapping base elements share one place: each keeps the whole sum
  Tensor out = empty(base_size, self.dtype());
  copy_kernel(out, base);
  return out;
}

Tensor _strided_gather(const Tensor& self, const Dims& base_size, const Dims& base_stride,
                       int64_t base_offset, const Dims& size, const Dims& stride, int64_t offset) {
  check_shape("strided_gather", "input", self, base_size);
  if (self.is_meta()) return empty(size, self.dtype(), self.device());
  Arena a = arena(self, base_size, base_stride, base_offset, size, stride, offset);
  copy_kernel(flambeau::alias(a.flat, base_size, base_stride, base_offset - a.low), self);
  Tensor out = empty(size, self.dtype());
  copy_kernel(out, flambeau::alias(a.flat, size, stride, offset - a.low));
  return out;
}

}  // namespace kernels
}  // namespace flambeau
