#include "kernels/gemm.h"

#include <cblas.h>

#include <cstring>

#include "dispatch/promotion.h"
#include "kernels/gemm_small_table.h"
#include "kernels/pointwise.h"
#include "kernels/targets.h"
#include "ops/all.h"
#include "runtime/allocator.h"
#include "runtime/parallel.h"

#if defined(FLAMBEAU_HAVE_ONEDNN)
#include <dnnl.hpp>
#endif

namespace flambeau {

#define FLAMBEAU_DECLARE(ns)                     \
  namespace ns {                                 \
  extern const SmallGemmFns small_gemm_table[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

// OpenBLAS runs one-threaded inside our pool: two pools that spin on the same cores slow each other
// down.
void init_libraries() { scipy_openblas_set_num_threads(1); }

std::vector<std::pair<std::string, std::string>> library_versions() {
  std::vector<std::pair<std::string, std::string>> out{{"OpenBLAS", scipy_openblas_get_config()}};
#if defined(FLAMBEAU_HAVE_ONEDNN)
  const auto* v = dnnl_version();
  out.emplace_back("oneDNN", cat_text(v->major, ".", v->minor, ".", v->patch));
#endif
  return out;
}

namespace {

constexpr double kSerialFlops = 4e5;  // below this one thread is faster

// How BLAS sees an operand: transposed or not, with a leading dimension; or not at all.
struct BlasArg {
  CBLAS_TRANSPOSE trans;
  blasint ld;
};
std::optional<BlasArg> blas_arg(const MatrixArg& a, int64_t rows, int64_t cols) {
  if ((a.col_stride == 1 || cols == 1) && (a.row_stride >= std::max<int64_t>(cols, 1) || rows == 1))
    return BlasArg{CblasNoTrans, blasint(rows == 1 ? std::max<int64_t>(cols, 1) : a.row_stride)};
  if ((a.row_stride == 1 || rows == 1) && (a.col_stride >= std::max<int64_t>(rows, 1) || cols == 1))
    return BlasArg{CblasTrans, blasint(cols == 1 ? std::max<int64_t>(rows, 1) : a.col_stride)};
  return std::nullopt;
}

template <class T>
void blas(BlasArg a, BlasArg b, int64_t m, int64_t n, int64_t k, const T* pa, const T* pb, T* c,
          int64_t ldc, bool accumulate) {
  const T one(1), beta(accumulate ? 1 : 0);
  const auto M = blasint(m), N = blasint(n), K = blasint(k), L = blasint(ldc);
  // BLAS matrix-vector products stream the matrix once
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (m == 1 && n > 1) {
      // row · B = Bᵀ · row
      const bool trans = b.trans == CblasNoTrans;
      const blasint rows = trans ? K : N, cols = trans ? N : K;
      const blasint step = a.trans == CblasNoTrans ? 1 : a.ld;
      if constexpr (std::is_same_v<T, float>)
        scipy_cblas_sgemv(CblasRowMajor, trans ? CblasTrans : CblasNoTrans, rows, cols, one, pb,
                          b.ld, pa, step, beta, c, 1);
      else
        scipy_cblas_dgemv(CblasRowMajor, trans ? CblasTrans : CblasNoTrans, rows, cols, one, pb,
                          b.ld, pa, step, beta, c, 1);
      return;
    }
  }
  if constexpr (std::is_same_v<T, float>)
    scipy_cblas_sgemm(CblasRowMajor, a.trans, b.trans, M, N, K, one, pa, a.ld, pb, b.ld, beta, c,
                      L);
  else if constexpr (std::is_same_v<T, double>)
    scipy_cblas_dgemm(CblasRowMajor, a.trans, b.trans, M, N, K, one, pa, a.ld, pb, b.ld, beta, c,
                      L);
  else if constexpr (std::is_same_v<T, complex64_t>)
    scipy_cblas_cgemm(CblasRowMajor, a.trans, b.trans, M, N, K, &one, pa, a.ld, pb, b.ld, &beta, c,
                      L);
  else
    scipy_cblas_zgemm(CblasRowMajor, a.trans, b.trans, M, N, K, &one, pa, a.ld, pb, b.ld, &beta, c,
                      L);
}

// An operand with strides BLAS cannot take, copied row by row.
template <class T>
std::vector<T> dense_copy(const MatrixArg& a, int64_t rows, int64_t cols) {
  std::vector<T> out(size_t(rows * cols));
  const T* p = static_cast<const T*>(a.data);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      out[size_t(i * cols + j)] = p[i * a.row_stride + j * a.col_stride];
  return out;
}

template <class T>
void fill_rows(T* c, int64_t ldc, int64_t rows, const T* bias, int64_t n) {
  if (bias)
    for (int64_t i = 0; i < rows; i++) std::memcpy(c + i * ldc, bias, size_t(n) * sizeof(T));
}

template <class T>
void gemm_float(int64_t m, int64_t n, int64_t k, MatrixArg a, MatrixArg b, T* c, int64_t ldc,
                bool accumulate, bool serial, const T* bias) {
  std::vector<T> copy_a, copy_b;
  auto ba = blas_arg(a, m, k), bb = blas_arg(b, k, n);
  if (!ba) {
    copy_a = dense_copy<T>(a, m, k);
    a = {copy_a.data(), k, 1};
    ba = BlasArg{CblasNoTrans, blasint(k)};
  }
  if (!bb) {
    copy_b = dense_copy<T>(b, k, n);
    b = {copy_b.data(), n, 1};
    bb = BlasArg{CblasNoTrans, blasint(n)};
  }
  const T *pa = static_cast<const T*>(a.data), *pb = static_cast<const T*>(b.data);
  const double flops = 2.0 * double(m) * double(n) * double(k);
  if (serial || flops < kSerialFlops || (m < 8 && n < 64)) {
    fill_rows(c, ldc, m, bias, n);
    blas(*ba, *bb, m, n, k, pa, pb, c, ldc, accumulate);
    return;
  }
  // Pieces of the longer side, their bounds a function of the shape alone. Each prepares the
  // shorter side for itself, which 512 rows make up for; more of them wait less for a late thread.
  LongWork work(flops > 1e7);
  const int64_t pieces = flops > 4e7 ? (std::max(m, n) >= 4096 ? 8 : 4) : 2;
  if (n >= m) {
    parallel_for(n, std::max<int64_t>((n + pieces - 1) / pieces, 16),
                 [&](int64_t begin, int64_t end) {
                   const T* p = pb + (bb->trans == CblasNoTrans ? begin : begin * bb->ld);
                   fill_rows(c + begin, ldc, m, bias ? bias + begin : nullptr, end - begin);
                   blas(*ba, *bb, m, end - begin, k, pa, p, c + begin, ldc, accumulate);
                 });
  } else {
    parallel_for(m, std::max<int64_t>((m + pieces - 1) / pieces, 16),
                 [&](int64_t begin, int64_t end) {
                   const T* p = pa + (ba->trans == CblasNoTrans ? begin * ba->ld : begin);
                   fill_rows(c + begin * ldc, ldc, end - begin, bias, n);
                   blas(*ba, *bb, end - begin, n, k, p, pb, c + begin * ldc, ldc, accumulate);
                 });
  }
}

template <class T>
void gemm_integer(int64_t m, int64_t n, int64_t k, MatrixArg a, MatrixArg b, T* c, int64_t ldc,
                  bool accumulate) {
  const T *pa = static_cast<const T*>(a.data), *pb = static_cast<const T*>(b.data);
  for (int64_t i = 0; i < m; i++) {
    if (!accumulate) std::fill(c + i * ldc, c + i * ldc + n, T(0));
    for (int64_t l = 0; l < k; l++) {
      const T x = pa[i * a.row_stride + l * a.col_stride];
      for (int64_t j = 0; j < n; j++)
        c[i * ldc + j] = T(c[i * ldc + j] + x * pb[l * b.row_stride + j * b.col_stride]);
    }
  }
}

}  // namespace

void gemm(DType t, int64_t m, int64_t n, int64_t k, MatrixArg a, MatrixArg b, void* c, int64_t ldc,
          bool accumulate, bool serial, const void* given_bias) {
  if (m == 0 || n == 0) return;
  accumulate |= given_bias != nullptr;
  visit(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = static_cast<T*>(c);
    const T* bias = static_cast<const T*>(given_bias);
    if (k == 0) {
      fill_rows(out, ldc, m, bias, n);
      if (!accumulate)
        for (int64_t i = 0; i < m; i++) std::fill(out + i * ldc, out + i * ldc + n, T(0));
    } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                         std::is_same_v<T, complex64_t> || std::is_same_v<T, complex128_t>) {
      check(m < INT32_MAX && n < INT32_MAX && k < INT32_MAX,
            "matrix product: dimensions beyond 2^31 are not supported");
      gemm_float<T>(m, n, k, a, b, out, ldc, accumulate, serial, bias);
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      fill_rows(out, ldc, m, bias, n);
      gemm_integer<T>(m, n, k, a, b, out, ldc, accumulate);
    } else {
      fail<NotImplementedError>("\"addmm_impl_cpu_\" not implemented for '", info(t).name, "'");
    }
  });
}

namespace kernels {
namespace {

MatrixArg matrix(const Tensor& t, int64_t offset = 0) {
  return {t.bytes() + offset * t.itemsize(), t.stride(-2), t.stride(-1)};
}

TileMatrix tiles(const Tensor& batch, int64_t i) {
  return {batch.bytes() + i * batch.strides()[0] * batch.itemsize(), batch.stride(-2),
          batch.stride(-1)};
}

const SmallGemmFns& small_gemm_fns() {
  static const SmallGemmFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(small_gemm_table, 0),
                                                FLAMBEAU_TABLE_AVX2(small_gemm_table, 0),
                                                FLAMBEAU_TABLE_AVX512(small_gemm_table, 0)};
  return *tables[chosen_target()];
}

// Whether own tiles are faster than BLAS: enough rows for what packing costs, and both operands in
// the cache.
bool suits_tiles(int64_t m, int64_t n, int64_t k) {
  return m >= 4 && n >= 4 && k >= 1 && k <= 256 && n <= 256 && (m >= 16 || n * k <= 1024);
}

void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), "expected m1 and m2 to have the same dtype, but got: ", a.dtype(),
        " != ", b.dtype(), " (", op, ")");
  check<NotImplementedError>(a.dtype() != DType::Bool, "\"", op, "\" not implemented for 'Bool'");
}

}  // namespace

Tensor mm(const Tensor& self, const Tensor& mat2) {
  check(self.dim() == 2, "self must be a matrix, got shape ", self.sizes(), " (mm)");
  check(mat2.dim() == 2, "mat2 must be a matrix, got shape ", mat2.sizes(), " (mm)");
  int64_t m = self.sizes()[0], k = self.sizes()[1], n = mat2.sizes()[1];
  check(k == mat2.sizes()[0], "mat1 and mat2 shapes cannot be multiplied (", m, "x", k, " and ",
        mat2.sizes()[0], "x", n, ")");
  check_same_dtype("mm", self, mat2);
  Tensor out = flambeau::empty(Dims{m, n}, self.dtype(), self.device());
  if (out.is_meta()) return out;
  DType t = info(self.dtype()).compute;
  if (t != self.dtype()) {
    copy_kernel(out, mm(cast_of(self, t), cast_of(mat2, t)));
    return out;
  }
  gemm(t, m, n, k, matrix(self), matrix(mat2), out.bytes(), n, false);
  return out;
}

Tensor bmm(const Tensor& self, const Tensor& mat2) {
  check(self.dim() == 3, "batch1 must be a 3D tensor, got shape ", self.sizes());
  check(mat2.dim() == 3, "batch2 must be a 3D tensor, got shape ", mat2.sizes());
  int64_t b = self.sizes()[0], m = self.sizes()[1], k = self.sizes()[2], n = mat2.sizes()[2];
  check(mat2.sizes()[0] == b && mat2.sizes()[1] == k,
        "Expected size for first two dimensions of batch2 tensor to be: [", b, ", ", k,
        "] but got: [", mat2.sizes()[0], ", ", mat2.sizes()[1], "].");
  check_same_dtype("bmm", self, mat2);
  Tensor out = flambeau::empty(Dims{b, m, n}, self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  DType t = info(self.dtype()).compute;
  if (t != self.dtype()) {
    copy_kernel(out, bmm(cast_of(self, t), cast_of(mat2, t)));
    return out;
  }
  const int64_t w = itemsize(t);
  auto one = [&](int64_t i, bool serial) {
    gemm(t, m, n, k, matrix(self, i * self.strides()[0]), matrix(mat2, i * mat2.strides()[0]),
         out.bytes() + i * m * n * w, n, false, serial);
  };
  const double flops = 2.0 * double(m) * double(n) * double(k);
  if (b == 1 || flops > 2e7) {
    for (int64_t i = 0; i < b; i++) one(i, false);
    return out;
  }
  LongWork work(flops * double(b) > 1e7);
  const auto grain = std::max<int64_t>(1, int64_t(kSerialFlops / 2 / std::max(flops, 1.0)));
  if (t == DType::Float32 && suits_tiles(m, n, k)) {
    const SmallGemmFns& fns = small_gemm_fns();
    parallel_for(b, grain, [&](int64_t begin, int64_t end) {
      const auto bytes = size_t(fns.scratch(n, k));
      const std::unique_ptr<void, std::function<void(void*)>> memory(
          allocate(bytes), [bytes](void* p) { deallocate(p, bytes); });
      for (int64_t i = begin; i < end; i++)
        fns.multiply(m, n, k, tiles(self, i), tiles(mat2, i), out.bytes() + i * m * n * w,
                     memory.get());
    });
    return out;
  }
  parallel_for(b, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) one(i, true);
  });
  return out;
}

Tensor linear(const Tensor& self, const Tensor& weight, const OptTensor& bias) {
  check(weight.dim() == 2 || weight.dim() == 1,
        "linear: weight must have 1 or 2 dimensions, got shape ", weight.sizes());
  check(self.dim() > 0,
        "linear: both arguments to linear need to be at least 1D, but input has shape ",
        self.sizes());
  int64_t k = self.sizes().back(), n = weight.dim() == 2 ? weight.sizes()[0] : 1;
  check(weight.sizes().back() == k, "linear: mat1 and mat2 shapes cannot be multiplied (",
        k ? self.numel() / k : 0, "x", k, " and ", weight.sizes().back(), "x", n, "): input has ",
        k, " features in its last dimension, weight of shape ", weight.sizes(), " expects ",
        weight.sizes().back());
  check(self.dtype() == weight.dtype(), "mat1 and mat2 must have the same dtype, but got ",
        self.dtype(), " and ", weight.dtype(), " (linear)");
  if (bias) {
    check(bias->dtype() == self.dtype(), "linear: bias has dtype ", bias->dtype(), ", expected ",
          self.dtype());
    check(weight.dim() == 2 || self.dim() == 1,
          "linear: mat2 must be a matrix where there is a bias, got 1-D tensor");
  }
  Dims sizes = self.sizes();
  if (weight.dim() == 2)
    sizes.back() = n;
  else
    sizes.pop_back();
  if (bias) {
    bool fits = bias->dim() <= int64_t(sizes.size());
    for (size_t d = 1; fits && d <= bias->sizes().size(); d++)
      fits =
          bias->sizes().end()[-int(d)] == 1 || bias->sizes().end()[-int(d)] == sizes.end()[-int(d)];
    check(fits, "linear: bias of shape ", bias->sizes(),
          " cannot be broadcast to the output, of shape ", IntSpan(sizes), " with ", n,
          " output features");
  }
  Tensor out = flambeau::empty(sizes, self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  DType t = info(self.dtype()).compute;
  if (t != self.dtype()) {
    copy_kernel(out, linear(cast_of(self, t), cast_of(weight, t),
                            bias ? OptTensor(cast_of(*bias, t)) : bias));
    return out;
  }
  const int64_t rows = out.numel() / n;
  Tensor x = self.dim() == 2 && (self.strides()[1] == 1 || self.strides()[0] == 1)
                 ? self
                 : contiguous_of(self);
  MatrixArg a = x.dim() == 2 ? matrix(x) : MatrixArg{x.bytes(), k, 1};
  MatrixArg b = weight.dim() == 2
                    ? MatrixArg{weight.bytes(), weight.strides()[1], weight.strides()[0]}
                    : MatrixArg{weight.bytes(), weight.strides()[0], 1};
  const OptTensor flat = bias ? OptTensor(contiguous_of(*bias)) : bias;
  const bool dense = flat && flat->dim() <= 1 && flat->numel() == n;
  if (flat && !dense) copy_kernel(out, expand(*flat, out.sizes(), false));
  gemm(t, rows, n, k, a, b, out.bytes(), n, bias.has_value(), false,
       dense ? flat->bytes() : nullptr);
  return out;
}

}  // namespace kernels
}  // namespace flambeau
