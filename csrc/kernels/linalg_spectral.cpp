// Singular values, eigenvalues and what is made of them.
#include <cmath>

#include "kernels/gemm.h"
#include "kernels/linalg.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::kernels {
using namespace linalg;

namespace {

template <class T>
T* matrix_at(const Tensor& a, int64_t i) {
  return a.data<T>() + i * a.size(-1) * a.size(-2);
}

template <class T>
void set_identity(const Tensor& a) {
  const int64_t m = a.size(-2), n = a.size(-1);
  fill_kernel(a, 0);
  for (int64_t b = 0; b < batch_count(a); b++)
    for (int64_t i = 0; i < std::min(m, n); i++) matrix_at<T>(a, b)[i + i * m] = T(1);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv,
                                               const std::optional<std::string>& driver) {
  check_matrix("linalg.svd", A);
  check_inexact("linalg.svd", A);
  check(!driver,
        "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs; leave it out");
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const int64_t columns = full_matrices ? m : k, rows = full_matrices ? n : k;
  Dims batch = batch_sizes(A);
  const Device device = A.device();
  Tensor s = empty(appended(batch, {k}), real_dtype(A.dtype()), device), u, vh;
  if (compute_uv) {
    u = empty_columns(appended(batch, {m, columns}), A.dtype(), device);
    vh = empty_columns(appended(batch, {rows, n}), A.dtype(), device);
  } else {
    u = vh = empty(Dims{0}, A.dtype(), device);
  }
  if (A.is_meta()) return {u, s, vh};
  Tensor a = column_copy(A), info = filled(batch, DType::Int32, device, 0);
  visit_lapack(A.dtype(), "linalg_svd_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (A.numel() == 0) {
      if (compute_uv) {
        set_identity<T>(u);
        set_identity<T>(vh);
      }
      return;
    }
    const char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
    each_matrix(product(batch), 10.0 * double(m) * double(n) * double(k), [&](int64_t i) {
      T none(0);
      if (!all_finite(matrix_at<T>(a, i), m * n)) {  // LAPACK may never return
        info.data<int32_t>()[i] = -1;
        return;
      }
      const lapack_int code = gesdd<T>(
          job, to_int(m), to_int(n), matrix_at<T>(a, i), to_int(m), s.data<Real<T>>() + i * k,
          compute_uv ? matrix_at<T>(u, i) : &none, to_int(compute_uv ? m : 1),
          compute_uv ? matrix_at<T>(vh, i) : &none, to_int(compute_uv ? rows : 1));
      info.data<int32_t>()[i] = no_usage_error("gesdd", code);
    });
  });
  check_info("linalg.svd", info, Failure::Svd);
  return {u, s, vh};
}

std::tuple<Tensor, Tensor> _linalg_eigh(const Tensor& A, const std::string& UPLO, bool compute_v) {
  check_square("linalg.eigh", A);
  const char triangle = UPLO.size() == 1 ? char(UPLO[0] & ~0x20) : '?';
  check(triangle == 'L' || triangle == 'U', "Expected UPLO argument to be 'L' or 'U', but got ",
        UPLO);
  const int64_t n = A.size(-1);
  Dims batch = batch_sizes(A);
  Tensor values = empty(appended(batch, {n}), real_dtype(A.dtype()), A.device()),
         vectors = column_copy(A);
  Tensor nothing = empty(Dims{0}, A.dtype(), A.device());
  if (A.is_meta()) return {values, compute_v ? vectors : nothing};
  Tensor info = filled(batch, DType::Int32, A.device(), 0);
  visit_lapack(A.dtype(), "linalg_eigh_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (A.numel() == 0) return;
    each_matrix(product(batch), 9 * cube(n), [&](int64_t i) {
      if (!triangle_finite(matrix_at<T>(vectors, i), n, triangle == 'L')) {
        info.data<int32_t>()[i] = 1;
        return;
      }
      info.data<int32_t>()[i] = no_usage_error(
          "syevd", syevd<T>(compute_v ? 'V' : 'N', triangle, to_int(n), matrix_at<T>(vectors, i),
                            to_int(n), values.data<Real<T>>() + i * n));
    });
  });
  check_info("linalg.eigh", info, Failure::Eigen);
  return {values, compute_v ? vectors : nothing};
}

namespace {

template <class R>
lapack_int geev_real(lapack_int n, R* a, R* re, R* im, R* vectors, bool wanted) {
  const char job = wanted ? 'V' : 'N';
  if constexpr (std::is_same_v<R, float>)
    return scipy_LAPACKE_sgeev(LAPACK_COL_MAJOR, 'N', job, n, a, n, re, im, nullptr, 1, vectors, n);
  else
    return scipy_LAPACKE_dgeev(LAPACK_COL_MAJOR, 'N', job, n, a, n, re, im, nullptr, 1, vectors, n);
}
template <class C>
lapack_int geev_complex(lapack_int n, C* a, C* values, C* vectors, bool wanted) {
  const char job = wanted ? 'V' : 'N';
  if constexpr (std::is_same_v<C, complex64_t>)
    return scipy_LAPACKE_cgeev(LAPACK_COL_MAJOR, 'N', job, n, a, n, values, nullptr, 1, vectors, n);
  else
    return scipy_LAPACKE_zgeev(LAPACK_COL_MAJOR, 'N', job, n, a, n, values, nullptr, 1, vectors, n);
}

// A real matrix has its complex eigenvalues in conjugate pairs; LAPACK packs the vectors of a pair
// as real and imaginary part in two columns.
template <class R>
lapack_int eigen_real(int64_t n, R* a, std::complex<R>* values, std::complex<R>* vectors) {
  std::vector<R> re(static_cast<size_t>(n)), im(static_cast<size_t>(n)),
      packed(vectors ? size_t(n * n) : 1);
  const lapack_int code = no_usage_error(
      "geev", geev_real<R>(to_int(n), a, re.data(), im.data(), packed.data(), vectors != nullptr));
  for (int64_t j = 0; j < n; j++) values[j] = {re[size_t(j)], im[size_t(j)]};
  for (int64_t j = 0; vectors && j < n; j++) {
    const R* x = packed.data() + j * n;
    if (im[size_t(j)] == 0 || j + 1 == n) {
      for (int64_t i = 0; i < n; i++) vectors[i + j * n] = x[i];
      continue;
    }
    for (int64_t i = 0; i < n; i++) {
      vectors[i + j * n] = {x[i], x[i + n]};
      vectors[i + (j + 1) * n] = {x[i], -x[i + n]};
    }
    j++;
  }
  return code;
}

std::tuple<Tensor, Tensor> eigen(const char* op, const Tensor& self, bool wanted) {
  check_square(op, self);
  check_inexact(op, self);
  check<NotImplementedError>(self.itemsize() >= 4, "\"linalg_eig_out_cpu\" not implemented for '",
                             info(self.dtype()).name, "'");
  const DType t = self.is_complex() ? self.dtype() : complex_dtype(self.dtype());
  const int64_t n = self.size(-1);
  Dims batch = batch_sizes(self);
  Tensor values = empty(appended(batch, {n}), t, self.device()), vectors;
  vectors = wanted ? empty_columns(appended(batch, {n, n}), t, self.device())
                   : empty(Dims{0}, t, self.device());
  if (self.is_meta()) return {values, vectors};
  Tensor a = column_copy(self), code = filled(batch, DType::Int32, self.device(), 0);
  visit_lapack(self.dtype(), "linalg_eig_out_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = std::complex<Real<T>>;
    // the iteration on a matrix with NaN need not end
    for (int64_t i = 0; i < a.numel(); i++)
      check(std::isfinite(std::abs(a.data<T>()[i])), op,
            ": input tensor should not contain infs or NaNs.");
    if (self.numel() == 0) return;
    each_matrix(product(batch), 25 * cube(n), [&](int64_t i) {
      C* v = wanted ? matrix_at<C>(vectors, i) : nullptr;
      C* w = values.data<C>() + i * n;
      C none;
      if constexpr (kComplex<T>)
        code.data<int32_t>()[i] = no_usage_error(
            "geev", geev_complex<T>(to_int(n), matrix_at<T>(a, i), w, v ? v : &none, wanted));
      else
        code.data<int32_t>()[i] = eigen_real<T>(n, matrix_at<T>(a, i), w, v);
    });
  });
  check_info(op, code, Failure::Eigen);
  return {values, vectors};
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_eig(const Tensor& self) {
  return eigen("linalg.eig", self, true);
}
Tensor _linalg_eigvals(const Tensor& self) {
  return std::get<0>(eigen("linalg.eigvals", self, false));
}

// ---- pseudoinverse

namespace {

// 1 / values where they exceed the tolerance, else 0.
Tensor safe_reciprocal(const Tensor& values, const Tensor& tolerance) {
  Tensor zero = filled(Dims{}, values.dtype(), values.device(), 0);
  return ops::_where(ops::gt(values, tolerance), ops::reciprocal(values), zero);
}

}  // namespace

Tensor linalg_pinv_atol_rtol_tensor(const Tensor& self, const OptTensor& atol,
                                    const OptTensor& rtol, bool hermitian) {
  check_matrix("linalg.pinv", self);
  check_inexact("linalg.pinv", self);
  if (hermitian) check_square("linalg.pinv", self);
  Dims sizes = appended(batch_sizes(self), {self.size(-1), self.size(-2)});
  if (self.numel() == 0) return empty(sizes, self.dtype(), self.device());
  const double eps =
      real_dtype(self.dtype()) == DType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  const DType real = real_dtype(self.dtype());
  Tensor absolute = atol ? *atol : filled(Dims{}, real, self.device(), 0), relative;
  check(!absolute.is_complex(), "linalg.pinv: atol tensor of complex type is not supported.");
  if (rtol) {
    check(!rtol->is_complex(), "linalg.pinv: rtol tensor of complex type is not supported.");
    relative = *rtol;
  } else {
    const double usual = eps * double(std::max(self.size(-1), self.size(-2)));
    relative = filled(Dims{}, real, self.device(), usual);
    if (atol)
      relative = ops::_where(ops::gt(*atol, 0), filled(Dims{}, real, self.device(), 0), relative);
  }
  auto tolerance = [&](const Tensor& largest) {
    Tensor r = ops::mul(ops::unsqueeze(relative, -1), largest), a = ops::unsqueeze(absolute, -1);
    return ops::maximum(ops::_to_dtype(a, real), ops::_to_dtype(r, real));
  };
  if (hermitian) {
    auto [values, vectors] = ops::_linalg_eigh(self, "L", true);
    Tensor size = ops::abs(values);
    Tensor limit = tolerance(ops::amax(size, Dims{-1}, true));
    Tensor keep = ops::gt(size, limit);
    Tensor inverse =
        ops::_where(keep, ops::reciprocal(values), filled(Dims{}, real, self.device(), 0));
    return ops::matmul(ops::mul(vectors, ops::unsqueeze(inverse, -2)), ops::mH(vectors));
  }
  auto [u, s, vh] = ops::_linalg_svd(self, false, true, std::nullopt);
  Tensor inverse = safe_reciprocal(s, tolerance(ops::narrow(s, -1, 0, 1)));
  return ops::matmul(ops::mul(ops::mH(vh), ops::unsqueeze(inverse, -2)), ops::mH(u));
}

// ---- exponential

namespace {

// Degree of the Padé approximant and squarings that keep the error below rounding, by the 1-norm
// (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005).
struct PadePlan {
  int degree;
  int squarings;
};
PadePlan plan_of(double norm, bool single) {
  struct Row {
    int degree;
    double limit;
  };
  static constexpr Row kSingle[] = {
      {3, 0.4258730016922831}, {5, 1.880152677804762}, {7, 3.92572478313866}};
  static constexpr Row kDouble[] = {{3, 1.495585217958292e-2},
                                    {5, 0.253939833006323},
                                    {7, 0.9504178996162932},
                                    {9, 2.097847961257068},
                                    {13, 5.371920351148152}};
  const std::span<const Row> rows = single ? std::span<const Row>(kSingle) : kDouble;
  for (const Row& r : rows)
    if (norm <= r.limit) return {r.degree, 0};
  return {rows.back().degree, std::max(0, int(std::ceil(std::log2(norm / rows.back().limit))))};
}

template <class T>
struct Exponential {
  int64_t n;
  bool serial;
  DType t = DTypeOf<T>::value;
  using Matrix = std::vector<T>;

  void multiply(const Matrix& a, const Matrix& b, Matrix& out) const {
    gemm(t, n, n, n, {a.data(), n, 1}, {b.data(), n, 1}, out.data(), n, false, serial);
  }
  double norm(const T* a) const {
    double most = 0;
    for (int64_t j = 0; j < n; j++) {
      double total = 0;
      for (int64_t i = 0; i < n; i++) total += std::abs(a[i * n + j]);
      if (!(total <= most)) most = total;  // NaN stays
      if (std::isnan(most)) return most;
    }
    return most;
  }
  void operator()(const T* in, T* out) const {
    const auto count = static_cast<size_t>(n * n);
    const double size = norm(in);
    if (!std::isfinite(size)) {
      std::fill(out, out + count, T(std::numeric_limits<Real<T>>::quiet_NaN()));
      return;
    }
    const PadePlan plan = plan_of(size, sizeof(Real<T>) == 4);
    Matrix a(in, in + count), square(count), power(count, T(0)), odd(count, T(0)),
        even(count, T(0)), next(count);
    const auto scale = Real<T>(std::ldexp(1.0, -plan.squarings));
    for (T& x : a) x *= scale;
    multiply(a, a, square);
    for (int64_t i = 0; i < n; i++) power[size_t(i * n + i)] = T(1);
    double c = 1;  // coefficients of the numerator, c_0 = 1
    const int m = plan.degree;
    for (int k = 0; k <= m; k++) {
      Matrix& sum = k % 2 ? odd : even;
      for (size_t i = 0; i < count; i++) sum[i] += power[i] * Real<T>(c);
      c *= double(m - k) / (double(2 * m - k) * double(k + 1));
      if (k % 2 && k < m) {
        multiply(power, square, next);
        std::swap(power, next);
      }
    }
    multiply(a, odd, next);  // exp(A) = (V - U)⁻¹ (V + U), U = A · odd, V = even
    for (size_t i = 0; i < count; i++) {
      odd[i] = even[i] - next[i];
      even[i] += next[i];
    }
    // rows are LAPACK's columns: solve the transposed system from the right, (V + U) commutes
    std::vector<lapack_int> pivots(static_cast<size_t>(n));
    no_usage_error("getrf", getrf<T>(to_int(n), to_int(n), odd.data(), to_int(n), pivots.data()));
    no_usage_error("getrs", getrs<T>('N', to_int(n), to_int(n), odd.data(), to_int(n),
                                     pivots.data(), even.data(), to_int(n)));
    for (int s = 0; s < plan.squarings; s++) {
      multiply(even, even, next);
      std::swap(even, next);
    }
    std::copy(even.begin(), even.end(), out);
  }
};

}  // namespace

Tensor linalg_matrix_exp(const Tensor& self) {
  check_square("linalg.matrix_exp", self);
  check(is_differentiable(self.dtype()),
        "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ",
        self.dtype());
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  if (self.itemsize() == 2) {
    copy_kernel(out, linalg_matrix_exp(cast_of(self, DType::Float32)));
    return out;
  }
  Tensor a = contiguous_of(self);
  visit_lapack(self.dtype(), "linalg_matrix_exp_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t n = self.size(-1), count = batch_count(self);
    Exponential<T> exponential{n, count > 1};
    if (count == 1)
      exponential(a.data<T>(), out.data<T>());
    else
      each_matrix(count, 20 * cube(n),
                  [&](int64_t i) { exponential(matrix_at<T>(a, i), matrix_at<T>(out, i)); });
  });
  return out;
}

}  // namespace flambeau::kernels
