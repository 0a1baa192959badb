// Orthogonal factorisations and least squares.
#include <cmath>

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

struct Reflections {
  Tensor a, tau;
};

Reflections reflections_of(const char* op, const Tensor& self) {
  const int64_t m = self.size(-2), n = self.size(-1), k = std::min(m, n);
  Reflections out{column_copy(self),
                  empty(appended(batch_sizes(self), {k}), self.dtype(), self.device())};
  if (self.is_meta()) return out;
  visit_lapack(self.dtype(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (k == 0) return;
    each_matrix(batch_count(self), 2.0 * double(m) * double(n) * double(k), [&](int64_t i) {
      no_usage_error("geqrf", linalg::geqrf<T>(to_int(m), to_int(n), matrix_at<T>(out.a, i),
                                               to_int(m), out.tau.template data<T>() + i * k));
    });
  });
  return out;
}

// The reflections in q's first `k` columns -> the first columns of their product, in place.
void form_product(const Tensor& q, const Tensor& tau) {
  const int64_t m = q.size(-2), n = q.size(-1), k = tau.size(-1);
  if (q.numel() == 0) return;
  visit_lapack(q.dtype(), "orgqr_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_matrix(batch_count(q), 4.0 * double(m) * double(n) * double(std::max<int64_t>(k, 1)),
                [&](int64_t i) {
                  T* a = matrix_at<T>(q, i);
                  T none(0);
                  no_usage_error("orgqr", orgqr<T>(to_int(m), to_int(n), to_int(k), a, to_int(m),
                                                   k ? tau.data<T>() + i * k : &none));
                });
  });
}

void check_reflections(const char* op, const Tensor& vectors, const Tensor& tau,
                       const char* tau_name) {
  check(vectors.dim() >= 2, op, ": input must have at least 2 dimensions, got shape ",
        vectors.sizes());
  check(vectors.size(-2) >= vectors.size(-1), op,
        ": input.shape[-2] must be greater than or equal to input.shape[-1], got ",
        vectors.sizes());
  check(tau.dim() >= 1 && tau.size(-1) <= vectors.size(-1), op,
        ": input.shape[-1] must be greater than or equal to ", tau_name, ".shape[-1], got shapes ",
        vectors.sizes(), " and ", tau.sizes());
  Dims sizes = appended(batch_sizes(vectors), {tau.size(-1)});
  check(equal(tau.sizes(), sizes), op, ": Expected ", tau_name, " of shape ", sizes, ", got ",
        tau.sizes());
  check(vectors.dtype() == tau.dtype(), op, ": ", tau_name, " dtype ", tau.dtype(),
        " does not match input dtype ", vectors.dtype());
}

}  // namespace

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  check(self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions, got shape ",
        self.sizes());
  Reflections out = reflections_of("geqrf_cpu", self);
  return {out.a, out.tau};
}

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, const std::string& mode) {
  check_matrix("linalg.qr", A);
  check_inexact("linalg.qr", A);
  check(mode == "reduced" || mode == "complete" || mode == "r", "qr received unrecognized mode '",
        mode, "' but expected one of 'reduced' (default), 'r', or 'complete'");
  const bool want_q = mode != "r";
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const int64_t columns = mode == "complete" ? m : k;
  Dims batch = batch_sizes(A);
  Reflections f = reflections_of("linalg_qr_cpu", A);
  Tensor r = empty_columns(appended(batch, {columns, n}), A.dtype(), A.device());
  Tensor q = want_q ? empty_columns(appended(batch, {m, columns}), A.dtype(), A.device())
                    : empty(Dims{0}, A.dtype(), A.device());
  if (A.is_meta()) return {q, r};
  visit_lapack(A.dtype(), "linalg_qr_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_matrix(batch_count(A), double(m) * double(std::max(m, n)), [&](int64_t b) {
      const T* a = matrix_at<T>(f.a, b);
      T* pr = matrix_at<T>(r, b);
      for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < columns; i++)
          pr[i + j * columns] = i <= j && i < m ? a[i + j * m] : T(0);
      if (!want_q) return;
      T* pq = matrix_at<T>(q, b);
      for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < m; i++) pq[i + j * m] = j < k ? a[i + j * m] : T(0);
    });
  });
  if (want_q) form_product(q, f.tau);
  return {q, r};
}

Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  check_reflections("torch.linalg.householder_product", input, tau, "tau");
  Tensor q = column_copy(input);
  if (q.is_meta()) return q;
  form_product(q, contiguous_of(tau));
  return q;
}

Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left,
             bool transpose) {
  const char* op = "torch.ormqr";
  const Tensor &tau = input2, &other = input3;
  check(self.dim() >= 2, op, ": input must have at least 2 dimensions.");
  check(other.dim() >= 2, op, ": other must have at least 2 dimensions.");
  const int64_t m = other.size(-2), n = other.size(-1), side = left ? m : n;
  const int64_t k = tau.dim() ? tau.size(-1) : 0;
  check(side >= k, op, ": other.shape[", left ? -2 : -1,
        "] must be greater than or equal to tau.shape[-1], got ", side, " and ", k);
  check(side == self.size(-2), op, ": other.shape[", left ? -2 : -1,
        "] must be equal to input.shape[-2], got ", side, " and ", self.size(-2));
  check(tau.dim() == self.dim() - 1, op,
        ": Expected tau to have one dimension less than input, but got tau.ndim equal to ",
        tau.dim(), " and input.ndim is equal to ", self.dim());
  check(k <= self.size(-1), op,
        ": tau.shape[-1] must be less than or equal to input.shape[-1], got ", k, " and ",
        self.size(-1));
  check(equal(batch_sizes(self), batch_sizes(other)) &&
            equal(batch_sizes(self), IntSpan(tau.sizes()).first(size_t(tau.dim() - 1))),
        op, ": Expected input, tau and other to have the same batch dimensions, got shapes ",
        self.sizes(), ", ", tau.sizes(), " and ", other.sizes());
  check(tau.dtype() == self.dtype() && other.dtype() == self.dtype(), op,
        ": Expected input, tau and other to have the same dtype, got ", self.dtype(), ", ",
        tau.dtype(), " and ", other.dtype());
  Tensor out = column_copy(other);
  if (out.is_meta()) return out;
  Tensor vectors = column_copy(self), factors = contiguous_of(tau);
  visit_lapack(self.dtype(), "ormqr_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (out.numel() == 0 || k == 0) return;
    const char trans = !transpose ? 'N' : kComplex<T> ? 'C' : 'T';
    each_matrix(batch_count(out), 4.0 * double(m) * double(n) * double(k), [&](int64_t i) {
      no_usage_error("ormqr",
                     linalg::ormqr<T>(left ? 'L' : 'R', trans, to_int(m), to_int(n), to_int(k),
                                      matrix_at<T>(vectors, i), to_int(side),
                                      factors.data<T>() + i * k, matrix_at<T>(out, i), to_int(m)));
    });
  });
  return out;
}

// ---- least squares

namespace {

enum class Driver { Gels, Gelsy, Gelsd, Gelss };

Driver driver_named(const std::string& name) {
  if (name == "gels") return Driver::Gels;
  if (name == "gelsy") return Driver::Gelsy;
  if (name == "gelsd") return Driver::Gelsd;
  check(name == "gelss",
        "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, "
        "gelss), got ",
        name);
  return Driver::Gelss;
}

template <class T>
lapack_int least_squares(Driver driver, lapack_int m, lapack_int n, lapack_int columns, T* a, T* b,
                         Real<T>* values, Real<T> rcond, lapack_int* rank) {
  const lapack_int ldb = std::max(m, n);
  if (driver == Driver::Gels) return gels<T>('N', m, n, columns, a, m, b, ldb);
  if (driver == Driver::Gelsy) {
    std::vector<lapack_int> permutation(size_t(n), 0);
    return gelsy<T>(m, n, columns, a, m, b, ldb, permutation.data(), rcond, rank);
  }
  return driver == Driver::Gelsd ? gelsd<T>(m, n, columns, a, m, b, ldb, values, rcond, rank)
                                 : gelss<T>(m, n, columns, a, m, b, ldb, values, rcond, rank);
}

Tensor first_rows(const Tensor& t, int64_t n) {
  Dims sizes = t.sizes();
  sizes[sizes.size() - 2] = n;
  return flambeau::alias(t, sizes, t.strides(), t.offset());
}

// Sums of the squares of the rows from n on: what the columns of B cannot be explained by.
template <class T>
void sum_residuals(const Tensor& x, int64_t rows, int64_t n, Real<T>* out) {
  const int64_t columns = x.size(-1), count = batch_count(x);
  for (int64_t c = 0; c < count * columns; c++) {
    Real<T> total = 0;
    const T* p = x.data<T>() + c * rows;
    for (int64_t i = n; i < rows; i++) total += std::norm(p[i]);
    out[c] = total;
  }
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& self, const Tensor& b,
                                                        std::optional<double> rcond,
                                                        const std::optional<std::string>& driver) {
  const char* op = "torch.linalg.lstsq";
  check(self.dim() >= 2, op, ": input must have at least 2 dimensions.");
  check(b.dim() >= 1, op, ": other must have at least 1 dimension.");
  const int64_t difference = self.dim() - b.dim();
  check(
      difference == 0 || difference == 1, op,
      ": input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1, "
      "got shapes ",
      self.sizes(), " and ", b.sizes());
  check(self.dtype() == b.dtype(), op,
        ": Expected input and other to have the same dtype, but got input's dtype ", self.dtype(),
        " and other's dtype ", b.dtype());
  const bool vector = difference == 1 && is_vector_case(self, b);
  Tensor rhs = vector ? unsqueeze(b, -1) : b;
  check(rhs.dim() >= 2, op, ": input.size(-2) should match other.size(-2)");
  const int64_t m = self.size(-2), n = self.size(-1), columns = rhs.size(-1), rows = std::max(m, n);
  check(m == rhs.size(-2), op, ": input.size(-2) should match other.size(", vector ? -1 : -2,
        "), got shapes ", self.sizes(), " and ", b.sizes());
  const Driver d = driver_named(driver.value_or("gelsy"));
  check_inexact(op, self);
  Dims batch = joined_batch(self, rhs);
  const DType real = real_dtype(self.dtype());
  const Device device = self.device();
  const bool has_values = d == Driver::Gelsd || d == Driver::Gelss, has_rank = d != Driver::Gels;
  Tensor x = empty_columns(appended(batch, {rows, columns}), self.dtype(), device),
         rank = filled(has_rank ? batch : Dims{0}, DType::Int64, device, 0),
         values = has_values ? filled(appended(batch, {std::min(m, n)}), real, device, 0)
                             : empty(Dims{0}, real, device),
         residuals = empty(Dims{0}, real, device), info = filled(batch, DType::Int32, device, 0);
  const double scale = real == DType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  const double threshold = rcond.value_or(scale * double(rows));
  bool full_rank = true;
  if (!x.is_meta()) {
    fill_kernel(x, 0);
    copy_kernel(first_rows(x, m), expand(rhs, appended(batch, {m, columns}), false));
    Tensor a = column_copy(self, appended(batch, {m, n}));
    visit_lapack(self.dtype(), "linalg_lstsq_cpu", [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (x.numel() == 0 || a.numel() == 0) return;
      each_matrix(
          product(batch), 4.0 * double(m) * double(n) * double(std::min(m, n)), [&](int64_t i) {
            lapack_int found = 0;
            if (has_values && !all_finite(matrix_at<T>(a, i), m * n)) {  // it may never return
              info.data<int32_t>()[i] = -1;
              return;
            }
            info.data<int32_t>()[i] = no_usage_error(
                "gels",
                least_squares<T>(d, to_int(m), to_int(n), to_int(columns), matrix_at<T>(a, i),
                                 matrix_at<T>(x, i),
                                 has_values ? values.data<Real<T>>() + i * std::min(m, n) : nullptr,
                                 Real<T>(threshold), &found));
            if (has_rank) rank.data<int64_t>()[i] = found;
          });
    });
    check_info(op, info, d == Driver::Gels ? Failure::Rank : Failure::Svd);
    for (int64_t i = 0; has_rank && i < rank.numel(); i++)
      full_rank = full_rank && rank.data<int64_t>()[i] == n;
  }
  if (m > n && d != Driver::Gelsy && full_rank) {
    residuals = filled(appended(batch, {columns}), real, device, 0);
    if (!x.is_meta())
      visit_lapack(self.dtype(), "linalg_lstsq_cpu", [&](auto tag) {
        using T = typename decltype(tag)::type;
        sum_residuals<T>(x, rows, n, residuals.data<Real<T>>());
      });
    if (vector) residuals = squeeze_dim(residuals, -1);
  }
  Tensor solution = first_rows(x, n);
  if (!x.is_meta() && (x.numel() == 0 || m == 0)) fill_kernel(x, 0);
  return {vector ? squeeze_dim(solution, -1) : solution, residuals, rank, values};
}

}  // namespace flambeau::kernels
