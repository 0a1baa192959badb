#include "kernels/fft_plan.h"

#include <cmath>
#include <map>
#include <mutex>

#include "kernels/targets.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(ns)        \
  namespace ns {                    \
  extern const FftFns fft_table[2]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
#undef FLAMBEAU_DECLARE

const FftFns& fft_fns(DType real) {
  static const FftFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(fft_table, 0),
                                          FLAMBEAU_TABLE_AVX2(fft_table, 0),
                                          FLAMBEAU_TABLE_AVX2(fft_table, 0)};
  return tables[chosen_target()][real == DType::Float64];
}

complex128_t fft_root(int64_t k, int64_t n) {
  // in the first eighth of the circle sine and cosine are accurate and cheap
  k %= n;
  bool below = false, left = false, steep = false;
  if (2 * k > n) {
    k = n - k;
    below = true;
  }
  // from here on in units of a quarter of 1 / n, so that all is exact
  int64_t q = 4 * k;
  if (q > n) {
    q = 2 * n - q;
    left = true;
  }
  if (2 * q > n) {
    q = n - q;
    steep = true;
  }
  const double angle = 1.57079632679489661923 * double(q) / double(n);
  double c = std::cos(angle), s = std::sin(angle);
  if (steep) std::swap(c, s);
  return {left ? -c : c, below ? s : -s};
}

FftMatrix FftTable::matrix(int64_t row, int64_t at) const {
  char* p = const_cast<char*>(bytes_.data());
  const size_t offset = size_t(at) * itemsize();
  return {p + offset, p + bytes_.size() / 2 + offset, row, FftForm::Planar};
}

void FftTable::set(int64_t k, int64_t n, complex128_t v) {
  if (real_ == DType::Float64) {
    double* p = reinterpret_cast<double*>(bytes_.data());
    p[k] = v.real();
    p[n + k] = v.imag();
  } else {
    float* p = reinterpret_cast<float*>(bytes_.data());
    p[k] = float(v.real());
    p[n + k] = float(v.imag());
  }
}

namespace {

// Radices whose product is n, the large ones last: the first pass reads pairs. Empty where n has
// other factors.
std::vector<int64_t> radices(int64_t n) {
  std::vector<int64_t> out;
  int twos = 0;
  while (n % 2 == 0) {
    n /= 2;
    twos++;
  }
  for (int64_t f : {7, 5, 3})
    while (n % f == 0) {
      out.push_back(f);
      n /= f;
    }
  if (n != 1) return {};
  while (twos % 3 != 0) {  // 4 and 4 rather than 2 and 8
    const int take = twos == 1 ? 1 : 2;
    out.push_back(int64_t(1) << take);
    twos -= take;
  }
  for (; twos > 0; twos -= 3) out.push_back(8);
  if (out.empty()) out.push_back(1);
  return out;
}

// The divisor next to the root, or 1 when the parts would differ too much.
int64_t split_of(int64_t n) {
  if (n < 64) return 1;
  int64_t best = 1;
  for (int64_t d = 2; d * d <= n; d++)
    if (n % d == 0) best = d;
  return best >= 8 ? best : 1;
}

// The cheapest size for a convolution: few factors besides 2, and well split.
int64_t padded_size(int64_t least) {
  int64_t best = 64;
  while (best < least) best *= 2;
  for (int64_t odd : {3, 5, 9, 15}) {
    int64_t size = odd * 16;
    while (size < least) size *= 2;
    best = std::min(best, size);
  }
  return best;
}

template <class T>
std::vector<char> pass_twiddles(int64_t radix, int64_t m) {
  std::vector<char> bytes(size_t(2 * m * (radix - 1)) * sizeof(T));
  T* p = reinterpret_cast<T*>(bytes.data());
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 1; j < radix; j++) {
      const complex128_t w = fft_root(i * j, radix * m);
      *p++ = T(w.real());
      *p++ = T(w.imag());
    }
  return bytes;
}

std::shared_ptr<FftPlan> make_plan(int64_t n, DType real, bool columns = false);

void add_convolution(FftPlan& plan) {
  const int64_t n = plan.n, size = padded_size(2 * n - 1);
  plan.padded = make_plan(size, plan.real);
  auto chirp = [n](int64_t k) {
    return fft_root(int64_t(__int128(k) * k % (2 * n)), 2 * n);  // exp(-pi i k^2 / n)
  };
  plan.chirp = FftTable(plan.real, n, chirp);
  // the filter's transform, in double precision whatever the dtype
  std::vector<complex128_t> filter(size_t(size), complex128_t(0));
  for (int64_t k = 0; k < n; k++)
    filter[size_t(k)] = filter[size_t((size - k) % size)] = std::conj(chirp(k)) / double(size);
  const auto wide = plan.real == DType::Float64 ? plan.padded : make_plan(size, DType::Float64);
  const FftMatrix lines{filter.data(), filter.data(), size, FftForm::Pairs};
  fft_lines(*wide, lines, lines, 1, 1);
  plan.filter = FftTable(plan.real, size, [&](int64_t k) { return filter[size_t(k)]; });
  plan.bytes += plan.padded->bytes + plan.chirp.bytes() + plan.filter.bytes();
}

// `columns`: to be used by its passes alone.
std::shared_ptr<FftPlan> make_plan(int64_t n, DType real, bool columns) {
  auto plan = std::make_shared<FftPlan>();
  plan->n = n;
  plan->real = real;
  const std::vector<int64_t> factors = radices(n);
  if (factors.empty()) {
    add_convolution(*plan);
    return plan;
  }
  const int64_t rows = columns ? 1 : split_of(n);
  if (rows > 1) {
    const int64_t cols = n / rows;
    plan->by_rows = make_plan(rows, real, true);
    plan->by_cols = make_plan(cols, real, true);
    plan->twist = FftTable(real, n, [&](int64_t i) { return fft_root(i / cols * (i % cols), n); });
    plan->bytes += plan->by_rows->bytes + plan->by_cols->bytes + plan->twist.bytes();
  }
  if (rows > 1 && n > kDirectColumns) return plan;
  int64_t m = n;
  for (int64_t radix : factors) {
    if (radix == 1) break;
    m /= radix;
    plan->twiddles.push_back(real == DType::Float64 ? pass_twiddles<double>(radix, m)
                                                    : pass_twiddles<float>(radix, m));
    plan->bytes += plan->twiddles.back().size();
    plan->passes.push_back({radix, m, plan->twiddles.back().data()});
  }
  return plan;
}

// Finished plans by size, to a limit of memory; one that goes away lives on in its users.
template <class V>
class Cache {
 public:
  template <class Make>
  std::shared_ptr<const V> get(int64_t n, DType real, Make&& make) {
    const auto key = std::pair(n, real);
    {
      std::lock_guard lock(mutex_);
      auto found = entries_.find(key);
      if (found != entries_.end()) return found->second.value;
    }
    auto [value, bytes] = make();
    std::lock_guard lock(mutex_);
    if (bytes_ + bytes > kLimit) {
      entries_.clear();
      bytes_ = 0;
    }
    auto [entry, added] = entries_.try_emplace(key, Entry{value});
    if (added) bytes_ += bytes;
    return entry->second.value;
  }

 private:
  static constexpr size_t kLimit = size_t(64) << 20;
  struct Entry {
    std::shared_ptr<const V> value;
  };
  std::mutex mutex_;
  std::map<std::pair<int64_t, DType>, Entry> entries_;
  size_t bytes_ = 0;
};

}  // namespace

std::shared_ptr<const FftPlan> fft_plan(int64_t n, DType real) {
  check(n >= 1, "Invalid number of data points (", n, ") specified");
  static auto* cache = new Cache<FftPlan>;
  return cache->get(n, real, [&] {
    std::shared_ptr<const FftPlan> plan = make_plan(n, real);
    return std::pair(plan, plan->bytes);
  });
}

std::shared_ptr<const FftTable> fft_roots(int64_t n, DType real) {
  static auto* cache = new Cache<FftTable>;
  return cache->get(n, real, [&] {
    auto table =
        std::make_shared<const FftTable>(real, n / 2, [n](int64_t k) { return fft_root(k, n); });
    return std::pair(table, table->bytes());
  });
}

}  // namespace flambeau
