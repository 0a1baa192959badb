// Kernels of sparse tensors: they see indices and values as the dense tensors that they are.
#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <vector>

#include "kernels/checks.h"
#include "kernels/pointwise.h"
#include "kernels/sparse_table.h"
#include "kernels/targets.h"
#include "ops/sparse.h"
#include "runtime/cpu.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(target)          \
  namespace target {                      \
  extern const SparseFns sparse_table[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

namespace kernels {
namespace {

constexpr int64_t kWork = 1 << 15;  // multiplications that are worth a thread

const SparseFns& fns() {
  static const SparseFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(sparse_table, 0),
                                             FLAMBEAU_TABLE_AVX2(sparse_table, 0),
                                             FLAMBEAU_TABLE_AVX512(sparse_table, 0)};
  return *tables[chosen_target()];
}
template <class T>
const SparseRowFns<T>& row_fns() {
  if constexpr (std::is_same_v<T, float>)
    return fns().f32;
  else
    return fns().f64;
}

Tensor index_vector(const char* op, const char* name, const Tensor& t) {
  check_rank(op, name, t, 1, 1);
  check(t.dtype() == DType::Int64 || t.dtype() == DType::Int32, op, ": expected ", name,
        " to have dtype int64 or int32, but got ", t.dtype());
  return contiguous_of(cast_of(t, DType::Int64));
}

// The compressed rows of a matrix; nothing is read through their indices before they are checked.
struct Rows {
  Tensor starts_of, columns_of;
  const int64_t* starts;
  const int64_t* columns;
  int64_t count, elements;

  Rows(const char* op, const Tensor& crow, const Tensor& col, int64_t width)
      : starts_of(index_vector(op, "crow_indices", crow)),
        columns_of(index_vector(op, "col_indices", col)),
        starts(starts_of.data<int64_t>()),
        columns(columns_of.data<int64_t>()),
        count(starts_of.numel() - 1),
        elements(columns_of.numel()) {
    check(count >= 0 && starts[0] == 0 && starts[count] == elements, op,
          ": expected crow_indices to go from 0 to the number of elements, ", elements);
    for (int64_t i = 0; i < count; i++)
      check(starts[i] <= starts[i + 1], op, ": expected crow_indices not to decrease");
    std::atomic<bool> right = true;
    parallel_for(elements, kWork, [&](int64_t begin, int64_t end) {
      if (!fns().all_below(columns + begin, end - begin, width)) right = false;
    });
    if (right) return;
    for (int64_t i = 0; i < elements; i++)
      check(columns[i] >= 0 && columns[i] < width, op, ": found column ", columns[i],
            " of a matrix with ", width, " columns");
  }
};

template <class T>
void sum_rows(const T* values, const int64_t* columns, int64_t count, const T* dense, int64_t row,
              T* out, int64_t n) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    row_fns<T>().sum_rows(values, columns, count, dense, row, out, n);
  } else {
    std::fill(out, out + n, T(0));
    for (int64_t i = 0; i < count; i++) {
      const T* x = dense + columns[i] * row;
      for (int64_t j = 0; j < n; j++) out[j] = T(out[j] + T(values[i] * x[j]));
    }
  }
}

// Integers wrap around, bools are one or the other.
template <class T>
T total(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<T>)
    return T(uint64_t(a) + uint64_t(b));
  else
    return T(a + b);
}
template <class T>
T product(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<T>)
    return T(uint64_t(a) * uint64_t(b));
  else
    return T(a * b);
}

// Rows of a product of two sparse matrices, one after the other (Gustavson 1978): a row gathers
// rows of the second matrix.
template <class T>
struct RowProducts {
  struct Cell {
    T value;  // not a plain T: a vector of bool has no elements
  };
  std::vector<int64_t> columns;
  std::vector<Cell> cells;

  // Also writes the number of elements of row r to counts[r + 1].
  void run(const Rows& a, const T* x, const Rows& b, const T* y, int64_t begin, int64_t end,
           int64_t width, int64_t* counts) {
    std::vector<Cell> sums(static_cast<size_t>(width), Cell{});
    std::vector<int64_t> row_of(size_t(width), -1);
    std::vector<uint64_t> marks(size_t(width) / 64 + 1);  // the columns of the row, a bit each
    for (int64_t r = begin; r < end; r++) {
      const size_t before = columns.size();
      for (int64_t i = a.starts[r]; i < a.starts[r + 1]; i++)
        for (int64_t k = b.starts[a.columns[i]]; k < b.starts[a.columns[i] + 1]; k++) {
          const int64_t c = b.columns[k];
          T& sum = sums[size_t(c)].value;
          if (row_of[size_t(c)] != r) {
            row_of[size_t(c)] = r;
            sum = product<T>(x[i], y[k]);
            columns.push_back(c);
          } else {
            sum = total<T>(sum, product<T>(x[i], y[k]));
          }
        }
      const size_t found = columns.size() - before;
      counts[r + 1] = int64_t(found);
      if (found * 4 < marks.size()) {
        std::sort(columns.begin() + int64_t(before), columns.end());
      } else {
        // Reading all marks costs less than sorting.
        for (size_t i = before; i < columns.size(); i++)
          marks[size_t(columns[i]) / 64] |= uint64_t(1) << (columns[i] % 64);
        auto at = columns.begin() + int64_t(before);
        for (size_t w = 0; w < marks.size(); w++)
          for (uint64_t& bits = marks[w]; bits; bits &= bits - 1)
            *at++ = int64_t(w * 64) + std::countr_zero(bits);
      }
      for (size_t i = before; i < columns.size(); i++) cells.push_back(sums[size_t(columns[i])]);
    }
  }
};

}  // namespace

Tensor _sum_runs(const Tensor& values, const Tensor& order, const Tensor& starts) {
  const char* op = "_sum_runs";
  check(values.dim() >= 1, op, ": expected values to have a dimension");
  Dims sizes = values.sizes();
  sizes[0] = starts.numel() - 1;
  check(starts.numel() > 0, op, ": expected starts to have an element");
  Tensor out = flambeau::empty(sizes, values.dtype(), values.device());
  if (out.is_meta()) return out;
  Tensor from = contiguous_of(values), at = index_vector(op, "order", order),
         bounds = index_vector(op, "starts", starts);
  const int64_t *p = at.data<int64_t>(), *b = bounds.data<int64_t>();
  const int64_t n = values.sizes()[0], runs = sizes[0];
  for (int64_t i = 0; i < at.numel(); i++)
    check(p[i] >= 0 && p[i] < n, op, ": no value ", p[i], " among ", n);
  check(b[0] >= 0 && b[runs] <= at.numel(), op, ": a run ends outside of order");
  for (int64_t r = 0; r < runs; r++) check(b[r] < b[r + 1], op, ": a run without elements");
  const int64_t width = n ? from.numel() / n : 0;
  visit(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = from.template data<T>();
    T* y = out.template data<T>();
    parallel_for(runs, std::max<int64_t>(1, kWork / std::max<int64_t>(width, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t r = begin; r < end; r++) {
                     T* to = y + r * width;
                     std::copy_n(x + p[b[r]] * width, width, to);
                     for (int64_t i = b[r] + 1; i < b[r + 1]; i++)
                       for (int64_t k = 0; k < width; k++)
                         to[k] = total<T>(to[k], x[p[i] * width + k]);
                   }
                 });
  });
  return out;
}

std::tuple<Tensor, Tensor> _csr_order(const Tensor& rows, int64_t size) {
  const char* op = "_csr_order";
  check_sizes(op, "size", Dims{size});
  check<NotImplementedError>(!rows.is_meta(), op, ": meta tensors have no indices to read");
  Tensor at = index_vector(op, "rows", rows);
  Tensor starts = flambeau::empty(Dims{size + 1}, DType::Int64),
         order = flambeau::empty(Dims{at.numel()}, DType::Int64);
  const int64_t *p = at.data<int64_t>(), n = at.numel();
  int64_t *s = starts.data<int64_t>(), *to = order.data<int64_t>();
  std::fill_n(s, size + 1, 0);
  for (int64_t i = 0; i < n; i++) {
    check(p[i] >= 0 && p[i] < size, op, ": found row ", p[i], " of a matrix with ", size, " rows");
    s[p[i] + 1]++;
  }
  std::partial_sum(s, s + size + 1, s);
  std::vector<int64_t> next(s, s + size);
  for (int64_t i = 0; i < n; i++) to[next[size_t(p[i])]++] = i;
  return {starts, order};
}

Tensor _convert_indices_from_coo_to_csr(const Tensor& self, int64_t size, bool out_int32) {
  const char* op = "_convert_indices_from_coo_to_csr";
  check(self.dim() <= 1, "Input is supposed to be a vector, but got ", self.dim(),
        " dimensional tensor.");
  check(size >= 0, op, ": size must not be negative, got ", size);
  check_sizes(op, "size", Dims{size});
  Tensor out =
      flambeau::empty(Dims{size + 1}, out_int32 ? DType::Int32 : DType::Int64, self.device());
  if (out.is_meta()) return out;
  Tensor rows = contiguous_of(cast_of(self, DType::Int64));
  const int64_t* p = rows.data<int64_t>();
  const int64_t n = rows.numel();
  const auto fill = [&](auto* to) {
    using I = std::remove_reference_t<decltype(*to)>;
    // Element i sets the starts of the rows after that of element i - 1 up to its own.
    parallel_for(n, kWork, [&](int64_t begin, int64_t end) {
      int64_t before = begin ? p[begin - 1] : -1;
      for (int64_t i = begin; i < end; before = p[i++]) {
        check(p[i] >= 0 && p[i] < size && before <= p[i], op, ": expected sorted indices below ",
              size, ", but found ", p[i]);
        for (int64_t r = before + 1; r <= p[i]; r++) to[r] = I(i);
      }
    });
    std::fill(to + (n ? p[n - 1] + 1 : 0), to + size + 1, I(n));
  };
  if (out_int32)
    fill(out.data<int32_t>());
  else
    fill(out.data<int64_t>());
  return out;
}

Tensor _convert_indices_from_csr_to_coo(const Tensor& crow, const Tensor& col, bool out_int32,
                                        bool transpose) {
  const char* op = "_convert_indices_from_csr_to_coo";
  check(crow.dim() >= 1 && crow.dim() == col.dim(), op,
        ": expected crow_indices and col_indices to have the same number of dimensions, got ",
        crow.dim(), " and ", col.dim());
  const int64_t batches = col.dim() > 1 ? col.numel() / std::max<int64_t>(col.size(-1), 1) : 1;
  const int64_t each = col.size(-1), rows = crow.size(-1) - 1, dims = col.dim() + 1;
  check(rows >= 0, op, ": crow_indices must not be empty");
  Tensor out = flambeau::empty(Dims{dims, col.numel()}, out_int32 ? DType::Int32 : DType::Int64,
                               col.device());
  if (out.is_meta()) return out;
  Tensor starts = contiguous_of(cast_of(crow, DType::Int64)),
         columns = contiguous_of(cast_of(col, DType::Int64));
  const int64_t* s = starts.data<int64_t>();
  const int64_t total_count = col.numel();
  check(starts.numel() == batches * (rows + 1) || total_count == 0, op,
        ": crow_indices and col_indices have different batch sizes");
  const auto fill = [&](auto* to) {
    using I = std::remove_reference_t<decltype(*to)>;
    I *row_at = to + (dims - 2 + (transpose ? 1 : 0)) * total_count,
      *col_at = to + (dims - 2 + (transpose ? 0 : 1)) * total_count;
    for (int64_t i = 0; i < total_count; i++) col_at[i] = I(columns.data<int64_t>()[i]);
    for (int64_t b = 0; b < batches && total_count; b++) {
      int64_t rest = b;
      for (int64_t d = col.dim() - 2; d >= 0; d--) {
        const int64_t size = col.sizes()[size_t(d)];
        std::fill_n(to + d * total_count + b * each, each, I(rest % size));
        rest /= size;
      }
      for (int64_t r = 0; r < rows; r++) {
        const int64_t begin = s[b * (rows + 1) + r], end = s[b * (rows + 1) + r + 1];
        check(begin >= 0 && begin <= end && end <= each, op,
              ": expected crow_indices not to decrease and to end at ", each);
        std::fill(row_at + b * each + begin, row_at + b * each + end, I(r));
      }
    }
  };
  if (out_int32)
    fill(out.data<int32_t>());
  else
    fill(out.data<int64_t>());
  return out;
}

Tensor _csr_mm(const Tensor& crow, const Tensor& col, const Tensor& values, const Tensor& dense) {
  const char* op = "_csr_mm";
  check_rank(op, "dense", dense, 2, 2);
  check(crow.numel() > 0, op, ": crow_indices must not be empty");
  check(values.dtype() == dense.dtype(), op, ": expected values and dense to have the same dtype, ",
        "but got ", values.dtype(), " and ", dense.dtype());
  check_shape(op, "values", values, col.sizes());
  const int64_t n = dense.sizes()[1];
  const DType compute = info(dense.dtype()).compute;
  Tensor out = flambeau::empty(Dims{crow.numel() - 1, n}, compute, dense.device());
  if (out.is_meta()) return cast_of(out, dense.dtype());
  const Rows rows(op, crow, col, dense.sizes()[0]);
  Tensor factors = contiguous_of(cast_of(values, compute)), x = cast_of(dense, compute);
  if (x.strides()[1] != 1 && n > 1) x = contiguous_of(x);
  const int64_t step = x.strides()[0];
  const int64_t work = std::max<int64_t>(rows.elements / std::max<int64_t>(rows.count, 1), 1) *
                       std::max<int64_t>(n, 1);
  LongWork guard(rows.elements * n > (1 << 18));
  visit(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *v = factors.template data<T>(), *d = x.template data<T>();
    T* y = out.template data<T>();
    parallel_for(rows.count, std::max<int64_t>(1, kWork / work), [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
        if (n == 1)
          return row_fns<T>().dots(v, rows.columns, rows.starts + begin, end - begin, d, step,
                                   y + begin);
      for (int64_t r = begin; r < end; r++) {
        const int64_t at = rows.starts[r];
        sum_rows<T>(v + at, rows.columns + at, rows.starts[r + 1] - at, d, step, y + r * n, n);
      }
    });
  });
  return cast_of(out, dense.dtype());
}

std::tuple<Tensor, Tensor, Tensor> _csr_matmul(const Tensor& crow, const Tensor& col,
                                               const Tensor& values, const Tensor& other_crow,
                                               const Tensor& other_col, const Tensor& other_values,
                                               int64_t columns) {
  const char* op = "_csr_matmul";
  check_sizes(op, "columns", Dims{columns});
  check(values.dtype() == other_values.dtype(), op, ": expected two matrices of the same dtype, ",
        "but got ", values.dtype(), " and ", other_values.dtype());
  check<NotImplementedError>(!values.is_meta(), op, ": meta tensors have no indices to read");
  check_shape(op, "values", values, col.sizes());
  check_shape(op, "other_values", other_values, other_col.sizes());
  check(crow.numel() > 0 && other_crow.numel() > 0, op, ": crow_indices must not be empty");
  const DType compute = info(values.dtype()).compute;
  const Rows a(op, crow, col, other_crow.numel() - 1), b(op, other_crow, other_col, columns);
  Tensor av = contiguous_of(cast_of(values, compute)),
         bv = contiguous_of(cast_of(other_values, compute));
  Tensor starts = flambeau::empty(Dims{a.count + 1}, DType::Int64), where, what;
  int64_t* to = starts.data<int64_t>();
  to[0] = 0;
  // Products in all rows before each one: rows are shared out by them, not by their number.
  std::vector<int64_t> work(size_t(a.count) + 1);
  for (int64_t r = 0; r < a.count; r++) {
    int64_t products = 0;
    for (int64_t i = a.starts[r]; i < a.starts[r + 1]; i++)
      products += b.starts[a.columns[i] + 1] - b.starts[a.columns[i]];
    work[size_t(r) + 1] = work[size_t(r)] + products;
  }
  const int64_t parts =
      std::clamp<int64_t>(work.back() / kWork, 1, std::min<int64_t>(a.count, num_threads()));
  LongWork guard(work.back() > (1 << 18));
  visit(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<RowProducts<T>> done(size_t(std::max<int64_t>(parts, 1)));
    const T *x = av.template data<T>(), *y = bv.template data<T>();
    parallel_for(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; p++) {
        const auto row_at = [&](int64_t part) {
          const auto at = std::lower_bound(work.begin(), work.end(), work.back() / parts * part);
          return part == parts ? a.count : int64_t(at - work.begin());
        };
        done[size_t(p)].run(a, x, b, y, row_at(p), row_at(p + 1), columns, to);
      }
    });
    int64_t total_count = 0;
    for (const auto& part : done) total_count += int64_t(part.columns.size());
    where = flambeau::empty(Dims{total_count}, DType::Int64);
    what = flambeau::empty(Dims{total_count}, compute);
    int64_t* columns_to = where.data<int64_t>();
    T* values_to = what.template data<T>();
    for (const auto& part : done) {
      columns_to = std::copy(part.columns.begin(), part.columns.end(), columns_to);
      for (const auto& cell : part.cells) *values_to++ = cell.value;
    }
    std::partial_sum(to, to + a.count + 1, to);
  });
  return {starts, where, cast_of(what, values.dtype())};
}

}  // namespace kernels
}  // namespace flambeau
