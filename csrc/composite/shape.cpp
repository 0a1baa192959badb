// Shape operators that are compositions of views and copies.
#include "kernels/shape.h"
#include "autograd/formulas.h"
#include "autograd/node.h"
#include "core/transform.h"
#include "dispatch/autocast.h"
#include "dispatch/promotion.h"
#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::ops {

Tensor reshape(const Tensor& self, const Dims& shape) {
  Dims want = infer_size(shape, self.numel(), "reshape");
  if (view_strides(self.sizes(), self.strides(), want)) return view(self, want);
  NodeMark mark;
  return mark.named(view(clone(self, MemoryFormat::Contiguous), want), "UnsafeViewBackward0");
}

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  size_t a = size_t(wrap_dim(start_dim, self.dim())), b = size_t(wrap_dim(end_dim, self.dim()));
  check(a <= b, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return reshape(self, Dims{1});
  if (a == b) return self;
  Dims shape;
  int64_t merged = 1;
  for (size_t i = 0; i < size_t(self.dim()); i++) {
    if (i < a || i > b)
      shape.push_back(self.sizes()[i]);
    else {
      merged *= self.sizes()[i];
      if (i == b) shape.push_back(merged);
    }
  }
  return reshape(self, shape);
}

Tensor unflatten(const Tensor& self, int64_t dim, const Dims& sizes) {
  check(self.dim() > 0,
        "unflatten: expected a tensor with dimensions, but got one of 0 dimensions");
  size_t d = size_t(wrap_dim(dim, self.dim()));
  check(!sizes.empty(), "unflatten: sizes must be non-empty");
  int64_t known = 1;
  bool hole = false;
  for (int64_t s : sizes) {
    hole |= s == -1;
    known *= s == -1 ? 1 : s;
  }
  check(hole ? known != 0 && self.sizes()[d] % known == 0 : known == self.sizes()[d],
        "unflatten: Provided sizes ", sizes, " don't multiply up to the size of dim ", d, " (",
        self.sizes()[d], ") in the input tensor");
  Dims inner = infer_size(sizes, self.sizes()[d], "unflatten"), shape;
  for (size_t i = 0; i < size_t(self.dim()); i++) {
    if (i == d)
      for (int64_t s : inner) shape.push_back(s);
    else
      shape.push_back(self.sizes()[i]);
  }
  return view(self, shape);
}

Tensor t(const Tensor& self) {
  check(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(),
        "D");
  return transpose(self, 0, self.dim() < 2 ? 0 : 1);
}

Tensor numpy_T(const Tensor& self) {
  Dims dims;
  for (int64_t d = self.dim(); d-- > 0;) dims.push_back(d);
  return permute(self, dims);
}

Tensor mT(const Tensor& self) {
  check(self.dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ",
        self.dim(), "-D tensor.");
  return transpose(self, -2, -1);
}

Tensor matrix_H(const Tensor& self) {
  check(self.dim() == 0 || self.dim() == 2,
        "tensor.H is only supported on matrices (2-D tensors). Got ", self.dim(), "-D tensor.");
  return self.dim() ? conj(transpose(self, 0, 1)) : conj(self);
}

Tensor movedim(const Tensor& self, const Dims& source, const Dims& destination) {
  check(source.size() == destination.size(),
        "movedim: Invalid source or destination dims: source (", source,
        " dims) should contain the same number of dims as destination (", destination, " dims)");
  int64_t n = self.dim();
  Dims order(size_t(n), -1);
  std::vector<bool> used(size_t(n), false);
  for (size_t i = 0; i < source.size(); i++) {
    int64_t s = wrap_dim(source[i], n), d = wrap_dim(destination[i], n);
    if (n == 0) return alias(self);
    check(!used[size_t(s)], "movedim: repeated dim in `source` (", source, ")");
    check(order[size_t(d)] < 0, "movedim: repeated dim in `destination` (", destination, ")");
    order[size_t(d)] = s;
    used[size_t(s)] = true;
  }
  int64_t next = 0;
  for (auto& o : order) {
    if (o >= 0) continue;
    while (used[size_t(next)]) next++;
    o = next++;
  }
  return permute(self, order);
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  check(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  check(length >= 0, "narrow(): length must be non-negative.");
  int64_t n = self.size(dim);
  if (start < -n || start > n)
    fail<IndexError>("narrow: start out of range (expected to be in range of [", -n, ", ", n,
                     "], but got ", start, ")");
  if (start < 0) start += n;
  check(start <= n - length, "start (", start, ") + length (", length, ") exceeds dimension size (",
        n, ").");
  return slice(self, dim, start, start + length, 1);
}

Tensor narrow_Tensor(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  check(start.dim() == 0 && category(start.dtype()) == Category::Integral,
        "start must be an 0-dim integral Tensor.");
  return narrow(self, dim, item(start).to_int(), length);
}

Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  if (is_transform(self) && is_sparse(self)) return _sparse_narrow(self, dim, start, length);
  return clone(narrow(self, dim, start, length), MemoryFormat::Contiguous);
}

TensorList split_sizes(const Tensor& self, const Dims& sizes, int64_t dim) {
  return _split(self, sizes, dim);
}

TensorList split(const Tensor& self, int64_t size, int64_t dim) {
  check(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  check(size >= 0, "split expects split_size be non-negative, but got split_size=", size);
  int64_t n = self.size(dim);
  check(size > 0 || n == 0,
        "split_size can only be 0 if dimension size is 0, but got dimension size of ", n);
  Dims sizes;
  if (n == 0) sizes.push_back(0);
  for (int64_t at = 0; at < n; at += size) sizes.push_back(std::min(size, n - at));
  return _split(self, sizes, dim);
}

TensorList chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  check(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  check(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  int64_t n = self.size(dim), size = n / chunks + (n % chunks != 0);
  check(n > 0 || chunks <= int64_t(1) << 24, "chunk: too many chunks, got ", chunks);
  if (n == 0) return _split(self, Dims(size_t(chunks), 0), dim);
  return split(self, std::max<int64_t>(size, 1), dim);
}

TensorList tensor_split_indices(const Tensor& self, const Dims& indices, int64_t dim) {
  check(self.dim() > 0,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", self.dim(),
        " dims");
  TensorList out;
  int64_t start = 0;
  for (int64_t end : indices) {
    out.push_back(slice(self, dim, start, end, 1));
    start = end;
  }
  out.push_back(slice(self, dim, start, std::nullopt, 1));
  return out;
}

TensorList tensor_split(const Tensor& self, int64_t sections, int64_t dim) {
  check(self.dim() > 0,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", self.dim(),
        " dims");
  check(sections > 0, "number of sections must be larger than 0, got ", sections);
  check(sections <= int64_t(1) << 24, "tensor_split: too many sections, got ", sections);
  int64_t n = self.size(dim), small = n / sections, larger = n % sections;
  Dims sizes;
  for (int64_t i = 0; i < sections; i++) sizes.push_back(small + (i < larger ? 1 : 0));
  return _split(self, sizes, dim);
}

TensorList tensor_split_tensor(const Tensor& self, const Tensor& which, int64_t dim) {
  check(which.dtype() == DType::Int64,
        "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
        which.dtype());
  check(which.dim() <= 1,
        "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
        "one-dimensional tensor, but got a tensor with ",
        which.dim(), " dims");
  check<NotImplementedError>(has_values(which),
                             "tensor_split: meta tensors have no indices or sections to read");
  if (which.dim() == 0) return tensor_split(self, item(which).to_int(), dim);
  Tensor flat = contiguous_of(readable(which, "tensor_split"));
  return tensor_split_indices(self, Dims(IntSpan(flat.data<int64_t>(), size_t(flat.numel()))), dim);
}

Tensor detach(const Tensor& self) {
  if (!is_transform(self)) return flambeau::detach(self);
  const Boxed args[] = {{&self, BoxKind::Tensor}};  // from the history of every level
  Tensor out;
  boxed_hook("detach", args, 1, &out, BoxKind::Tensor, 1);
  return out;
}
Tensor detach_copy(const Tensor& self) {
  return clone(ops::detach(self), MemoryFormat::Contiguous);
}
Tensor positive(const Tensor& self) {
  check(self.dtype() != DType::Bool, "The `+` operator, on a bool tensor is not supported.");
  return self;
}
Tensor conj(const Tensor& self) {
  if (!self.is_complex()) return self;
  NodeMark mark;
  return mark.named(conj_physical(self), "ConjBackward0");
}
Tensor real(const Tensor& self) {
  return self.is_complex() ? select(view_as_real(self), -1, 0) : self;
}
Tensor imag(const Tensor& self) {
  check(self.is_complex(), "imag is not implemented for tensors with non-complex dtypes.");
  return select(view_as_real(self), -1, 1);
}

Tensor contiguous(const Tensor& self, std::optional<MemoryFormat> format) {
  MemoryFormat f = format.value_or(MemoryFormat::Contiguous);
  check(f != MemoryFormat::Preserve,
        "preserve memory format is unsupported by the contiguous operator");
  return self.is_contiguous(f) ? self : clone(self, f);
}

Tensor stack_uncast(const TensorList& tensors, int64_t dim) {
  check(!tensors.empty(), "stack expects a non-empty TensorList");
  int64_t d = wrap_dim(dim, tensors[0].dim() + 1);
  TensorList parts;
  for (size_t i = 0; i < tensors.size(); i++) {
    check(equal(tensors[i].sizes(), tensors[0].sizes()),
          "stack expects each tensor to be equal size, but got ", tensors[0].sizes(),
          " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
    parts.push_back(unsqueeze(tensors[i], d));
  }
  return cat(parts, d);
}

Tensor empty_permuted(const Dims& size, const Dims& physical_layout, std::optional<DType> dtype,
                      std::optional<Device> device) {
  check(size.size() == physical_layout.size(),
        "Number of dimensions in size does not match the length of the physical_layout; i.e. "
        "len(size) = ",
        size.size(), " is not equal to len(physical_layout) = ", physical_layout.size());
  Dims strides(size.size(), 0);
  std::vector<bool> seen(size.size(), false);
  int64_t step = 1;
  for (size_t i = size.size(); i-- > 0;) {
    const int64_t d = physical_layout[i];
    check(d >= 0 && d < int64_t(size.size()),
          "Dimension out of range (expected to be between 0 and ", int64_t(size.size()) - 1,
          ", but got ", d, " at index ", i,
          "). NB: negative dims not currently supported; file an issue if you need it.");
    check(!seen[size_t(d)], "Duplicate dim not allowed, got ", d, " twice");
    seen[size_t(d)] = true;
    strides[size_t(d)] = step;
    step *= std::max<int64_t>(size[size_t(d)], 1);
  }
  return empty_strided(size, strides, dtype, device);
}

Tensor tile(const Tensor& self, const Dims& dims) {
  Dims repeats = dims;
  while (int64_t(repeats.size()) < self.dim()) repeats.insert(0, 1);
  return repeat(self, repeats);
}

Tensor rot90(const Tensor& self, int64_t k, const Dims& dims) {
  check(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  check(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
  int64_t a = wrap_dim(dims[0], self.dim()), b = wrap_dim(dims[1], self.dim());
  check(a != b, "expected rotation dims to be different, but got dim0 = ", dims[0],
        " and dim1 = ", dims[1]);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(self, Dims{b}), a, b);
    case 2:
      return flip(self, Dims{a, b});
    case 3:
      return transpose(flip(self, Dims{a}), a, b);
    default:
      return clone(self, MemoryFormat::Contiguous);
  }
}

Tensor diag(const Tensor& self, int64_t diagonal) {
  check(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", self.dim(),
        "D");
  if (self.dim() == 1) return diag_embed(self, diagonal, -2, -1);
  return clone(ops::diagonal(self, diagonal, 0, 1), MemoryFormat::Contiguous);
}

Tensor resize_(const Tensor& self, const Dims& size, std::optional<MemoryFormat> format) {
  check(!self->requires_grad, "cannot resize variables that require grad");
  for (int64_t s : size) check(s >= 0, "resize_: negative size in ", size);
  MemoryFormat f = format.value_or(MemoryFormat::Contiguous);
  if (f == MemoryFormat::ChannelsLast || f == MemoryFormat::ChannelsLast3d) {
    const size_t rank = f == MemoryFormat::ChannelsLast ? 4 : 5;
    check(size.size() == rank, "required rank ", rank, " tensor to use ", memory_format_name(f),
          " format (resize_)");
  }
  resize_tensor(self, size);
  if (f == MemoryFormat::ChannelsLast || f == MemoryFormat::ChannelsLast3d)
    self->set_geometry(size, channels_last_strides(size), self.offset());
  bump_version(self, "resize_");
  return self;
}

Tensor set_(const Tensor& self, const Tensor& source) {
  for (const Tensor* t : {&self, &source})
    check<NotImplementedError>(t->device().type != DeviceType::Transform,
                               "set_: a tensor of a function transform, or a sparse one, has no "
                               "storage to share");
  await_long_work();
  check(self.dtype() == source.dtype(), "set_: expected a source of dtype ", self.dtype(), ", got ",
        source.dtype());
  check(self.device() == source.device(),
        "set_: Expected all tensors to be on the same device, but got ", self.device(), " and ",
        source.device());
  check(!self->requires_grad || !grad_enabled(),
        "set_: cannot change the storage of a tensor that requires grad");
  self->storage = source.storage();
  self->set_geometry(source.sizes(), source.strides(), source.offset());
  bump_version(self, "set_");
  return self;
}

Scalar item(const Tensor& self) {
  check(self.numel() == 1, "a Tensor with ", self.numel(),
        " elements cannot be converted to Scalar");
  check(!self.is_meta(), "Tensor.item() cannot be called on meta tensors");
  if (is_transform(self)) [[unlikely]] {
    const Boxed args[] = {{&self, BoxKind::Tensor}};
    Scalar out;
    boxed_hook("item", args, 1, &out, BoxKind::Scalar, 1);
    return out;
  }
  if (self.dtype() == DType::UInt64 && *self.data<int64_t>() < 0)
    return Scalar::beyond_int64(*self.data<uint64_t>());
  if (is_storage_only(self.dtype())) return item(cast_of(self, info(self.dtype()).compute));
  return visit(self.dtype(), [&](auto tag) -> Scalar {
    using E = typename decltype(tag)::type;
    if constexpr (std::is_same_v<E, bool>) return *self.truth() != 0;
    E v = *self.template data<E>();
    if constexpr (std::is_same_v<E, half_t> || std::is_same_v<E, bfloat16_t>)
      return Scalar(float(v));
    else
      return Scalar(v);
  });
}

DType result_type(const Operand& a, const Operand& b) { return flambeau::result_type(a, b); }

Tensor pad(const Tensor& self, const Dims& pad, const std::string& mode,
           std::optional<double> value) {
  check(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  check(int64_t(pad.size()) <= self.dim() * 2,
        "Padding length should be less than or equal to two times the input dimension but got "
        "padding length ",
        pad.size(), " and input of dimension ", self.dim());
  if (mode == "constant") return constant_pad_nd(self, pad, value ? Scalar(*value) : Scalar(0));
  check(!value || *value == 0, "Padding mode \"", mode, "\" doesn't take in value argument");
  check<NotImplementedError>(mode == "reflect" || mode == "replicate" || mode == "circular",
                             "Unrecognised padding mode ", mode);
  if (thread_state.autocast && mode != "circular" && (mode == "replicate" || pad.size() < 6)) {
    // PyTorch's policy names all of them but this one
    Scoped<bool> off(thread_state.autocast, false);
    return ops::pad(autocast_to(self, DType::Float32), pad, mode, value);
  }
  // each dimension is a gather with the padded positions, of floating tensors in one kernel
  Tensor out = self;
  bool by_kernel = self.is_floating() && pad.size() <= 6 && self.numel() > 0, pads = false;
  for (int64_t amount : pad) by_kernel &= std::abs(amount) < (1 << 28);
  for (int64_t n : self.sizes()) by_kernel &= n < (1 << 28);
  for (size_t i = 0; i < pad.size() / 2; i++) {
    int64_t left = pad[2 * i], right = pad[2 * i + 1], d = self.dim() - 1 - int64_t(i),
            n = self.sizes()[size_t(d)];
    if (left == 0 && right == 0) continue;
    for (int64_t side : {left, right})
      check(side > -(int64_t(1) << 60) && side < (int64_t(1) << 60),
            "pad: padding out of range: ", pad);
    if (mode == "reflect")
      check(
          left < n && right < n,
          "Padding size should be less than the corresponding input dimension, but got: padding (",
          left, ", ", right, ") at dimension ", d, " of input ", self.sizes());
    // what negative amounts cut off is not repeated by the other side
    const int64_t first = std::max<int64_t>(-left, 0),
                  kept = n - first - std::max<int64_t>(-right, 0);
    if (mode == "circular") {
      check(kept >= 0, "Negative padding value is resulting in an empty dimension: padding (", left,
            ", ", right, ") at dimension ", d, " of input ", self.sizes());
      check(left <= kept && right <= kept,
            "Padding value causes wrapping around more than once: padding (", left, ", ", right,
            ") at dimension ", d, " of input ", self.sizes());
    }
    check(n > 0 || (left == 0 && right == 0), "pad: expected non-empty dimension ", d, " of input ",
          self.sizes());
    check(n + left + right > (mode == "circular" ? -1 : 0), "pad: the padded size of dimension ", d,
          " is not positive");
    pads = true;
    if (by_kernel) continue;
    Tensor index = flambeau::empty(Dims{n + left + right}, DType::Int64,
                                   self.is_meta() ? Device{DeviceType::Meta} : Device{});
    if (!index.is_meta()) {
      int64_t* p = index.data<int64_t>();
      for (int64_t k = 0; k < n + left + right; k++) {
        int64_t at = k - left;
        if (mode == "replicate")
          at = std::clamp<int64_t>(at, 0, n - 1);
        else if (mode == "circular")
          at = first + ((at - first) % kept + kept) % kept;
        else
          at = at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at;
        p[k] = at;
      }
    }
    out = index_select(out, d, index);
  }
  if (by_kernel && pads)
    return _pad_from_inside(self, pad, mode == "reflect" ? 0 : mode == "replicate" ? 1 : 2);
  return out.is_same(self) ? clone(self, std::nullopt) : out;
}

}  // namespace flambeau::ops
