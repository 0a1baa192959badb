// Binary search in sorted sequences, and unique values.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "dispatch/promotion.h"
#include "kernels/pointwise.h"
#include "kernels/reduce.h"
#include "kernels/sort_keys.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

void check_search(const Tensor& sequence, const Tensor& values,
                  const std::optional<std::string>& side, bool right, const OptTensor& sorter) {
  check(sequence.dim() > 0,
        "searchsorted(): the boundaries tensor should have at least one dimension");
  check(!sequence.is_complex() && !values.is_complex(),
        "searchsorted(): complex numbers have no order");
  if (side) {
    check(*side == "left" || *side == "right",
          "searchsorted(): side can only be 'left' or 'right' but got ", *side);
    check(!(right && *side == "left"),
          "searchsorted(): side and right can't be set to opposites, got side of ", *side,
          " while right was True");
  }
  check(sequence.dtype() == values.dtype(),
        "searchsorted(): boundary tensor and input value tensor should have same dtype, but got "
        "boundary tensor dtype ",
        sequence.dtype(), " and input value tensor dtype ", values.dtype());
  if (sequence.dim() != 1) {
    bool same = sequence.dim() == values.dim();
    for (int64_t d = 0; same && d + 1 < sequence.dim(); d++)
      same = sequence.sizes()[size_t(d)] == values.sizes()[size_t(d)];
    check(same,
          "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
          "boundaries tensor and input value tensor must match, but we got boundaries tensor ",
          sequence.sizes(), " and input value tensor ", values.sizes());
  }
  if (!sorter) return;
  check(equal(sorter->sizes(), sequence.sizes()),
        "searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
        sequence.sizes(), " and got sorter tensor ", sorter->sizes());
  check(sorter->dtype() == DType::Int64,
        "searchsorted(): sorter must be a tensor of long dtype but got dtype ", sorter->dtype());
}

// Different rows of a contiguous matrix of n rows: order, group of each row, first row of each
// group.
struct Groups {
  std::vector<int64_t> group, first, counts;
};

template <class Less, class Same>
Groups group_rows(int64_t n, bool consecutive, Less less, Same same) {
  Groups g;
  g.group.resize(size_t(n));
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (!consecutive) std::stable_sort(order.begin(), order.end(), less);
  for (int64_t i = 0; i < n; i++) {
    if (i == 0 || !same(order[size_t(i - 1)], order[size_t(i)])) {
      g.first.push_back(order[size_t(i)]);
      g.counts.push_back(0);
    }
    g.counts.back()++;
    g.group[size_t(order[size_t(i)])] = int64_t(g.first.size()) - 1;
  }
  return g;
}

Tensor from_vector(const std::vector<int64_t>& v, IntSpan sizes) {
  Tensor t = empty(sizes, DType::Int64);
  if (!v.empty()) std::memcpy(t.bytes(), v.data(), v.size() * sizeof(int64_t));
  return t;
}

// Flat elements: each NaN is its own value.
template <class T>
Groups group_elements(const T* x, int64_t n, bool consecutive) {
  auto differs = [&](int64_t a, int64_t b) {
    if constexpr (std::is_integral_v<T>)
      return x[a] != x[b];
    else
      return !(float(x[a]) == float(x[b])) || (sizeof(T) == 8 && !(x[a] == x[b]));
  };
  auto same = [&](int64_t a, int64_t b) { return !differs(a, b); };
  if (consecutive || n < 2)
    return group_rows(n, consecutive, [](int64_t a, int64_t b) { return a < b; }, same);
  using R = Record<KeyOf<T>>;
  std::unique_ptr<R[]> records(new R[size_t(2 * n)]);
  for (int64_t i = 0; i < n; i++) records[size_t(i)] = R{sort_key(x[i]), uint64_t(i)};
  sort_records(records.get(), records.get() + n, n);
  Groups g;
  g.group.resize(size_t(n));
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = position(records[size_t(i)]);
    if (i == 0 || differs(position(records[size_t(i - 1)]), at)) {
      g.first.push_back(at);
      g.counts.push_back(0);
    }
    g.counts.back()++;
    g.group[size_t(at)] = int64_t(g.first.size()) - 1;
  }
  return g;
}

}  // namespace

Tensor searchsorted(const Tensor& sequence, const Tensor& self, bool out_int32, bool right,
                    const std::optional<std::string>& side, const OptTensor& sorter) {
  check_search(sequence, self, side, right, sorter);
  const bool upper = right || (side && *side == "right");
  Tensor out = empty(self.sizes(), out_int32 ? DType::Int32 : DType::Int64, self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor s = contiguous_of(sequence), v = contiguous_of(self);
  Tensor order = sorter ? contiguous_of(*sorter) : Tensor();
  const int64_t n = s.sizes().back(), per = sequence.dim() == 1 ? v.numel() : v.sizes().back();
  if (order.defined())
    for (int64_t i = 0; i < order.numel(); i++)
      check(order.data<int64_t>()[i] >= 0 && order.data<int64_t>()[i] < n,
            "sorter index out of range");
  visit_ordered(s.dtype(), "searchsorted", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* sorted = s.template data<T>();
    const T* values = v.template data<T>();
    parallel_for(v.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        const int64_t row = sequence.dim() == 1 ? 0 : i / per * n;
        const auto key = sort_key(values[i]);
        int64_t low = 0, high = n;
        while (low < high) {
          const int64_t mid = (low + high) / 2;
          const auto k = sort_key(
              sorted[row + (order.defined() ? order.template data<int64_t>()[row + mid] : mid)]);
          if (upper ? k <= key : k < key)
            low = mid + 1;
          else
            high = mid;
        }
        if (out_int32)
          out.template data<int32_t>()[i] = int32_t(low);
        else
          out.template data<int64_t>()[i] = low;
      }
    });
  });
  return out;
}

std::tuple<Tensor, Tensor, Tensor> _unique(const Tensor& self, bool consecutive,
                                           std::optional<int64_t> dim) {
  check(!self.is_meta(),
        "unique(): the shape of the result depends on values, which the 'meta' device has not");
  LongWork guard(self.numel() > (1 << 15));
  Groups g;
  if (!dim) {
    Tensor x = contiguous_of(self);
    Tensor values;
    visit_sortable(x.dtype(), "unique", [&](auto tag) {
      using T = typename decltype(tag)::type;
      g = group_elements(x.template data<T>(), x.numel(), consecutive);
      values = empty(Dims{int64_t(g.first.size())}, x.dtype());
      for (size_t i = 0; i < g.first.size(); i++)
        values.template data<T>()[i] = x.template data<T>()[g.first[i]];
    });
    return {values, from_vector(g.group, self.sizes()),
            from_vector(g.counts, Dims{int64_t(g.counts.size())})};
  }
  const int64_t d = wrap_dim(*dim, self.dim());
  Tensor first = contiguous_of(self.dim() ? ops::movedim(self, Dims{d}, Dims{0})
                                          : ops::reshape(self, Dims{1}));
  const int64_t n = first.sizes()[0];
  int64_t others = 1;
  for (int64_t i = 1; i < first.dim(); i++) others *= first.sizes()[size_t(i)];
  check(others > 0,
        "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  const int64_t width = n ? first.numel() / n : 0;
  visit_sortable(first.dtype(), "unique", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = first.template data<T>();
    auto compare = [&](int64_t a, int64_t b) {
      for (int64_t i = 0; i < width; i++) {
        const auto p = sort_key(x[a * width + i]), q = sort_key(x[b * width + i]);
        if (p != q) return p < q ? -1 : 1;
      }
      return 0;
    };
    g = group_rows(
        n, consecutive, [&](int64_t a, int64_t b) { return compare(a, b) < 0; },
        [&](int64_t a, int64_t b) { return compare(a, b) == 0; });
  });
  Tensor chosen = from_vector(g.first, Dims{int64_t(g.first.size())});
  Tensor values = self.dim() ? ops::index_select(self, d, chosen) : ops::reshape(self, Dims{1});
  return {values, from_vector(g.group, Dims{n}),
          from_vector(g.counts, Dims{int64_t(g.counts.size())})};
}

}  // namespace flambeau::kernels
