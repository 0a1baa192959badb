// How random operators draw. Values are drawn in the order in which the elements lie in memory; the
// words of the generator are taken by one thread and turned into values by all of them, so results
// do not depend on threads.
#pragma once
#include <mutex>

#include "core/tensor.h"
#include "kernels/pointwise.h"
#include "kernels/random_loops.h"
#include "runtime/allocator.h"
#include "runtime/generator.h"
#include "runtime/parallel.h"

namespace flambeau {

const RandomFns& random_fns();

inline Generator& generator_of(Generator* g) { return g ? *g : default_generator(); }

// The names that PyTorch's messages use: "Long", "Half" …
const char* type_name(DType t);

// The order of dimensions, outermost first, in which memory is passed once from front to back.
Dims memory_order(const Tensor& t);
Tensor permuted(const Tensor& t, IntSpan order);

// Memory for n words.
class Words {
 public:
  explicit Words(int64_t n)
      : bytes_(size_t(n) * 4), data_(static_cast<uint32_t*>(allocate(bytes_))) {}
  ~Words() { deallocate(data_, bytes_); }
  Words(const Words&) = delete;
  uint32_t* get() const { return data_; }

 private:
  size_t bytes_;
  uint32_t* data_;
};

// Fills n contiguous elements of `dtype`. loop(out, words, count, at) makes `count` values of type
// `made` from `per` words each, beginning with element `at`. The caller holds the generator's
// mutex.
template <class F>
void draw_contiguous(Generator& g, char* out, DType dtype, DType made, int64_t n, int64_t per,
                     F&& loop) {
  constexpr int64_t batch = 1 << 16, grain = 1 << 12;
  const int64_t most = std::min(n, batch), width = itemsize(dtype), made_width = itemsize(made);
  Words words(most * per), values(dtype == made ? 0 : (most * made_width + 3) / 4);
  for (int64_t start = 0; start < n; start += batch) {
    const int64_t count = std::min(batch, n - start);
    g.random_words(words.get(), size_t(count * per));
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      char* target = out + (start + begin) * width;
      char* value =
          dtype == made ? target : reinterpret_cast<char*>(values.get()) + begin * made_width;
      loop(value, words.get() + begin * per, end - begin, start + begin);
      if (dtype != made) convert_elements(target, dtype, value, made, end - begin);
    });
  }
}

// f(out, generator) fills contiguous memory; called with the generator locked, for a tensor with
// elements.
template <class F>
void fill_contiguous(const Tensor& self, Generator* generator, F&& f) {
  if (self.is_meta() || self.numel() == 0) return;
  Tensor ordered = self.is_contiguous() ? self : permuted(self, memory_order(self));
  Tensor target = ordered.is_contiguous() ? ordered : empty(ordered.sizes(), ordered.dtype());
  {
    LongWork guard(self.numel() > (1 << 16));
    Generator& g = generator_of(generator);
    std::lock_guard lock(g.mutex);
    f(target.bytes(), g);
  }
  if (!target.is_same(ordered)) copy_kernel(ordered, target);
}

template <class F>
void draw(const Tensor& self, Generator* generator, DType made, int64_t per, F&& loop) {
  fill_contiguous(self, generator, [&](char* out, Generator& g) {
    draw_contiguous(g, out, self.dtype(), made, self.numel(), per, loop);
  });
}

// One after the other: next(generator) gives a double.
template <class F>
void draw_serial(const Tensor& self, Generator* generator, F&& next) {
  fill_contiguous(self, generator, [&](char* out, Generator& g) {
    constexpr int64_t block = 512;
    double values[block];
    for (int64_t start = 0; start < self.numel(); start += block) {
      const int64_t count = std::min(block, self.numel() - start);
      for (int64_t i = 0; i < count; i++) values[i] = next(g, start + i);
      convert_elements(out + start * self.itemsize(), self.dtype(), values, DType::Float64, count);
    }
  });
}

// [0, 1) in steps of 2^-53.
inline double next_uniform(Generator& g) {
  return double(g.random64() & ((uint64_t(1) << 53) - 1)) * 0x1p-53;
}
double next_normal(Generator& g);

}  // namespace flambeau
