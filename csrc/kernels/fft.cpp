// Fourier transforms of tensors: layouts, normalisation, real transforms.
#include <algorithm>
#include <cmath>

#include "kernels/checks.h"
#include "kernels/fft_plan.h"
#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

// The order of the dimensions in the memory of a result: those that are not transformed, then those
// that are, each by falling strides of the input; the last `fixed` of `dim` stay last.
struct Layout {
  Dims order, dims;

  Layout(const Tensor& t, const Dims& dim, size_t fixed) {
    for (int64_t d : dim) {
      check<IndexError>(t.dim() > 0, "Dimension specified as ", d, " but tensor has no dimensions");
      dims.push_back(wrap_dim(d, t.dim()));
      check(std::count(dims.begin(), dims.end(), dims.back()) == 1, "FFT dims must be unique");
    }
    auto further = [&](int64_t a, int64_t b) {
      return t.strides()[size_t(a)] > t.strides()[size_t(b)];
    };
    std::stable_sort(dims.begin(), dims.end() - fixed, further);
    for (int64_t d = 0; d < t.dim(); d++)
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
    std::stable_sort(order.begin(), order.end(), further);
    for (int64_t d : dims) order.push_back(d);
  }

  Dims strides(IntSpan sizes) const {
    check_sizes("fft", "n", sizes);
    Dims out(sizes.size(), 1);
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
      out[size_t(order[i])] = step;
      step *= std::max<int64_t>(sizes[size_t(order[i])], 1);
    }
    return out;
  }

  Tensor result(IntSpan sizes, DType dtype, Device device) const {
    return flambeau::empty_strided(sizes, strides(sizes), dtype, device);
  }

  // `t` with its elements in this order, itself where they lie so.
  Tensor ordered(const Tensor& t) const {
    const Dims want = strides(t.sizes());
    bool same = true;
    for (size_t d = 0; d < want.size(); d++)
      same = same && (t.sizes()[d] == 1 || t.strides()[d] == want[d]);
    if (same) return t;
    Tensor out = flambeau::empty_strided(t.sizes(), want, t.dtype());
    copy_kernel(out, t);
    return out;
  }
};

double normalizer(int64_t normalization, double points) {
  check(normalization >= 0 && normalization <= 2, "Unsupported normalization type ", normalization);
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(points) : 1 / points;
}

double points_of(IntSpan sizes, IntSpan dims) {
  double n = 1;
  for (int64_t d : dims) n *= double(sizes[size_t(d)]);
  return n;
}

void check_kind(const char* op, const Tensor& t, bool complex) {
  check(complex ? t.is_complex() : t.dtype() == DType::Float32 || t.dtype() == DType::Float64, op,
        "(): expected a ", complex ? "complex" : "float32 or float64", " tensor, got ", t.dtype());
}

// Transforms the dimension at place `at` of the order, in place.
void transform(const Tensor& t, const Layout& layout, size_t at, bool forward, double scale) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < layout.order.size(); i++)
    if (i != at) (i < at ? outer : inner) *= t.sizes()[size_t(layout.order[i])];
  const auto plan = fft_plan(t.sizes()[size_t(layout.order[at])], real_dtype(t.dtype()));
  fft_columns(*plan, t.bytes(), outer, inner, forward ? FftForm::Pairs : FftForm::Swapped, scale);
}

// out[n - k] = conj(out[k]) for the upper half of each line.
template <class C>
void mirror(C* line, int64_t n, int64_t lines) {
  for (int64_t l = 0; l < lines; l++, line += n)
    for (int64_t k = n / 2 + 1; k < n; k++) line[k] = std::conj(line[n - k]);
}

template <class F>
void visit_complex(DType t, F&& f) {
  if (t == DType::Complex64)
    f(complex64_t());
  else
    f(complex128_t());
}

}  // namespace

Tensor _fft_c2c(const Tensor& self, const Dims& dim, int64_t normalization, bool forward) {
  check_kind("_fft_c2c", self, true);
  const Layout layout(self, dim, 0);
  Tensor out = layout.result(self.sizes(), self.dtype(), self.device());
  double scale = normalizer(normalization, points_of(self.sizes(), layout.dims));
  if (out.is_meta()) return out;
  LongWork guard(out.numel() > 16384);
  if (dim.size() == 1 && self.is_contiguous() && out.numel() > 0) {
    const int64_t d = layout.dims[0], n = self.sizes()[size_t(d)];
    int64_t inner = 1;
    for (int64_t k = d + 1; k < self.dim(); k++) inner *= self.sizes()[size_t(k)];
    const auto plan = fft_plan(n, real_dtype(self.dtype()));
    if (inner > 1 && !plan->passes.empty() && n <= kDirectColumns) {
      fft_columns_to_lines(*plan, self.bytes(), out.bytes(), out.numel() / (n * inner), inner,
                           forward ? FftForm::Pairs : FftForm::Swapped, scale);
      return out;
    }
  }
  const Tensor from = dim.empty() ? self : layout.ordered(self);
  size_t at = layout.order.size();
  if (from.is_same(self) && !dim.empty() && out.numel()) {
    // the last dimension lies in lines: read them from the input
    at--;
    const int64_t n = self.sizes()[size_t(layout.order[at])];
    const FftForm form = forward ? FftForm::Pairs : FftForm::Swapped;
    fft_lines(*fft_plan(n, real_dtype(self.dtype())), {self.bytes(), self.bytes(), n, form},
              {out.bytes(), out.bytes(), n, form}, out.numel() / n, scale);
    scale = 1;
  } else if (from.is_same(self)) {
    copy_kernel(out, self);
  } else {
    out = from;
  }
  if (out.numel() == 0) return out;
  for (const size_t first = layout.order.size() - layout.dims.size(); at > first;) {
    transform(out, layout, --at, forward, scale);
    scale = 1;
  }
  return out;
}

Tensor _fft_r2c(const Tensor& self, const Dims& dim, int64_t normalization, bool onesided) {
  check_kind("_fft_r2c", self, false);
  check(!dim.empty(), "_fft_r2c(): dim must name a dimension");
  const Layout layout(self, dim, 1);
  const DType complex = complex_dtype(self.dtype());
  const int64_t last = layout.dims.back(), n = self.sizes()[size_t(last)],
                row = onesided ? n / 2 + 1 : n;
  Dims sizes = self.sizes();
  sizes[size_t(last)] = row;
  Tensor out = layout.result(sizes, complex, self.device());
  const double scale = normalizer(normalization, points_of(self.sizes(), layout.dims));
  if (out.is_meta() || out.numel() == 0) return out;
  LongWork guard(out.numel() > 16384);
  const int64_t lines = out.numel() / row;
  Tensor x = layout.ordered(self);
  if (n % 2 == 0) {
    fft_real_lines(n, self.dtype(), x.bytes(), out.bytes(), row, lines, scale);
    if (!onesided)
      visit_complex(complex, [&](auto tag) { mirror(out.data<decltype(tag)>(), n, lines); });
  } else {
    Tensor wide =
        onesided ? flambeau::empty_strided(x.sizes(), layout.strides(x.sizes()), complex) : out;
    convert_elements(wide.bytes(), complex, x.bytes(), x.dtype(), x.numel());
    const FftMatrix m{wide.bytes(), wide.bytes(), n, FftForm::Pairs};
    fft_lines(*fft_plan(n, self.dtype()), m, m, lines, scale);
    if (onesided)
      for (int64_t l = 0; l < lines; l++)
        std::copy_n(wide.bytes() + l * n * wide.itemsize(), row * wide.itemsize(),
                    out.bytes() + l * row * wide.itemsize());
  }
  for (size_t at = layout.order.size() - 1; at > layout.order.size() - layout.dims.size();)
    transform(out, layout, --at, true, 1);
  return out;
}

Tensor _fft_c2r(const Tensor& self, const Dims& dim, int64_t normalization, int64_t last_dim_size) {
  check_kind("_fft_c2r", self, true);
  check(!dim.empty(), "_fft_c2r(): dim must name a dimension");
  const int64_t n = last_dim_size, last = wrap_dim(dim.back(), self.dim());
  check(n >= 1 && self.sizes()[size_t(last)] == n / 2 + 1, "_fft_c2r(): ", n,
        " real numbers come from ", n / 2 + 1, " complex ones, but dimension ", last, " has ",
        self.sizes()[size_t(last)]);
  Dims others = dim;
  others.pop_back();
  Tensor half = others.empty() ? self : _fft_c2c(self, others, 0, false);
  const Layout layout(half, Dims{last}, 1);
  Dims sizes = self.sizes(), all;
  sizes[size_t(last)] = n;
  for (int64_t d : dim) all.push_back(wrap_dim(d, self.dim()));
  const DType real = real_dtype(self.dtype());
  Tensor out = layout.result(sizes, real, self.device());
  const double scale = normalizer(normalization, points_of(sizes, all));
  if (out.is_meta() || out.numel() == 0) return out;
  LongWork guard(out.numel() > 16384);
  const int64_t lines = out.numel() / n, row = n / 2 + 1;
  half = layout.ordered(half);
  if (n % 2 == 0) {
    fft_real_lines_back(n, real, half.bytes(), out.bytes(), lines, scale);
    return out;
  }
  visit_complex(self.dtype(), [&](auto tag) {
    using C = decltype(tag);
    Tensor wide = empty(Dims{lines, n}, self.dtype());
    C *w = wide.data<C>(), *x = half.data<C>();
    for (int64_t l = 0; l < lines; l++) {
      std::copy_n(x + l * row, row, w + l * n);
      w[l * n] = w[l * n].real();
    }
    mirror(w, n, lines);
    const FftMatrix m{w, w, n, FftForm::Swapped};
    fft_lines(*fft_plan(n, real), m, m, lines, scale);
    auto* y = out.data<typename C::value_type>();
    for (int64_t i = 0; i < lines * n; i++) y[i] = w[i].real();
  });
  return out;
}

}  // namespace flambeau::kernels
