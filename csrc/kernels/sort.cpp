// Sorting and selection along a dimension, through records of key and position.
#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/pointwise.h"
#include "kernels/reduce.h"
#include "kernels/sort_keys.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

template <class T>
bool is_nan(T v) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return float(v) != float(v);
}

template <class T>
void fill_records(Record<KeyOf<T>>* r, const T* x, int64_t n, bool descending) {
  using K = KeyOf<T>;
  const K flip = descending ? K(-1) : K(0);
  for (int64_t i = 0; i < n; i++) r[i] = Record<K>{K(sort_key(x[i]) ^ flip), uint64_t(i)};
}

struct Selected {
  Tensor values, indices;
};

// Results of one value per line.
Selected one_each(const Tensor& self, int64_t dim, bool keepdim) {
  Dims shape = self.dim() ? reduced_shape(self.sizes(), Dims{dim}, keepdim) : Dims{};
  return {empty(shape, self.dtype(), self.device()), empty(shape, DType::Int64, self.device())};
}

// f(row, n) -> position of the chosen element, for each line along `dim`.
template <class F>
std::tuple<Tensor, Tensor> select_each(const char* op, const Tensor& self, int64_t dim,
                                       bool keepdim, F&& f) {
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t n = self.dim() ? self.sizes()[size_t(d)] : 1;
  check<NotImplementedError>(self.dtype() != DType::Bool || std::string_view(op) == "mode", op,
                             "(): not implemented for 'Bool'");
  check<IndexError>(n > 0, op, "(): Expected reduction dim ", d, " to have non-zero size.");
  Selected out = one_each(self, d, keepdim);
  if (self.is_meta() || self.numel() == 0) return {out.values, out.indices};
  Tensor rows = rows_of(self, d);
  LongWork guard(self.numel() > (1 << 16));
  visit_ordered(self.dtype(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = rows.template data<T>();
    parallel_for(self.numel() / n, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
      std::unique_ptr<Record<KeyOf<T>>[]> records(new Record<KeyOf<T>>[size_t(n)]);
      for (int64_t r = begin; r < end; r++) {
        const int64_t at = f(x + r * n, n, records.get());
        out.values.template data<T>()[r] = x[r * n + at];
        out.indices.template data<int64_t>()[r] = at;
      }
    });
  });
  return {out.values, out.indices};
}

// Position of the k-th smallest (from 0) of n elements.
template <class T>
int64_t kth_position(const T* x, int64_t n, int64_t k, Record<KeyOf<T>>* records) {
  fill_records(records, x, n, false);
  std::nth_element(records, records + k, records + n);
  return position(records[k]);
}

template <class T>
int64_t median_position(const T* x, int64_t n, Record<KeyOf<T>>* records, bool skip_nan) {
  int64_t numbers = n;
  if constexpr (!std::is_integral_v<T>) {
    numbers = 0;
    for (int64_t i = 0; i < n; i++) {
      const bool nan = is_nan(x[i]);
      if (nan && !skip_nan) return i;
      numbers += !nan;
    }
    if (numbers == 0) return 0;
  }
  return kth_position(x, n, (numbers - 1) / 2, records);
}

Tensor median_all(const Tensor& self, bool skip_nan) {
  Tensor flat = self;
  if (self.is_meta()) return empty(Dims{}, self.dtype(), self.device());
  if (self.numel() == 0) {
    Tensor out = empty(Dims{}, self.dtype(), self.device());
    fill_kernel(out, is_differentiable(self.dtype()) ? Scalar(NAN)
                                                     : Scalar(std::numeric_limits<int64_t>::min()));
    return out;
  }
  flat = contiguous_of(self);
  flat = alias(flat, Dims{flat.numel()}, Dims{1}, flat.offset());
  return std::get<0>(skip_nan ? nanmedian_dim(flat, 0, false) : median_dim(flat, 0, false));
}

}  // namespace

std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool>, int64_t dim,
                                       bool descending) {
  const int64_t d = wrap_dim(dim, self.dim());
  check(!self.is_complex(), "Sort does not support complex dtypes on CPU (sort(): got ",
        self.dtype(), "; sort the real part or abs())");
  if (self.is_meta() || self.numel() == 0)
    return {empty(self.sizes(), self.dtype(), self.device()),
            empty(self.sizes(), DType::Int64, self.device())};
  Tensor rows = rows_of(self, d), values = empty(rows.sizes(), rows.dtype()),
         indices = empty(rows.sizes(), DType::Int64);
  const int64_t n = rows.sizes().back();
  LongWork guard(self.numel() > (1 << 15));
  visit_sortable(rows.dtype(), "sort", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = Record<KeyOf<T>>;
    const T* x = rows.template data<T>();
    T* v = values.template data<T>();
    int64_t* at = indices.template data<int64_t>();
    auto finish = [&](const R* r, int64_t row, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        const int64_t p = position(r[i]);
        at[row * n + i] = p;
        v[row * n + i] = x[row * n + p];
      }
    };
    const int64_t count = rows.numel() / n;
    if (count == 1) {
      std::unique_ptr<R[]> buffer(new R[size_t(2 * n)]);
      R* r = buffer.get();
      fill_records(r, x, n, descending);
      sort_records(r, r + n, n);
      parallel_for(n, 1 << 14, [&](int64_t begin, int64_t end) { finish(r, 0, begin, end); });
      return;
    }
    parallel_for(count, std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
      std::unique_ptr<R[]> buffer(new R[size_t(2 * n)]);
      R* r = buffer.get();
      for (int64_t row = begin; row < end; row++) {
        fill_records(r, x + row * n, n, descending);
        sort_records(r, r + n, n);
        finish(r, row, 0, n);
      }
    });
  });
  return {from_rows(values, self.sizes(), d), from_rows(indices, self.sizes(), d)};
}

std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest,
                                bool sorted) {
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t n = self.dim() ? self.sizes()[size_t(d)] : 1;
  check(k >= 0 && k <= n, "selected index k out of range: k is ", k, " but dimension ", d, " has ",
        n, " elements");
  check(!self.is_complex() && self.dtype() != DType::Bool, "topk does not support ",
        self.is_complex() ? "complex" : "bool", " dtypes on CPU");
  Dims shape = self.sizes();
  if (self.dim()) shape[size_t(d)] = k;
  if (self.is_meta() || product(shape) == 0)
    return {empty(shape, self.dtype(), self.device()), empty(shape, DType::Int64, self.device())};
  Tensor rows = rows_of(self, d);
  Dims row_shape = rows.sizes();
  row_shape.back() = k;
  Tensor values = empty(row_shape, rows.dtype()), indices = empty(row_shape, DType::Int64);
  LongWork guard(self.numel() > (1 << 16));
  visit_ordered(rows.dtype(), "topk", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using K = KeyOf<T>;
    using R = Record<K>;
    const T* x = rows.template data<T>();
    const K flip = largest ? K(-1) : K(0);
    parallel_for(rows.numel() / n, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
      constexpr int64_t block = 64;
      const bool few = k * 8 < n;
      const int64_t room =
          few ? std::max<int64_t>(4 * k, 64) : n;  // candidates before the next cut
      std::unique_ptr<R[]> buffer(new R[size_t(std::max(room, k))]);
      R* r = buffer.get();
      for (int64_t row = begin; row < end; row++) {
        const T* line = x + row * n;
        int64_t held = 0;
        K worst = K(-1);    // keys above it cannot be among the first k
        bool full = false;  // k keys of 0 are held: nothing can come before them
        for (int64_t start = 0; start < n && !full; start += block) {
          const int64_t stop = std::min(n, start + block);
          K keys[block];
          bool hopeful = false;
          for (int64_t i = start; i < stop; i++) {
            keys[i - start] = sort_key(line[i]) ^ flip;
            hopeful |= keys[i - start] <= worst;
          }
          for (int64_t i = start; hopeful && i < stop; i++) {
            const K key = keys[i - start];
            if (key > worst) continue;
            r[held++] = R{key, uint64_t(i)};
            if (held < room || !few) continue;
            std::nth_element(r, r + k - 1, r + held);
            held = k;
            worst = key_of(r[k - 1]);
            full = worst == 0;
            if (full) break;
            worst--;  // a later equal loses against an earlier one
          }
        }
        if (held > k) std::nth_element(r, r + k - 1, r + held);
        if (sorted) std::sort(r, r + k);
        for (int64_t i = 0; i < k; i++) {
          const int64_t p = position(r[i]);
          indices.template data<int64_t>()[row * k + i] = p;
          values.template data<T>()[row * k + i] = line[p];
        }
      }
    });
  });
  return {from_rows(values, self.sizes(), d), from_rows(indices, self.sizes(), d)};
}

std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  const int64_t d = wrap_dim(dim, self.dim()), n = self.dim() ? self.sizes()[size_t(d)] : 1;
  check<IndexError>(n > 0, "kthvalue(): Expected reduction dim ", d, " to have non-zero size.");
  check(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension ", d, ": k is ",
        k, ", the dimension has ", n, " elements");
  return select_each("kthvalue", self, dim, keepdim, [k](auto* x, int64_t size, auto* records) {
    return kth_position(x, size, k - 1, records);
  });
}

std::tuple<Tensor, Tensor> median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return select_each("median", self, dim, keepdim, [](auto* x, int64_t n, auto* records) {
    return median_position(x, n, records, false);
  });
}
std::tuple<Tensor, Tensor> nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return select_each("nanmedian", self, dim, keepdim, [](auto* x, int64_t n, auto* records) {
    return median_position(x, n, records, true);
  });
}
Tensor median(const Tensor& self) { return median_all(self, false); }
Tensor nanmedian(const Tensor& self) { return median_all(self, true); }

std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim) {
  return select_each("mode", self, dim, keepdim, [](auto* x, int64_t n, auto* records) {
    fill_records(records, x, n, false);
    std::sort(records, records + n);
    int64_t best = 0, at = position(records[0]), run = 0;
    for (int64_t i = 0; i < n; i++) {
      run = i > 0 && key_of(records[i]) == key_of(records[i - 1]) ? run + 1 : 1;
      if (run > best) {
        best = run;
        at = position(records[i]);
      }
    }
    return at;
  });
}

}  // namespace flambeau::kernels
