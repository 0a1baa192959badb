// Weighted sums along three dimensions: planes blended, then rows, then elements of rows.
#include "kernels/resample.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "kernels/pointwise.h"
#include "kernels/targets.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(target)                       \
  namespace target {                                   \
  extern const ResampleFns<float> resample_float[1];   \
  extern const ResampleFns<double> resample_double[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
#undef FLAMBEAU_DECLARE

template <>
const ResampleFns<float>& resample_fns() {
  static const ResampleFns<float>* const tables[3] = {FLAMBEAU_TABLE_BASELINE(resample_float, 0),
                                                      FLAMBEAU_TABLE_AVX2(resample_float, 0),
                                                      FLAMBEAU_TABLE_AVX2(resample_float, 0)};
  return *tables[chosen_target()];
}
template <>
const ResampleFns<double>& resample_fns() {
  static const ResampleFns<double>* const tables[3] = {FLAMBEAU_TABLE_BASELINE(resample_double, 0),
                                                       FLAMBEAU_TABLE_AVX2(resample_double, 0),
                                                       FLAMBEAU_TABLE_AVX2(resample_double, 0)};
  return *tables[chosen_target()];
}

bool Axis::identity() const {
  if (in != out || taps != 1) return false;
  for (int64_t i = 0; i < out; i++)
    if (at[size_t(i)] != i || weight[size_t(i)] != 1) return false;
  return true;
}

Axis Axis::transposed() const {
  std::vector<std::map<int64_t, double>> targets{size_t(in)};
  for (int64_t k = 0; k < taps; k++)
    for (int64_t i = 0; i < out; i++) {
      const size_t e = size_t(k * out + i);
      if (at[e] >= 0 && weight[e] != 0) targets[size_t(at[e])][i] += weight[e];
    }
  size_t most = 1;
  for (auto& t : targets) most = std::max(most, t.size());
  Axis back(out, in, int64_t(most));
  for (int64_t i = 0; i < in; i++) {
    int64_t k = 0;
    for (auto& [position, w] : targets[size_t(i)]) back.set(i, k++, position, w);
  }
  return back;
}

namespace {

template <class T>
struct Prepared {
  int64_t in, out, taps;
  bool identity, unit, holes = false;
  const int32_t* at;
  std::vector<T> weight;
  Taps<T> row;

  explicit Prepared(const Axis& a)
      : in(a.in),
        out(a.out),
        taps(a.taps),
        identity(a.identity()),
        at(a.at.data()),
        weight(a.weight.begin(), a.weight.end()) {
    unit = true;
    for (size_t i = 0; i < a.at.size(); i++) {
      unit &= a.at[i] < 0 || a.weight[i] == 1;
      holes |= a.at[i] < 0;
    }
    row = {at, unit ? nullptr : weight.data(), out, taps, 0, 0, 1, 1};
    find_steps();
  }
  // The longest run of outputs that read from even steps, from the middle on.
  void find_steps() {
    for (auto [phases, step] : {std::pair<int64_t, int64_t>{1, 1}, {2, 1}, {1, 2}}) {
      const int64_t half = out / 2 / 2 * 2;
      auto follows = [&, phases = phases, step = step](int64_t i) {  // entry i and i + phases
        if (i < 0 || i + phases >= out) return false;
        for (int64_t k = 0; k < taps; k++) {
          const int32_t a = at[k * out + i], b = at[k * out + i + phases];
          if (a < 0 || b < 0 || b - a != step) return false;
        }
        return true;
      };
      int64_t low = half, high = half;
      while (follows(high)) high++;
      if (high == half) continue;
      while (follows(low - 1)) low--;
      high += phases;  // those after the last that was followed
      high -= (high - low) % phases;
      if (high - low < 4 * phases) continue;
      row.low = low, row.high = high, row.phases = phases, row.step = step;
      return;
    }
  }
};

// One row. Copies need no call.
template <class T>
void make_row(const T* x, const Prepared<T>& w, T* to) {
  const Taps<T>& t = w.row;
  if (w.taps != 1 || !w.unit || w.holes || t.phases != 1 || t.step != 1 || t.low >= t.high)
    return resample_fns<T>().row(x, t, to);
  for (int64_t i = 0; i < t.low; i++) to[i] = x[w.at[i]];
  std::memcpy(to + t.low, x + w.at[t.low], size_t(t.high - t.low) * sizeof(T));
  for (int64_t i = t.high; i < t.out; i++) to[i] = x[w.at[i]];
}

// Rows of a plane, resampled along themselves when they are first needed.
template <class T>
struct Rows {
  const Prepared<T>& w;
  std::vector<T> kept;
  std::vector<int64_t> tags;

  Rows(const Prepared<T>& w, int64_t slots)
      : w(w), kept(w.identity ? 0 : size_t(slots * w.out)), tags(w.identity ? 0 : size_t(slots)) {}
  void start() { std::fill(tags.begin(), tags.end(), -1); }
  const T* get(const T* plane, int64_t r, const int64_t* wanted, int64_t count) {
    if (w.identity) return plane + r * w.in;
    auto found = std::find(tags.begin(), tags.end(), r);
    if (found == tags.end()) {
      found = std::find_if(tags.begin(), tags.end(), [&](int64_t tag) {
        return std::find(wanted, wanted + count, tag) == wanted + count;
      });
      *found = r;
      make_row(plane + r * w.in, w, kept.data() + (found - tags.begin()) * w.out);
    }
    return kept.data() + (found - tags.begin()) * w.out;
  }
};

}  // namespace

template <class T>
void resample(const T* in, T* out, int64_t planes, const Axis& d_axis, const Axis& h_axis,
              const Axis& w_axis) {
  const Prepared<T> d(d_axis), h(h_axis), w(w_axis);
  const auto& fns = resample_fns<T>();
  const int64_t in_plane = h.in * w.in, out_plane = h.out * w.out;
  if (planes * d.out * out_plane == 0) return;
  const bool blends = !(d.taps == 1 && d.unit);
  const int64_t height = blends ? h.out : std::min<int64_t>(h.out, 32),
                blocks = (h.out + height - 1) / height;
  const int64_t work = height * w.out * (h.taps + w.taps) + (blends ? in_plane * d.taps : 0);
  LongWork guard(planes * d.out * out_plane > (1 << 16));
  parallel_for(planes * d.out * blocks, std::max<int64_t>(1, 32768 / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 Rows<T> rows(w, h.taps);
                 std::vector<T> blended(blends ? size_t(in_plane) : 0);
                 const size_t most = size_t(std::max(h.taps, d.taps));
                 std::vector<const T*> from(most);
                 std::vector<T> weights(most);
                 std::vector<int64_t> wanted(most);
                 for (int64_t unit = begin; unit < end; unit++) {
                   const int64_t block = unit % blocks, z = unit / blocks % d.out,
                                 plane = unit / blocks / d.out;
                   const T* volume = in + plane * d.in * in_plane;
                   const T* source = nullptr;
                   if (!blends) {
                     if (d.at[z] >= 0) source = volume + d.at[z] * in_plane;
                   } else {
                     int64_t count = 0;
                     for (int64_t k = 0; k < d.taps; k++)
                       if (const int32_t at = d.at[k * d.out + z]; at >= 0) {
                         from[size_t(count)] = volume + at * in_plane;
                         weights[size_t(count++)] = d.weight[size_t(k * d.out + z)];
                       }
                     if (count) {
                       fns.blend(from.data(), weights.data(), count, blended.data(), in_plane);
                       source = blended.data();
                     }
                   }
                   rows.start();
                   const int64_t y_end = std::min(h.out, (block + 1) * height);
                   int64_t last = -1;
                   for (int64_t y = block * height; y < y_end; y++) {
                     T* to = out + ((plane * d.out + z) * h.out + y) * w.out;
                     int64_t count = 0;
                     if (source)
                       for (int64_t k = 0; k < h.taps; k++)
                         if (const int32_t at = h.at[k * h.out + y]; at >= 0) {
                           wanted[size_t(count)] = at;
                           weights[size_t(count++)] = h.weight[size_t(k * h.out + y)];
                         }
                     if (count == 0) {
                       std::fill(to, to + w.out, T(0));
                       last = -1;
                     } else if (count == 1 && weights[0] == T(1)) {
                       if (wanted[0] == last)
                         std::memcpy(to, to - w.out, size_t(w.out) * sizeof(T));
                       else if (w.identity)
                         std::memcpy(to, source + wanted[0] * w.in, size_t(w.out) * sizeof(T));
                       else
                         make_row(source + wanted[0] * w.in, w, to);
                       last = wanted[0];
                     } else {
                       for (int64_t k = 0; k < count; k++)
                         from[size_t(k)] =
                             rows.get(source, wanted[size_t(k)], wanted.data(), count);
                       fns.blend(from.data(), weights.data(), count, to, w.out);
                       last = -1;
                     }
                   }
                 }
               });
}
template void resample(const float*, float*, int64_t, const Axis&, const Axis&, const Axis&);
template void resample(const double*, double*, int64_t, const Axis&, const Axis&, const Axis&);

Tensor resampled(const Tensor& self, IntSpan result_sizes, const Axis& d, const Axis& h,
                 const Axis& w, bool keep_format) {
  const MemoryFormat format =
      self.is_contiguous() || !keep_format ? MemoryFormat::Contiguous : suggest_memory_format(self);
  Tensor out = flambeau::empty(result_sizes, self.dtype(), self.device(), format);
  if (out.is_meta() || out.numel() == 0) return out;
  const DType compute = info(self.dtype()).compute;
  Tensor x = contiguous_of(cast_of(self, compute)),
         y = compute == out.dtype() && out.is_contiguous() ? out
                                                           : flambeau::empty(result_sizes, compute);
  const int64_t planes = y.numel() / (d.out * h.out * w.out);
  if (compute == DType::Float64)
    resample(x.data<double>(), y.data<double>(), planes, d, h, w);
  else
    resample(x.data<float>(), y.data<float>(), planes, d, h, w);
  if (!y.is_same(out)) copy_kernel(out, y);
  return out;
}

}  // namespace flambeau
