// Creation, copies and joining.
#include <cmath>
#include <cstring>

#include "dispatch/promotion.h"
#include "kernels/checks.h"
#include "kernels/number.h"
#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {

namespace {
Device device_or_cpu(std::optional<Device> d) { return d.value_or(Device{}); }
DType dtype_or_default(std::optional<DType> t) { return t.value_or(default_dtype()); }
void check_sizes(const char* op, IntSpan size) {
  for (int64_t s : size)
    check(s >= 0, op, ": Trying to create tensor with negative dimension ", s, ": ", size);
}
}  // namespace

Tensor empty(const Dims& size, std::optional<DType> dtype, std::optional<Device> device,
             std::optional<MemoryFormat> format) {
  check_sizes("empty", size);
  return flambeau::empty(size, dtype_or_default(dtype), device_or_cpu(device),
                         format.value_or(MemoryFormat::Contiguous));
}
Tensor empty_strided(const Dims& size, const Dims& stride, std::optional<DType> dtype,
                     std::optional<Device> device) {
  check_sizes("empty_strided", size);
  return flambeau::empty_strided(size, stride, dtype_or_default(dtype), device_or_cpu(device));
}
Tensor zeros(const Dims& size, std::optional<DType> dtype, std::optional<Device> device) {
  check_sizes("zeros", size);
  Tensor out = flambeau::empty(size, dtype_or_default(dtype), device_or_cpu(device));
  fill_kernel(out, 0);
  return out;
}
Tensor ones(const Dims& size, std::optional<DType> dtype, std::optional<Device> device) {
  check_sizes("ones", size);
  Tensor out = flambeau::empty(size, dtype_or_default(dtype), device_or_cpu(device));
  fill_kernel(out, 1);
  return out;
}
Tensor full(const Dims& size, const Scalar& value, std::optional<DType> dtype,
            std::optional<Device> device) {
  check_sizes("full", size);
  check_fits(value, dtype.value_or(value.dtype()));
  Tensor out = flambeau::empty(size, dtype.value_or(value.dtype()), device_or_cpu(device));
  fill_kernel(out, value);
  return out;
}

static Tensor like(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                   std::optional<MemoryFormat> format) {
  DType t = dtype.value_or(self.dtype());
  Device d = device.value_or(self.device());
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  if (f != MemoryFormat::Preserve || self.is_contiguous())
    return flambeau::empty(self.sizes(), t, d, f);
  return flambeau::empty_strided(self.sizes(), dense_strides_like(self.sizes(), self.strides()), t,
                                 d);
}
Tensor empty_like(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                  std::optional<MemoryFormat> format) {
  return like(self, dtype, device, format);
}
Tensor zeros_like(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                  std::optional<MemoryFormat> format) {
  Tensor out = like(self, dtype, device, format);
  fill_kernel(out, 0);
  return out;
}
Tensor ones_like(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                 std::optional<MemoryFormat> format) {
  Tensor out = like(self, dtype, device, format);
  fill_kernel(out, 1);
  return out;
}
Tensor full_like(const Tensor& self, const Scalar& value, std::optional<DType> dtype,
                 std::optional<Device> device, std::optional<MemoryFormat> format) {
  Tensor out = like(self, dtype, device, format);
  fill_kernel(out, value);
  return out;
}

// ---- ranges
// --------------------------------------------------------------------------------------------

namespace {
DType range_dtype(const Scalar& a, const Scalar& b, const Scalar& c, std::optional<DType> dtype) {
  if (dtype) return *dtype;
  bool integers = a.is_integral() && b.is_integral() && c.is_integral();
  return integers ? DType::Int64 : default_dtype();
}

template <class F>
void fill_by_index(const Tensor& out, F&& f) {
  if (out.is_meta()) return;
  DType t = info(out.dtype()).compute;
  Tensor wide = out.dtype() == t ? out : flambeau::empty(out.sizes(), t);
  visit(t, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E* p = wide.data<E>();
    for (int64_t i = 0; i < wide.numel(); i++) p[i] = E(f(i, E()));
  });
  if (!wide.is_same(out)) copy_kernel(out, wide);
}

Tensor range_of(const char* op, const Scalar& start, const Scalar& end, const Scalar& step,
                std::optional<DType> dtype, std::optional<Device> device, bool inclusive) {
  DType t = range_dtype(start, end, step, dtype);
  double a = start.to_double(), b = end.to_double(), s = step.to_double();
  check(s != 0, "step must be nonzero (", op, ")");
  check(std::isfinite(a) && std::isfinite(b), "unsupported range: ", a, " -> ", b);
  check((s > 0 && b >= a) || (s < 0 && b <= a),
        "upper bound and lower bound inconsistent with step sign");
  double count;
  if (is_integral(t) && start.is_integral() && end.is_integral() && step.is_integral() &&
      !inclusive) {
    int64_t n = end.to_int() - start.to_int(), k = step.to_int();
    count = double((n + k - (k > 0 ? 1 : -1)) / k);
  } else {
    count = inclusive ? std::floor((b - a) / s + 1) : std::ceil((b - a) / s);
  }
  check(count >= 0 && count < 9.0e18, "invalid size, possible overflow? (", op, ")");
  Tensor out = flambeau::empty(Dims{int64_t(count)}, t, device_or_cpu(device));
  if (is_integral(t) && start.is_integral() && step.is_integral()) {
    int64_t i0 = start.to_int(), k = step.to_int();
    fill_by_index(out, [&](int64_t i, auto e) {
      using E = decltype(e);
      if constexpr (std::is_integral_v<E>)
        return int64_t(i0 + i * k);
      else
        return double(i0 + i * k);
    });
  } else if (is_integral(t)) {
    int64_t i0 = int64_t(a), k = int64_t(s);
    fill_by_index(out, [&](int64_t i, auto) { return double(i0 + i * k); });
  } else {
    fill_by_index(out, [&](int64_t i, auto) { return a + double(i) * s; });
  }
  return out;
}
}  // namespace

Tensor arange_start(const Scalar& start, const Scalar& end, const Scalar& step,
                    std::optional<DType> dtype, std::optional<Device> device) {
  check<NotImplementedError>(!dtype || *dtype != DType::Bool,
                             "\"arange_cpu\" not implemented for 'Bool'");
  return range_of("arange", start, end, step, dtype, device, false);
}
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, std::optional<DType> dtype,
             std::optional<Device> device) {
  return range_of("range", start, end, step, dtype.value_or(default_dtype()), device, true);
}

namespace {
Scalar endpoint(const Operand& o, const char* op) {
  if (!o.is_tensor()) return o.scalar();
  check(o.tensor().dim() == 0, op,
        " only supports 0-dimensional start and end tensors, but got start with ", o.tensor().dim(),
        " dimension(s).");
  return ops::item(o.tensor());
}
template <class F>
Tensor spaced(const char* op, const Operand& start, const Operand& end, int64_t steps,
              std::optional<DType> dtype, std::optional<Device> device, F&& f) {
  check(steps >= 0, "number of steps must be non-negative");
  Scalar a = endpoint(start, op), b = endpoint(end, op);
  bool complex_ends = a.is_complex() || b.is_complex();
  DType t = dtype.value_or(complex_ends ? complex_dtype(default_dtype()) : default_dtype());
  check(!complex_ends || is_complex(t), op, "(): inferred dtype ", complex_dtype(default_dtype()),
        " can't be safely cast to passed dtype ", t);
  Tensor out = flambeau::empty(Dims{steps}, t, device_or_cpu(device));
  if (out.is_meta() || steps == 0) return out;
  if (is_complex(t)) {
    complex128_t x = a.to_complex(), y = b.to_complex(),
                 step = steps > 1 ? (y - x) / double(steps - 1) : 0.0;
    fill_by_index(out, [&](int64_t i, auto e) {
      using E = decltype(e);
      complex128_t v = i < steps / 2 ? x + step * double(i) : y - step * double(steps - 1 - i);
      v = f(steps == 1 ? x : v);
      if constexpr (std::is_same_v<E, complex64_t>)
        return complex64_t(float(v.real()), float(v.imag()));
      else if constexpr (std::is_same_v<E, complex128_t>)
        return v;
      else
        return v.real();
    });
    return out;
  }
  double x = a.to_double(), y = b.to_double();
  if (t == DType::Float32 || info(t).compute == DType::Float32) {
    // the steps are float32 as the result is
    float xf = float(x), yf = float(y), step = steps > 1 ? (yf - xf) / float(steps - 1) : 0.0f;
    fill_by_index(out, [&](int64_t i, auto) {
      float v = steps == 1      ? xf
                : i < steps / 2 ? xf + step * float(i)
                                : yf - step * float(steps - 1 - i);
      return f(v);
    });
    return out;
  }
  if (category(t) <= Category::Integral) {
    x = double(a.to_int());
    y = double(b.to_int());
  }
  double step = steps > 1 ? (y - x) / double(steps - 1) : 0.0;
  fill_by_index(out, [&](int64_t i, auto) {
    double v = steps == 1      ? x
               : i < steps / 2 ? x + step * double(i)
                               : y - step * double(steps - 1 - i);
    return f(v);
  });
  return out;
}
}  // namespace

Tensor linspace(const Operand& start, const Operand& end, int64_t steps, std::optional<DType> dtype,
                std::optional<Device> device) {
  return spaced("linspace", start, end, steps, dtype, device, [](auto v) { return v; });
}
Tensor logspace(const Operand& start, const Operand& end, int64_t steps, double base,
                std::optional<DType> dtype, std::optional<Device> device) {
  return spaced("logspace", start, end, steps, dtype, device, [base](auto v) {
    using V = decltype(v);
    if constexpr (std::is_same_v<V, complex128_t>)
      return std::pow(complex128_t(base), v);
    else
      return V(std::pow(V(base), v));
  });
}

Tensor eye(int64_t n, std::optional<int64_t> m, std::optional<DType> dtype,
           std::optional<Device> device) {
  int64_t cols = m.value_or(n);
  check(n >= 0, "n must be greater or equal to 0, got ", n);
  check(cols >= 0, "m must be greater or equal to 0, got ", cols);
  Tensor out = zeros(Dims{n, cols}, dtype, device);
  if (!out.is_meta()) fill_kernel(diagonal(out, 0, 0, 1), 1);
  return out;
}

namespace {
Tensor triangle(int64_t rows, int64_t cols, int64_t offset, bool lower, std::optional<DType> dtype,
                std::optional<Device> device) {
  check(rows >= 0 && cols >= 0, "row and col must be non-negative, got ", rows, " and ", cols);
  DType t = dtype.value_or(DType::Int64);
  check(t == DType::Int64 || t == DType::Int32, "\"tri_indices\" not implemented for '",
        info(t).name, "'");
  // columns of row i: [first, last)
  auto first = [&](int64_t i) { return lower ? 0 : std::clamp(i + offset, int64_t(0), cols); };
  auto last = [&](int64_t i) {
    return lower ? std::clamp(i + offset + 1, int64_t(0), cols) : cols;
  };
  check(rows < (int64_t(1) << 40) && cols < (int64_t(1) << 60) && offset > -(int64_t(1) << 60) &&
            offset < (int64_t(1) << 60),
        "tri_indices: too many rows or columns, or offset too large: ", rows, ", ", cols, ", ",
        offset);
  // only rows [begin, end) have entries; rows [full, stop) of them have all columns
  const int64_t begin = lower ? std::clamp(-offset, int64_t(0), rows) : 0,
                end = lower ? rows : std::clamp(cols - offset, int64_t(0), rows),
                full = lower ? std::clamp(cols - offset - 1, begin, end) : begin,
                stop = lower ? end : std::clamp(1 - offset, begin, end);
  check(double(end - begin) * double(cols) < 0x1p58, "tri_indices: too many indices");
  auto between = [&](int64_t a, int64_t b) {  // entries of rows whose lengths change by one
    return a < b ? (last(a) - first(a) + last(b - 1) - first(b - 1)) * (b - a) / 2 : 0;
  };
  const int64_t n = between(begin, full) + (stop - full) * cols + between(stop, end);
  Tensor out = flambeau::empty(Dims{2, n}, DType::Int64);
  int64_t* r = out.data<int64_t>();
  for (int64_t i = begin, k = 0; k < n; i++)
    for (int64_t j = first(i); j < last(i); j++, k++) {
      r[k] = i;
      r[n + k] = j;
    }
  Device d = device_or_cpu(device);
  return d.type == DeviceType::Meta ? flambeau::empty(out.sizes(), t, d) : cast_of(out, t);
}
}  // namespace
Tensor tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
                    std::optional<Device> device) {
  return triangle(row, col, offset, true, dtype, device);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
                    std::optional<Device> device) {
  return triangle(row, col, offset, false, dtype, device);
}

// ---- copies
// ----------------------------------------------------------------------------------------------

Tensor clone(const Tensor& self, std::optional<MemoryFormat> format) {
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  Tensor out;
  if (f != MemoryFormat::Preserve)
    out = flambeau::empty(self.sizes(), self.dtype(), self.device(), f);
  else if (self.is_contiguous() || !is_non_overlapping_and_dense(self.sizes(), self.strides()))
    out = flambeau::empty_like(self);
  else
    out = flambeau::empty_strided(self.sizes(), self.strides(), self.dtype(), self.device());
  copy_kernel(out, self);
  return out;
}

Tensor copy_(const Tensor& self, const Tensor& src, bool) {
  Tensor source = equal(src.sizes(), self.sizes()) ? src : expand(src, self.sizes(), false);
  check_overlap("copy_", self, self);
  check<NotImplementedError>(!src.is_meta() || self.is_meta(),
                             "Cannot copy out of meta tensor; no data!");
  copy_kernel(self, source);
  return self;
}

Tensor fill_(const Tensor& self, const Operand& value) {
  // a number may go to one place many times, but what has a history would count its gradient so
  if (value.is_tensor() || self.requires_grad()) check_overlap("fill_", self, self);
  if (value.is_tensor()) {
    check(value.tensor().dim() == 0,
          "fill_ only supports 0-dimension value tensor but got tensor with ", value.tensor().dim(),
          " dimensions.");
    if (!self.is_meta()) fill_kernel(self, ops::item(value.tensor()));
  } else {
    check(!(value.scalar().is_complex() && !self.is_complex() &&
            value.scalar().to_complex().imag() != 0),
          "value cannot be converted to type ", self.dtype(), " without overflow");
    check_fits(value.scalar(), self.dtype());
    fill_kernel(self, value.scalar());
  }
  return self;
}

Tensor fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap) {
  check(self.dim() >= 2, "dimensions must larger than 1");
  int64_t height = self.sizes()[0], width = self.sizes()[1];
  for (int64_t s : self.sizes())
    check(self.dim() == 2 || s == height, "all dimensions of input must be of equal length");
  int64_t step = 0, n = height;
  for (int64_t d = 0; d < self.dim(); d++) {
    step += self.strides()[size_t(d)];
    n = std::min(n, self.sizes()[size_t(d)]);
  }
  if (self.is_meta()) return self;
  fill_kernel(flambeau::alias(self, Dims{n}, Dims{step}, self.offset()), value);
  if (wrap && self.dim() == 2 && height > width + 1) {
    for (int64_t block = width + 1; block < height; block += width + 1) {
      int64_t k = std::min(width, height - block);
      fill_kernel(
          flambeau::alias(self, Dims{k}, Dims{step}, self.offset() + self.strides()[0] * block),
          value);
    }
  }
  return self;
}

Tensor _to_dtype(const Tensor& self, DType dtype) {
  Tensor out = flambeau::empty_like(self, dtype);
  copy_kernel(out, self);
  return out;
}

Tensor complex(const Tensor& re, const Tensor& im) {
  auto fits = [](DType t) {
    return t == DType::Float32 || t == DType::Float64 || t == DType::Float16;
  };
  check(fits(re.dtype()) && fits(im.dtype()),
        "Expected both inputs to be Half, Float or Double tensors but got ", re.dtype(), " and ",
        im.dtype());
  check(re.dtype() == im.dtype(), "Expected object of scalar type ", re.dtype(),
        " but got scalar type ", im.dtype(), " for second argument");
  Dims sizes = broadcast_shapes(re.sizes(), im.sizes());
  Tensor out = flambeau::empty(sizes, complex_dtype(re.dtype()), re.device());
  if (out.is_meta()) return out;
  Tensor parts = view_as_real(out);
  copy_kernel(select(parts, -1, 0), expand(re, sizes, false));
  copy_kernel(select(parts, -1, 1), expand(im, sizes, false));
  return out;
}

// ---- joining and moving
// -------------------------------------------------------------------------------------

Tensor cat(const TensorList& tensors, int64_t dim) {
  check<ValueError>(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  ResultType type;
  // legacy: 1-d empty tensors are skipped whatever the others' shapes
  auto skipped = [](const Tensor& t) { return t.dim() == 1 && t.sizes()[0] == 0; };
  const Tensor* first = nullptr;
  for (size_t i = 0; i < tensors.size(); i++) {
    check(tensors[i].dim() > 0, "zero-dimensional tensor (at position ", i,
          ") cannot be concatenated");
    type.add(tensors[i]);
    if (!first && !skipped(tensors[i])) first = &tensors[i];
  }
  DType t = type.get();
  if (!first) {
    wrap_dim(dim, 1);
    return flambeau::empty(Dims{0}, t, tensors[0].device());
  }
  size_t d = size_t(wrap_dim(dim, first->dim()));
  Dims sizes = first->sizes();
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor& x = tensors[i];
    if (skipped(x)) continue;
    check(x.dim() == first->dim(), "Tensors must have same number of dimensions: got ",
          first->dim(), " and ", x.dim());
    for (size_t k = 0; k < sizes.size(); k++)
      check(k == d || x.sizes()[k] == first->sizes()[k],
            "Sizes of tensors must match except in dimension ", d, ". Expected size ",
            first->sizes()[k], " but got size ", x.sizes()[k], " for tensor number ", i,
            " in the list.");
    sizes[d] += x.sizes()[d];
  }
  MemoryFormat format = MemoryFormat::Contiguous;
  if (first->dim() >= 4) {
    format = suggest_memory_format(*first);
    for (auto& x : tensors)
      if (suggest_memory_format(x) != format) format = MemoryFormat::Contiguous;
  }
  Tensor out = flambeau::empty(sizes, t, first->device(), format);
  int64_t at = 0;
  for (auto& x : tensors) {
    if (skipped(x)) continue;
    Dims shape = x.sizes();
    copy_kernel(flambeau::alias(out, shape, out.strides(), out.offset() + at * out.strides()[d]),
                x);
    at += x.sizes()[d];
  }
  return out;
}

Tensor repeat(const Tensor& self, const Dims& repeats) {
  check(
      int64_t(repeats.size()) >= self.dim(),
      "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  size_t lead = repeats.size() - size_t(self.dim());
  Dims sizes, grid_sizes, source_sizes, source_strides;
  for (size_t i = 0; i < repeats.size(); i++) {
    check(repeats[i] >= 0, "Trying to create tensor with negative dimension ", repeats[i], ": ",
          repeats);
    int64_t n = i < lead ? 1 : self.sizes()[i - lead];
    int64_t size;
    check(!__builtin_mul_overflow(n, repeats[i], &size),
          "Storage size calculation overflowed: repeat of shape ", self.sizes(), " by ", repeats);
    sizes.push_back(size);
    grid_sizes.push_back(repeats[i]);
    grid_sizes.push_back(n);
    source_sizes.push_back(repeats[i]);
    source_sizes.push_back(n);
    source_strides.push_back(0);
    source_strides.push_back(i < lead ? 0 : self.strides()[i - lead]);
  }
  Tensor out = flambeau::empty(sizes, self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  copy_kernel(flambeau::alias(out, grid_sizes, contiguous_strides(grid_sizes), 0),
              flambeau::alias(self, source_sizes, source_strides, self.offset()));
  return out;
}

Tensor flip(const Tensor& self, const Dims& dims) {
  Tensor out = flambeau::empty_like(self);
  Dims which = dims.empty() ? Dims{} : wrap_dims(dims, self.dim());
  if (out.is_meta() || out.numel() == 0) return out;
  // the reversed dimensions are walked with an index, the rest is copied slice by slice
  if (which.empty()) {
    copy_kernel(out, self);
    return out;
  }
  int64_t count = 1;
  for (int64_t d : which) count *= self.sizes()[size_t(d)];
  Dims sizes = self.sizes();
  for (int64_t d : which) sizes[size_t(d)] = 1;
  for (int64_t k = 0; k < count; k++) {
    int64_t rest = k, to = out.offset(), from = self.offset();
    for (size_t i = which.size(); i-- > 0;) {
      size_t d = size_t(which[i]);
      int64_t n = self.sizes()[d], at = rest % n;
      rest /= n;
      to += at * out.strides()[d];
      from += (n - 1 - at) * self.strides()[d];
    }
    copy_kernel(flambeau::alias(out, sizes, out.strides(), to),
                flambeau::alias(self, sizes, self.strides(), from));
  }
  return out;
}

Tensor roll(const Tensor& self, const Dims& shifts, const Dims& dims) {
  check(!shifts.empty(), "`shifts` required");
  if (dims.empty()) {
    check(shifts.size() == 1, "shifts and dimensions must align. shifts: ", shifts.size(),
          ", dims:0");
    Tensor flat = contiguous_of(self);
    Tensor line = flambeau::alias(flat, Dims{self.numel()}, Dims{1}, flat.offset());
    Tensor moved = roll(line, shifts, Dims{0});
    return flambeau::alias(moved, self.sizes(), contiguous_strides(self.sizes()), 0);
  }
  check(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
        ", dims:", dims.size());
  Tensor current = self;
  for (size_t i = 0; i < dims.size(); i++) {
    size_t d = size_t(wrap_dim(dims[i], self.dim()));
    Tensor out = flambeau::empty(self.sizes(), self.dtype(), self.device());
    if (out.is_meta()) return out;
    int64_t n = self.dim() ? self.sizes()[d] : 1;
    int64_t s = n ? ((shifts[i] % n) + n) % n : 0;
    if (self.dim() == 0 || n == 0) {
      copy_kernel(out, current);
    } else {
      copy_kernel(slice(out, int64_t(d), s, n, 1), slice(current, int64_t(d), 0, n - s, 1));
      copy_kernel(slice(out, int64_t(d), 0, s, 1), slice(current, int64_t(d), n - s, n, 1));
    }
    current = out;
  }
  return current;
}

namespace {
Tensor triangular(const Tensor& self, int64_t diagonal, bool lower, const char* op) {
  check(self.dim() >= 2, op, ": input tensor must have at least 2 dimensions");
  Tensor out = flambeau::empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor source = contiguous_of(self);
  diagonal = std::clamp(diagonal, -self.size(-2) - 1, self.size(-1) + 1);  // beyond is the same
  int64_t rows = self.size(-2), cols = self.size(-1), matrices = self.numel() / (rows * cols),
          w = self.itemsize();
  for (int64_t m = 0; m < matrices; m++)
    for (int64_t r = 0; r < rows; r++) {
      char* to = out.bytes() + ((m * rows + r) * cols) * w;
      const char* from = source.bytes() + ((m * rows + r) * cols) * w;
      int64_t split = std::clamp<int64_t>(r + diagonal + (lower ? 1 : 0), 0, cols);
      int64_t keep_from = lower ? 0 : split, keep_to = lower ? split : cols;
      std::memset(to, 0, size_t(cols * w));
      std::memcpy(to + keep_from * w, from + keep_from * w, size_t((keep_to - keep_from) * w));
    }
  return out;
}
}  // namespace
Tensor tril(const Tensor& self, int64_t diagonal) {
  return triangular(self, diagonal, true, "tril");
}
Tensor triu(const Tensor& self, int64_t diagonal) {
  return triangular(self, diagonal, false, "triu");
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t n = self.dim() + 1;
  int64_t a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
  check(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  check(self.dim() > 0, "diag_embed: expected at least one dimension");
  check(offset > -(int64_t(1) << 60) && offset < (int64_t(1) << 60),
        "diag_embed: offset out of range: ", offset);
  int64_t length = self.sizes().back() + std::abs(offset);
  Dims sizes = self.sizes();
  sizes.pop_back();
  sizes.insert(size_t(std::min(a, b)), length);
  sizes.insert(size_t(std::max(a, b)), length);
  Tensor out = flambeau::empty(sizes, self.dtype(), self.device());
  fill_kernel(out, 0);
  if (!out.is_meta()) copy_kernel(diagonal(out, offset, a, b), self);
  return out;
}

Tensor constant_pad_nd(const Tensor& self, const Dims& pad, const Scalar& value) {
  Dims sizes = self.sizes();
  check(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  check(int64_t(pad.size()) <= 2 * self.dim(),
        "Length of pad should be no more than twice the number of dimensions of the input. Pad "
        "length is ",
        pad.size(), " while the input has ", self.dim(), " dimensions.");
  Tensor source = self;
  Dims inner_start(size_t(self.dim()), 0);
  check(pad.size() % 2 == 0 && int64_t(pad.size()) <= self.dim() * 2,
        "constant_pad_nd: Length of pad must be even and no more than twice the dimension of the "
        "input, but got ",
        pad.size(), " entries for input of shape ", self.sizes());
  for (size_t i = 0; i < pad.size() / 2; i++) {
    size_t d = size_t(self.dim()) - 1 - i;
    int64_t left = pad[2 * i], right = pad[2 * i + 1];
    const bool overflow = __builtin_add_overflow(sizes[d], left, &sizes[d]) ||
                          __builtin_add_overflow(sizes[d], right, &sizes[d]) ||
                          std::min(left, right) < -kLargestStep * kLargestStep;
    check(sizes[d] >= 0 && !overflow, "The input size ", self.sizes()[d],
          ", plus negative padding ", left, " and ", right,
          ", resulted in a negative output size, which is invalid. Check dimension ", d,
          " of your input.");
    int64_t from = std::max<int64_t>(-left, 0), to = self.sizes()[d] - std::max<int64_t>(-right, 0);
    source = slice(source, int64_t(d), from, std::max(from, to), 1);
    inner_start[d] = std::max<int64_t>(left, 0);
  }
  Tensor out = flambeau::empty(sizes, self.dtype(), self.device(), suggest_memory_format(self));
  if (out.is_meta()) return out;
  fill_kernel(out, value);
  int64_t offset = out.offset();
  for (size_t d = 0; d < sizes.size(); d++) offset += inner_start[d] * out.strides()[d];
  if (source.numel())
    copy_kernel(flambeau::alias(out, source.sizes(), out.strides(), offset), source);
  return out;
}

}  // namespace flambeau::kernels
