// Sliding blocks as columns and back, and sums of bags of rows.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/checks.h"
#include "kernels/index.h"
#include "kernels/pointwise.h"
#include "kernels/resample.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau {
namespace kernels {
namespace {

struct Blocks {
  int64_t n, c, in[2], count[2];
  const Dims &kernel, &dilation, &padding, &stride;

  Blocks(const char* op, IntSpan size, const Dims& kernel, const Dims& dilation,
         const Dims& padding, const Dims& stride)
      : kernel(kernel), dilation(dilation), padding(padding), stride(stride) {
    check(size.size() == 4, op, ": expected 4 dimensions, but got sizes ", Dims(size));
    check_sizes(op, "size", size);
    check_steps(op, "kernel_size", kernel, 2, 1);
    check_steps(op, "dilation", dilation, 2, 1);
    check_steps(op, "padding", padding, 2, 0);
    check_steps(op, "stride", stride, 2, 1);
    n = size[0], c = size[1];
    for (size_t d = 0; d < 2; d++) {
      in[d] = size[d + 2];
      check(in[d] <= kLargestStep, op, ": sizes are too large: ", Dims(size));
      const int64_t room = in[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
      check(room >= 0, op, ": blocks of ", kernel, " do not fit sizes ", Dims(size));
      count[d] = room / stride[d] + 1;
    }
    check_sizes(op, "result", columns());
  }
  Dims columns() const { return {n, c * kernel[0] * kernel[1], count[0] * count[1]}; }

  // f(position in the plane, position in the row of columns, how many) for the runs inside the
  // image of kernel element (a, b), and g(position, how many) for what lies outside.
  template <class F, class G>
  void each_run(int64_t a, int64_t b, F&& f, G&& g) const {
    const int64_t shift = b * dilation[1] - padding[1], s = stride[1];
    const int64_t low = std::clamp<int64_t>(shift < 0 ? (-shift + s - 1) / s : 0, 0, count[1]);
    const int64_t reach = in[1] - 1 - shift,
                  high = std::clamp<int64_t>(reach < 0 ? 0 : reach / s + 1, low, count[1]);
    for (int64_t y = 0; y < count[0]; y++) {
      const int64_t row = y * stride[0] + a * dilation[0] - padding[0], to = y * count[1];
      if (row < 0 || row >= in[0]) {
        g(to, count[1]);
        continue;
      }
      g(to, low);
      if (high > low) f(row * in[1] + low * s + shift, to + low, high - low);
      g(to + high, count[1] - high);
    }
  }
};

}  // namespace

Tensor _im2col(const Tensor& self, const Dims& kernel, const Dims& dilation, const Dims& padding,
               const Dims& stride) {
  const Blocks b("im2col", self.sizes(), kernel, dilation, padding, stride);
  Tensor out = flambeau::empty(b.columns(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor x = contiguous_of(self);
  const int64_t block = kernel[0] * kernel[1], plane = b.in[0] * b.in[1],
                row = b.count[0] * b.count[1], s = stride[1];
  LongWork guard(out.numel() > (1 << 16));
  visit(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = reinterpret_cast<const T*>(x.bytes());
    T* to = reinterpret_cast<T*>(out.bytes());
    parallel_for(
        b.n * b.c * block, std::max<int64_t>(1, 8192 / row), [&](int64_t begin, int64_t end) {
          for (int64_t u = begin; u < end; u++) {
            const T* in = from + u / block * plane;
            T* line = to + u * row;
            b.each_run(
                u % block / kernel[1], u % kernel[1],
                [&](int64_t at, int64_t o, int64_t n) {
                  if (s == 1)
                    std::memcpy(static_cast<void*>(line + o), in + at, size_t(n) * sizeof(T));
                  else
                    for (int64_t i = 0; i < n; i++) line[o + i] = in[at + i * s];
                },
                [&](int64_t o, int64_t n) { std::fill(line + o, line + o + n, T()); });
          }
        });
  });
  return out;
}

Tensor _col2im(const Tensor& self, const Dims& size, const Dims& kernel, const Dims& dilation,
               const Dims& padding, const Dims& stride) {
  const Blocks b("col2im", size, kernel, dilation, padding, stride);
  check_shape("col2im", "input", self, b.columns());
  check_real_floating("col2im", "input", self);
  Tensor out = flambeau::empty(size, self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType compute = info(self.dtype()).compute;
  Tensor x = contiguous_of(cast_of(self, compute)), sums = flambeau::empty(size, compute);
  const int64_t plane = b.in[0] * b.in[1], row = b.count[0] * b.count[1], s = stride[1];
  LongWork guard(self.numel() > (1 << 16));
  auto run = [&]<class T>(T) {
    parallel_for(b.n * b.c, std::max<int64_t>(1, 8192 / (row * kernel[0] * kernel[1] + 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t c = begin; c < end; c++) {
                     T* to = sums.data<T>() + c * plane;
                     std::fill(to, to + plane, T(0));
                     const T* line = x.data<T>() + c * kernel[0] * kernel[1] * row;
                     for (int64_t a = 0; a < kernel[0]; a++)
                       for (int64_t e = 0; e < kernel[1]; e++, line += row)
                         b.each_run(
                             a, e,
                             [&](int64_t at, int64_t o, int64_t n) {
                               if (s == 1)
                                 for (int64_t i = 0; i < n; i++) to[at + i] += line[o + i];
                               else
                                 for (int64_t i = 0; i < n; i++) to[at + i * s] += line[o + i];
                             },
                             [](int64_t, int64_t) {});
                   }
                 });
  };
  compute == DType::Float64 ? run(double()) : run(float());
  return cast_of(sums, self.dtype());
}

// ---- bags

namespace {

struct Bags {
  Tensor indices, offsets;
  const int64_t *index, *start;
  int64_t count, total;

  Bags(const Tensor& given_indices, const Tensor& given_offsets, int64_t rows)
      : indices(as_positions(given_indices, "embedding_bag")),
        offsets(as_positions(given_offsets, "embedding_bag")),
        count(offsets.numel()),
        total(indices.numel()) {
    index = indices.data<int64_t>();
    start = offsets.data<int64_t>();
    for (int64_t i = 0; i < total; i++)
      check(index[i] >= 0 && index[i] < rows,
            "embedding_bag: index out of range in self: got index ", index[i], " at element ", i,
            ", but the table has ", rows, " rows");
    check(total == 0 || count > 0, "embedding_bag: no bag has the ", total, " indices");
    for (int64_t b = 0; b < count; b++)
      check(start[b] <= end(b) && (b || start[0] == 0), "embedding_bag: offsets must not decrease");
  }
  int64_t end(int64_t b) const { return b + 1 < count ? start[b + 1] : total; }
};

}  // namespace

Tensor _sum_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                 const OptTensor& samples, bool mean, int64_t padding_idx, bool, bool) {
  check_rank("embedding_bag", "weight", weight, 2, 2);
  check_real_floating("embedding_bag", "weight", weight);
  check_rank("embedding_bag", "indices", indices, 1, 1);
  check_rank("embedding_bag", "offsets", offsets, 1, 1);
  check_count("embedding_bag", "per_sample_weights", samples, indices.numel());
  const int64_t width = weight.sizes()[1];
  Tensor out = flambeau::empty(Dims{offsets.numel(), width}, weight.dtype(), weight.device());
  if (out.is_meta()) return out;
  const Bags bags(indices, offsets, weight.sizes()[0]);
  if (out.numel() == 0) return out;
  const DType compute = info(weight.dtype()).compute;
  Tensor table = contiguous_of(weight),
         factors = samples ? contiguous_of(cast_of(*samples, compute)) : Tensor(),
         sums = flambeau::empty(out.sizes(), compute);
  const bool convert = compute != weight.dtype();
  LongWork guard(bags.total * width > (1 << 16));
  auto run = [&]<class T>(T) {
    const auto& fns = resample_fns<T>();
    parallel_for(
        bags.count, std::max<int64_t>(1, (1 << 15) / ((bags.total / bags.count + 1) * width)),
        [&](int64_t begin, int64_t end) {
          std::vector<const T*> rows;
          std::vector<T> weights, converted;
          for (int64_t b = begin; b < end; b++) {
            rows.clear(), weights.clear();
            for (int64_t i = bags.start[b]; i < bags.end(b); i++)
              if (bags.index[i] != padding_idx) {
                rows.push_back(reinterpret_cast<const T*>(table.bytes()) + bags.index[i] * width);
                weights.push_back(samples ? factors.data<T>()[i] : T(1));
              }
            T* to = sums.data<T>() + b * width;
            if (rows.empty()) {
              std::fill(to, to + width, T(0));
              continue;
            }
            if (convert) {
              converted.resize(rows.size() * size_t(width));
              size_t r = 0;
              for (int64_t i = bags.start[b]; i < bags.end(b); i++)
                if (bags.index[i] != padding_idx) {
                  T* line = converted.data() + r * size_t(width);
                  convert_elements(line, compute,
                                   table.bytes() + bags.index[i] * width * weight.itemsize(),
                                   weight.dtype(), width);
                  rows[r++] = line;
                }
            }
            fns.blend(rows.data(), weights.data(), int64_t(rows.size()), to, width);
            if (mean)
              for (int64_t k = 0; k < width; k++) to[k] /= T(rows.size());
          }
        });
  };
  compute == DType::Float64 ? run(double()) : run(float());
  return cast_of(sums, weight.dtype());
}

}  // namespace kernels

}  // namespace flambeau
