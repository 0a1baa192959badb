// Public Fourier transforms: arguments, dtypes, cutting and padding; derivatives.
#include <numeric>

#include "autograd/formulas.h"
#include "ops/all.h"

namespace flambeau {
namespace ops {
namespace {

enum Normalization : int64_t { kNone, kRoot, kAll };

// Which direction divides: `norm` speaks of the pair of a transform and its inverse.
int64_t normalization(const std::optional<std::string>& norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kNone : kAll;
  if (*norm == "forward") return forward ? kAll : kNone;
  check(*norm == "ortho", "Invalid normalization mode: \"", *norm,
        "\" (norm is \"backward\", \"ortho\" or \"forward\")");
  return kRoot;
}

// Integers become floating, and where `complex` real numbers complex.
Tensor transformable(const Tensor& t, bool complex) {
  DType d = t.dtype();
  if (category(d) <= Category::Integral) d = default_dtype();
  check(d != DType::Float16 && d != DType::BFloat16 && d != DType::Complex32, "Unsupported dtype ",
        info(d).scalar_type, " (Fourier transforms take float32, float64 and complex tensors)");
  if (complex) d = is_complex(d) ? d : complex_dtype(d);
  return d == t.dtype() ? t : _to_dtype(t, d);
}

void check_real_input(const char* op, const Tensor& t) {
  check(!t.is_complex(), op, " expects a real input tensor, but got ",
        t.dtype() == DType::Complex64 ? "ComplexFloat" : "ComplexDouble");
}

int64_t transformed_dim(const Tensor& t, int64_t dim) {
  check<IndexError>(t.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  return wrap_dim(dim, t.dim());
}

void check_points(int64_t n) { check(n >= 1, "Invalid number of data points (", n, ") specified"); }

// Cut or padded with zeros to `sizes` along `dims`.
Tensor resized(const Tensor& t, const Dims& dims, const Dims& sizes) {
  Tensor out = t;
  Dims pad(size_t(2 * t.dim()), 0);
  bool pads = false;
  for (size_t i = 0; i < dims.size(); i++) {
    const int64_t have = t.sizes()[size_t(dims[i])], want = sizes[i];
    if (want < have) out = slice(out, dims[i], 0, want, 1);
    if (want > have) {
      pad[size_t(2 * (t.dim() - 1 - dims[i]) + 1)] = want - have;
      pads = true;
    }
  }
  return pads ? constant_pad_nd(out, pad, 0) : out;
}

// ---- one dimension

// Complex to complex, or real to all frequencies.
Tensor one_to_complex(const Tensor& self, std::optional<int64_t> n, int64_t dim,
                      const std::optional<std::string>& norm, bool forward) {
  const Tensor x = transformable(self, !forward);
  const int64_t d = transformed_dim(x, dim), points = n.value_or(x.sizes()[size_t(d)]);
  check_points(points);
  const Tensor t = resized(x, Dims{d}, Dims{points});
  const int64_t divides = normalization(norm, forward);
  return t.is_complex() ? _fft_c2c(t, Dims{d}, divides, forward)
                        : _fft_r2c(t, Dims{d}, divides, false);
}

Tensor one_real(const char* op, const Tensor& self, std::optional<int64_t> n, int64_t dim,
                const std::optional<std::string>& norm, bool forward) {
  check_real_input(op, self);
  const Tensor x = transformable(self, false);
  const int64_t d = transformed_dim(x, dim), points = n.value_or(x.sizes()[size_t(d)]);
  check_points(points);
  Tensor out =
      _fft_r2c(resized(x, Dims{d}, Dims{points}), Dims{d}, normalization(norm, forward), true);
  return forward ? out : conj(out);
}

Tensor one_to_real(const Tensor& self, std::optional<int64_t> n, int64_t dim,
                   const std::optional<std::string>& norm, bool forward) {
  const Tensor x = transformable(self, true);
  const int64_t d = transformed_dim(x, dim), points = n.value_or(2 * (x.sizes()[size_t(d)] - 1));
  check_points(points);
  const Tensor t = resized(x, Dims{d}, Dims{points / 2 + 1});
  return _fft_c2r(forward ? conj(t) : t, Dims{d}, normalization(norm, forward), points);
}

// ---- several dimensions

struct Shape {
  Dims dims, sizes;

  Shape(const Tensor& t, const std::optional<Dims>& s, const std::optional<Dims>& dim) {
    if (dim) {
      for (int64_t d : *dim) dims.push_back(transformed_dim(t, d));
      for (size_t i = 0; i < dims.size(); i++)
        for (size_t k = 0; k < i; k++) check(dims[i] != dims[k], "FFT dims must be unique");
      check(!s || s->size() == dim->size(),
            "When given, dim and shape arguments must have the same length");
    } else {
      const size_t count = s ? s->size() : size_t(t.dim());
      check(int64_t(count) <= t.dim(), "Got shape with ", count,
            " values but input tensor only has ", t.dim(), " dimensions.");
      for (size_t i = 0; i < count; i++) dims.push_back(t.dim() - int64_t(count - i));
    }
    for (size_t i = 0; i < dims.size(); i++) {
      const int64_t have = t.sizes()[size_t(dims[i])];
      sizes.push_back(s && (*s)[i] != -1 ? (*s)[i] : have);
    }
  }
  void check_sizes() const {
    for (int64_t n : sizes) check_points(n);
  }
  // The last size is the real signal's: twice that of the half spectrum, less two, by default.
  int64_t take_real(const std::optional<Dims>& s) {
    const int64_t n = s && s->back() != -1 ? s->back() : 2 * (sizes.back() - 1);
    check_points(n);
    sizes.back() = n / 2 + 1;
    return n;
  }
  void check_some(const char* op) const {
    check(!dims.empty(), op, " must transform at least one axis");
  }
};

}  // namespace

Tensor fft_fft_uncast(const Tensor& self, std::optional<int64_t> n, int64_t dim,
                      const std::optional<std::string>& norm) {
  return one_to_complex(self, n, dim, norm, true);
}
Tensor fft_ifft_uncast(const Tensor& self, std::optional<int64_t> n, int64_t dim,
                       const std::optional<std::string>& norm) {
  return one_to_complex(self, n, dim, norm, false);
}
Tensor fft_rfft_uncast(const Tensor& self, std::optional<int64_t> n, int64_t dim,
                       const std::optional<std::string>& norm) {
  return one_real("rfft", self, n, dim, norm, true);
}
Tensor fft_ihfft_uncast(const Tensor& self, std::optional<int64_t> n, int64_t dim,
                        const std::optional<std::string>& norm) {
  return one_real("ihfft", self, n, dim, norm, false);
}
Tensor fft_irfft_uncast(const Tensor& self, std::optional<int64_t> n, int64_t dim,
                        const std::optional<std::string>& norm) {
  return one_to_real(self, n, dim, norm, false);
}
Tensor fft_hfft_uncast(const Tensor& self, std::optional<int64_t> n, int64_t dim,
                       const std::optional<std::string>& norm) {
  return one_to_real(self, n, dim, norm, true);
}

Tensor fft_fftn_uncast(const Tensor& self, const std::optional<Dims>& s,
                       const std::optional<Dims>& dim, const std::optional<std::string>& norm) {
  const Shape shape(self, s, dim);
  shape.check_sizes();
  const Tensor x = transformable(self, true);
  return _fft_c2c(resized(x, shape.dims, shape.sizes), shape.dims, normalization(norm, true), true);
}
Tensor fft_ifftn_uncast(const Tensor& self, const std::optional<Dims>& s,
                        const std::optional<Dims>& dim, const std::optional<std::string>& norm) {
  const Shape shape(self, s, dim);
  shape.check_sizes();
  const Tensor x = transformable(self, true);
  return _fft_c2c(resized(x, shape.dims, shape.sizes), shape.dims, normalization(norm, false),
                  false);
}
Tensor fft_rfftn_uncast(const Tensor& self, const std::optional<Dims>& s,
                        const std::optional<Dims>& dim, const std::optional<std::string>& norm) {
  check(!self.is_complex(), "rfftn expects a real-valued input tensor, but got ",
        self.dtype() == DType::Complex64 ? "ComplexFloat" : "ComplexDouble");
  const Shape shape(self, s, dim);
  shape.check_some("rfftn");
  shape.check_sizes();
  const Tensor x = resized(transformable(self, false), shape.dims, shape.sizes);
  return _fft_r2c(x, shape.dims, normalization(norm, true), true);
}
Tensor fft_irfftn_uncast(const Tensor& self, const std::optional<Dims>& s,
                         const std::optional<Dims>& dim, const std::optional<std::string>& norm) {
  Shape shape(self, s, dim);
  shape.check_some("irfftn");
  const int64_t n = shape.take_real(s);
  shape.check_sizes();
  const Tensor x = resized(transformable(self, true), shape.dims, shape.sizes);
  return _fft_c2r(x, shape.dims, normalization(norm, false), n);
}
Tensor fft_hfftn(const Tensor& self, const std::optional<Dims>& s, const std::optional<Dims>& dim,
                 const std::optional<std::string>& norm) {
  Shape shape(self, s, dim);
  shape.check_some("hfftn");
  const int64_t n = shape.take_real(s);
  shape.check_sizes();
  Tensor x = resized(transformable(self, true), shape.dims, shape.sizes);
  const int64_t divides = normalization(norm, true);
  Dims others = shape.dims;
  others.pop_back();
  if (!others.empty()) x = _fft_c2c(x, others, divides, true);
  return _fft_c2r(conj(x), Dims{shape.dims.back()}, divides, n);
}
Tensor fft_ihfftn(const Tensor& self, const std::optional<Dims>& s, const std::optional<Dims>& dim,
                  const std::optional<std::string>& norm) {
  check(!self.is_complex(), "ihfftn expects a real-valued input tensor, but got ",
        self.dtype() == DType::Complex64 ? "ComplexFloat" : "ComplexDouble");
  const Shape shape(self, s, dim);
  shape.check_some("ihfftn");
  shape.check_sizes();
  const Tensor x = resized(transformable(self, false), shape.dims, shape.sizes);
  const int64_t divides = normalization(norm, false);
  const Tensor half = conj(_fft_r2c(x, Dims{shape.dims.back()}, divides, true));
  Dims others = shape.dims;
  others.pop_back();
  return others.empty() ? half : _fft_c2c(half, others, divides, false);
}

namespace {
Tensor shifted(const Tensor& self, const std::optional<Dims>& dim, bool forward) {
  Dims dims, by;
  if (dim)
    dims = *dim;
  else
    for (int64_t d = 0; d < self.dim(); d++) dims.push_back(d);
  for (int64_t d : dims) {
    const int64_t n = self.size(d);
    by.push_back(forward ? n / 2 : (n + 1) / 2);
  }
  return dims.empty() ? clone(self, std::nullopt) : roll(self, by, dims);
}
}  // namespace

Tensor fft_fftshift(const Tensor& self, const std::optional<Dims>& dim) {
  return shifted(self, dim, true);
}
Tensor fft_ifftshift(const Tensor& self, const std::optional<Dims>& dim) {
  return shifted(self, dim, false);
}

}  // namespace ops

namespace formulas {
using namespace ops;

namespace {
// A tensor of real numbers like `t`, that scales the frequencies along `dim` which stand for their
// mirrored ones too: all but the first and, where n is even, the last.
Tensor mirrored_weights(const Tensor& t, int64_t dim, int64_t n, double value) {
  Dims shape(size_t(t.dim()), 1);
  shape[size_t(dim)] = n / 2 + 1;
  Tensor w = full(shape, value, real_dtype(t.dtype()), t.device());
  fill_(select(w, dim, 0), 1);
  if (n % 2 == 0) fill_(select(w, dim, n / 2), 1);
  return w;
}
}  // namespace

// The real part of the adjoint, which sums over the given frequencies only: a real transform of
// half the mirrored ones.
Tensor fft_r2c_grad(const Tensor& grad, const Dims& sizes, const Dims& dim, int64_t normalization,
                    bool onesided) {
  if (!onesided) return real(_fft_c2c(grad, dim, normalization, false));
  const int64_t last = wrap_dim(dim.back(), grad.dim()), n = sizes[size_t(last)];
  return _fft_c2r(grad * mirrored_weights(grad, last, n, 0.5), dim, normalization, n);
}

// The mirrored frequencies come in twice.
Tensor fft_c2r_grad(const Tensor& grad, const Dims& dim, int64_t normalization) {
  const int64_t last = wrap_dim(dim.back(), grad.dim()), n = grad.sizes()[size_t(last)];
  return _fft_r2c(grad, dim, normalization, true) * mirrored_weights(grad, last, n, 2);
}

}  // namespace formulas
}  // namespace flambeau
