#include <algorithm>
#include <memory>

#include "kernels/pointwise.h"
#include "kernels/reduce.h"
#include "kernels/targets.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(ns)                                                        \
  namespace ns {                                                                    \
  extern const ReduceFns reduce_sum[kNumDTypes], reduce_nansum[kNumDTypes],         \
      reduce_prod[kNumDTypes], reduce_max[kNumDTypes], reduce_min[kNumDTypes],      \
      reduce_squares[kNumDTypes], reduce_abs[kNumDTypes], reduce_count[kNumDTypes], \
      reduce_moments[kNumDTypes];                                                   \
  extern const ArgFns arg_table[2][kNumDTypes];                                     \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
#undef FLAMBEAU_DECLARE

const ReduceFns& reduce_fns(ReduceOp op, DType dtype) {
#define FLAMBEAU_TABLES(name)                                                                    \
  {                                                                                              \
    FLAMBEAU_TABLE_BASELINE(name, 0), FLAMBEAU_TABLE_AVX2(name, 0), FLAMBEAU_TABLE_AVX2(name, 0) \
  }
  static const ReduceFns* const tables[kNumReduceOps][3] = {
      // in the order of ReduceOp
      FLAMBEAU_TABLES(reduce_sum), FLAMBEAU_TABLES(reduce_nansum), FLAMBEAU_TABLES(reduce_prod),
      FLAMBEAU_TABLES(reduce_max), FLAMBEAU_TABLES(reduce_min),    FLAMBEAU_TABLES(reduce_squares),
      FLAMBEAU_TABLES(reduce_abs), FLAMBEAU_TABLES(reduce_count),  FLAMBEAU_TABLES(reduce_moments)};
#undef FLAMBEAU_TABLES
  if (is_storage_only(dtype)) fail_storage_only(dtype);
  const ReduceFns& f = tables[int(op)][chosen_target()][int(dtype)];
  check<NotImplementedError>(f.rows != nullptr, "this reduction is not implemented for '",
                             info(dtype).name, "'");
  return f;
}

const ArgFns& arg_fns(bool largest, DType dtype) {
  static const ArgFns(*const tables[3])[kNumDTypes] = {FLAMBEAU_TABLE_BASELINE(arg_table, 0),
                                                       FLAMBEAU_TABLE_AVX2(arg_table, 0),
                                                       FLAMBEAU_TABLE_AVX2(arg_table, 0)};
  if (is_storage_only(dtype)) fail_storage_only(dtype);
  const ArgFns& fns = tables[chosen_target()][int(largest)][int(dtype)];
  check<NotImplementedError>(fns.rows, "this reduction is not implemented for ", dtype);
  return fns;
}

Dims reduced_dims(const std::optional<Dims>& dims, int64_t ndim) {
  Dims all;
  if (!dims || dims->empty()) {
    for (int64_t d = 0; d < ndim; d++) all.push_back(d);
    return all;
  }
  if (ndim == 0) {
    for (int64_t d : *dims) wrap_dim(d, 0);
    return all;
  }
  return wrap_dims(*dims, ndim);
}

Dims reduced_shape(IntSpan sizes, IntSpan dims, bool keepdim) {
  Dims out;
  for (size_t d = 0; d < sizes.size(); d++) {
    const bool gone = std::find(dims.begin(), dims.end(), int64_t(d)) != dims.end();
    if (!gone)
      out.push_back(sizes[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

namespace {

constexpr int64_t kRow = 16384;    // elements of one block along a row
constexpr int64_t kTile = 65536;   // elements of one block of columns
constexpr int64_t kStrip = 1024;   // columns of one work item
constexpr int64_t kGrain = 32768;  // elements below which one thread is faster

// Dimensions to walk, outermost first, those of one stride apart merged into one.
struct Axes {
  Dims sizes, strides;

  // Keeps the largest stride first; equal ones in the order of their insertion.
  size_t insert(int64_t size, int64_t stride) {
    size_t at = sizes.size();
    while (at > 0 && strides[at - 1] < stride) at--;
    sizes.insert(at, size);
    strides.insert(at, stride);
    return at;
  }
  void coalesce() {
    size_t last = 0;
    for (size_t i = 1; i < sizes.size(); i++) {
      if (strides[last] == strides[i] * sizes[i]) {
        sizes[last] *= sizes[i];
      } else {
        last++;
        sizes[last] = sizes[i];
      }
      strides[last] = strides[i];
    }
    while (sizes.size() > last + 1) pop_back();
  }
  void pop_back() {
    sizes.pop_back();
    strides.pop_back();
  }
  bool empty() const { return sizes.empty(); }
  bool dense() const { return !empty() && strides.back() == 1; }
  int64_t count() const { return product(sizes); }
  int64_t offset(int64_t index) const {
    int64_t offset = 0;
    for (size_t i = sizes.size(); i-- > 0;) {
      offset += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    return offset;
  }
};

// Reduced and kept axes of a non-empty tensor, each outermost first.
struct Plan {
  Axes reduced, kept;
  Dims kept_order;  // dimensions of the result's memory, outermost first

  Plan(const Tensor& in, IntSpan dims) {
    Axes all_kept;  // with those of size 1
    for (int64_t d = 0; d < in.dim(); d++) {
      const int64_t size = in.sizes()[size_t(d)], stride = in.strides()[size_t(d)];
      if (std::find(dims.begin(), dims.end(), d) != dims.end()) {
        if (size != 1) reduced.insert(size, stride);
      } else {
        kept_order.insert(all_kept.insert(size, stride), d);
        if (size != 1) kept.insert(size, stride);
      }
    }
    reduced.coalesce();
    kept.coalesce();
  }
  bool has_unit_stride() const {
    return reduced.dense() || kept.dense() || (reduced.empty() && kept.empty());
  }
};

// acc[0] of each of `count` groups of `units` vectors of `width` accumulators becomes the group's
// whole.
void combine_units(const ReduceFns& f, char* acc, int64_t count, int64_t units, int64_t width) {
  const int64_t bytes = width * f.acc_size;
  for (int64_t m = 0; m < count; m++) {
    char* group = acc + m * units * bytes;
    for (int64_t step = 1; step < units; step *= 2)
      for (int64_t i = 0; i + step < units; i += 2 * step)
        f.combine(group + i * bytes, group + (i + step) * bytes, width);
    if (m > 0) std::copy(group, group + bytes, acc + m * bytes);
  }
}

class Run {
 public:
  Run(const ReduceFns& f, const Tensor& in, const Plan& plan)
      : f_(f), base_(in.bytes()), width_(in.itemsize()), plan_(plan) {}

  void operator()(Reduced& out) {
    outer_ = plan_.reduced;
    if (!outer_.empty()) {
      inner_ = {outer_.sizes.back(), outer_.strides.back()};
      outer_.pop_back();
    }
    combos_ = outer_.count();
    const bool columns = plan_.kept.dense() && !plan_.reduced.dense();
    if (columns)
      by_columns(out);
    else
      by_rows(out);
  }

 private:
  struct Axis {
    int64_t size = 1, stride = 1;
  };
  const char* at(int64_t offset) const { return base_ + offset * width_; }

  // Cuts `rows` rows of each of combos_ blocks into units of about `most` rows.
  void cut(int64_t rows, int64_t most) {
    if (rows > most) {
      pieces_ = (rows + most - 1) / most;
      piece_ = most;
      group_ = 1;
      units_ = combos_ * pieces_;
    } else {
      pieces_ = 1;
      piece_ = rows;
      group_ = std::max<int64_t>(1, most / std::max<int64_t>(rows, 1));
      units_ = (combos_ + group_ - 1) / group_;
    }
  }

  void by_rows(Reduced& out) {
    const int64_t n = inner_.size, count = out.count;
    cut(n, kRow);
    allocate_acc(out, count * units_);
    char* acc = static_cast<char*>(out.acc);
    if (units_ == 1 && combos_ == 1) {
      Axis last;
      Axes lead = plan_.kept;
      if (!lead.empty()) {
        last = {lead.sizes.back(), lead.strides.back()};
        lead.pop_back();
      }
      parallel_for(count, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t m = begin; m < end;) {
                       const int64_t run = std::min(end - m, last.size - m % last.size);
                       f_.rows(acc + m * f_.acc_size,
                               at(lead.offset(m / last.size) + m % last.size * last.stride), run, n,
                               last.stride);
                       m += run;
                     }
                   });
      return;
    }
    const int64_t work = std::min(piece_ * group_, piece_ * combos_);
    parallel_for(count * units_, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
                 [&](int64_t begin, int64_t end) {
                   alignas(16) char other[32];
                   for (int64_t k = begin; k < end; k++) {
                     const int64_t start = plan_.kept.offset(k / units_), unit = k % units_;
                     char* to = acc + k * f_.acc_size;
                     if (pieces_ > 1) {
                       const int64_t from = unit % pieces_ * piece_;
                       f_.rows(to, at(start + outer_.offset(unit / pieces_) + from), 1,
                               std::min(piece_, n - from), 0);
                       continue;
                     }
                     for (int64_t q = unit * group_, stop = std::min(combos_, q + group_),
                                  first = q;
                          q < stop; q++) {
                       f_.rows(q == first ? to : other, at(start + outer_.offset(q)), 1, n, 0);
                       if (q != first) f_.combine(to, other, 1);
                     }
                   }
                 });
    combine_units(f_, acc, count, units_, 1);
  }

  void by_columns(Reduced& out) {
    const int64_t n = inner_.size, cols = plan_.kept.sizes.back(), blocks = out.count / cols;
    Axes lead = plan_.kept;
    lead.pop_back();
    cut(n, std::clamp<int64_t>(kTile / cols / 4 * 4, 16, 8192));
    allocate_acc(out, blocks * units_ * cols);
    char* acc = static_cast<char*>(out.acc);
    const int64_t strips = (cols + kStrip - 1) / kStrip;
    const int64_t work = std::min(cols, kStrip) * std::min(piece_ * group_, piece_ * combos_);
    parallel_for(
        blocks * units_ * strips, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
        [&](int64_t begin, int64_t end) {
          std::unique_ptr<char[]> other;
          for (int64_t k = begin; k < end; k++) {
            const int64_t strip = k % strips * kStrip, width = std::min(kStrip, cols - strip);
            const int64_t unit = k / strips % units_, block = k / strips / units_;
            const int64_t start = lead.offset(block) + strip;
            char* to = acc + ((block * units_ + unit) * cols + strip) * f_.acc_size;
            if (pieces_ > 1) {
              const int64_t from = unit % pieces_ * piece_;
              f_.columns(to, at(start + outer_.offset(unit / pieces_) + from * inner_.stride),
                         std::min(piece_, n - from), width, inner_.stride);
              continue;
            }
            for (int64_t q = unit * group_, stop = std::min(combos_, q + group_), first = q;
                 q < stop; q++) {
              if (q != first && !other) other.reset(new char[size_t(kStrip * f_.acc_size)]);
              f_.columns(q == first ? to : other.get(), at(start + outer_.offset(q)), n, width,
                         inner_.stride);
              if (q != first) f_.combine(to, other.get(), width);
            }
          }
        });
    combine_units(f_, acc, blocks, units_, cols);
  }

  void allocate_acc(Reduced& out, int64_t count) {
    out.storage.reset(new char[size_t(count * f_.acc_size) + 64]);
    out.acc = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(out.storage.get()) + 63) &
                                      ~uintptr_t(63));
  }

  const ReduceFns& f_;
  const char* base_;
  const int64_t width_;
  const Plan& plan_;
  Axis inner_;
  Axes outer_;
  int64_t combos_ = 1, pieces_ = 1, piece_ = 1, group_ = 1, units_ = 1;
};

// Strides of the result: memory in the order of the input's strides.
void lay_out(Reduced& r, const Tensor& in, IntSpan dims, bool keepdim, IntSpan order) {
  Dims full(size_t(in.dim()), 1);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    full[size_t(order[i])] = stride;
    stride *= std::max<int64_t>(in.sizes()[size_t(order[i])], 1);
  }
  r.sizes = reduced_shape(in.sizes(), dims, keepdim);
  for (int64_t d = 0; d < in.dim(); d++) {
    const bool gone = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (!gone || keepdim) r.strides.push_back(full[size_t(d)]);
  }
  if (in.is_contiguous()) r.strides = contiguous_strides(r.sizes);
  r.count = product(r.sizes);
}

}  // namespace

Reduced run_reduction(const ReduceFns& f, const Tensor& self, IntSpan dims, bool keepdim) {
  Reduced out;
  Tensor in = self;
  Plan plan(in, dims);
  if (in.numel() && !plan.has_unit_stride()) {
    in = contiguous_of(in);
    plan = Plan(in, dims);
  }
  lay_out(out, in, dims, keepdim, plan.kept_order);
  if (in.numel() == 0) {
    out.storage.reset(new char[size_t(out.count * f.acc_size) + 16]);
    out.acc = out.storage.get();
    f.rows(out.acc, nullptr, out.count, 0, 0);
    return out;
  }
  LongWork guard(in.numel() > (1 << 18));
  Run(f, in, plan)(out);
  return out;
}

DType reduce_result(ReduceOp op, DType t) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::NanSum:
    case ReduceOp::Prod:
      return category(t) <= Category::Integral ? DType::Int64 : t;
    case ReduceOp::SumSquares:
    case ReduceOp::SumAbs:
      return real_dtype(t);
    case ReduceOp::CountNonzero:
      return DType::Int64;
    default:
      return t;
  }
}

Tensor reduce_tensor(ReduceOp op, const Tensor& in, IntSpan dims, bool keepdim, DType out_dtype,
                     double divisor) {
  const DType natural = reduce_result(op, in.dtype());
  if (in.is_meta()) return empty(reduced_shape(in.sizes(), dims, keepdim), out_dtype, in.device());
  const ReduceFns& f = reduce_fns(op, in.dtype());
  Tensor out;
  const int64_t n = in.numel();
  if (in.is_contiguous() && n <= kRow &&
      (dims.size() == size_t(in.dim()))) {  // all of a small tensor
    alignas(16) char acc[32];
    f.rows(acc, n ? in.bytes() : nullptr, 1, n, 0);
    out = empty(keepdim ? Dims(size_t(in.dim()), 1) : Dims{}, natural);
    f.finish(out.bytes(), acc, 1, divisor);
  } else {
    Reduced r = run_reduction(f, in, dims, keepdim);
    out = empty_strided(r.sizes, r.strides, natural);
    char *to = out.bytes(), *acc = static_cast<char*>(r.acc);
    parallel_for(r.count, 1 << 15, [&](int64_t begin, int64_t end) {
      f.finish(to + begin * out.itemsize(), acc + begin * f.acc_size, end - begin, divisor);
    });
  }
  return natural == out_dtype ? out : cast_of(out, out_dtype);
}

Tensor rows_of(const Tensor& t, int64_t dim) {
  if (t.dim() == 0) return alias(t, Dims{1}, Dims{1}, t.offset());
  Dims sizes = t.sizes(), strides = t.strides();
  const int64_t n = sizes[size_t(dim)], stride = strides[size_t(dim)];
  sizes.erase(size_t(dim));
  strides.erase(size_t(dim));
  sizes.push_back(n);
  strides.push_back(stride);
  return contiguous_of(alias(t, sizes, strides, t.offset()));
}

Tensor from_rows(const Tensor& rows, IntSpan sizes, int64_t dim) {
  if (sizes.empty()) return alias(rows, Dims{}, Dims{}, rows.offset());
  Dims to(sizes), strides = rows.strides();
  to[size_t(dim)] = rows.sizes().back();
  const int64_t last = strides.back();
  strides.pop_back();
  strides.insert(size_t(dim), last);
  return contiguous_of(alias(rows, to, strides, rows.offset()));
}

}  // namespace flambeau
