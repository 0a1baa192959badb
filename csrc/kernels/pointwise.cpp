#include "kernels/pointwise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "dispatch/promotion.h"
#include "kernels/number.h"
#include "kernels/pointwise_boxed.h"
#include "kernels/storage_dtypes.h"
#include "kernels/targets.h"
#include "runtime/parallel.h"

namespace flambeau {

namespace baseline {
extern const LoopFn convert_table[kNumDTypes][kNumDTypes];
}
namespace avx2 {
extern const LoopFn convert_table[kNumDTypes][kNumDTypes];
}
namespace avx512 {
extern const LoopFn convert_table[kNumDTypes][kNumDTypes];
}

namespace {

LoopFn converter(DType to, DType from) {
  if (is_storage_only(to) || is_storage_only(from)) return storage_converter(to, from);
  static const LoopFn(*const tables[3])[kNumDTypes] = {FLAMBEAU_TABLE_BASELINE(convert_table, 0),
                                                       FLAMBEAU_TABLE_AVX2(convert_table, 0),
                                                       FLAMBEAU_TABLE_AVX512(convert_table, 0)};
  return tables[chosen_target()][int(to)][int(from)];
}

constexpr int64_t kBlock = 1024;  // elements of a block buffer
constexpr int kMaxOperands = kMaxInputs + 1;
constexpr int64_t kParallelBytes = 1 << 15;  // below this much data one thread is faster
constexpr int64_t kLongWork = 1 << 18;       // elements from which the GIL is released
constexpr int64_t kStreamBytes = 32 << 20;   // results larger than a cache bypass it,
constexpr int kStreamCost = 6;               // unless arithmetic, not memory, bounds the loop
constexpr int64_t kFilledBytes = 4096;       // numbers are repeated as often for small results

using Strides = std::array<int64_t, 16>;

// to[c * to_step + r] = from[r * from_step + c] for r, c < 16 / sizeof(T), through 16-byte vectors;
// steps count elements.
template <class T>
  requires(sizeof(T) == 4 || sizeof(T) == 8)
void transpose_square(const T* from, int64_t from_step, T* to, int64_t to_step) {
  typedef T Vector __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
  auto row = [&](int r) { return *reinterpret_cast<const Vector*>(from + r * from_step); };
  auto put = [&](int c, Vector v) { *reinterpret_cast<Vector*>(to + c * to_step) = v; };
  if constexpr (sizeof(T) == 4) {
    const Vector a = row(0), b = row(1), c = row(2), d = row(3);
    const Vector ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                 cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                 AB = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                 CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    put(0, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
    put(1, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
    put(2, __builtin_shufflevector(AB, CD, 0, 1, 4, 5));
    put(3, __builtin_shufflevector(AB, CD, 2, 3, 6, 7));
  } else {
    const Vector a = row(0), b = row(1);
    put(0, __builtin_shufflevector(a, b, 0, 2));
    put(1, __builtin_shufflevector(a, b, 1, 3));
  }
}

// Strided copy of a rows x cols tile into a dense buffer (or out of one).
template <class T, bool Load>
void move_tile(char* dense, char* strided, int64_t rows, int64_t cols, int64_t row_step,
               int64_t col_step) {
  T* d = reinterpret_cast<T*>(dense);
  auto at = [&](int64_t r, int64_t c) -> T& {
    return *reinterpret_cast<T*>(strided + r * row_step + c * col_step);
  };
  auto one = [&](int64_t r, int64_t c) {
    if constexpr (Load)
      d[r * cols + c] = at(r, c);
    else
      at(r, c) = d[r * cols + c];
  };
  const bool by_rows = std::abs(row_step) < std::abs(col_step) && rows > 1;
  if (by_rows) {
    int64_t c = 0;
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
      constexpr int64_t side = 16 / sizeof(T);
      const int64_t step = col_step / int64_t(sizeof(T));
      const bool squares = row_step == int64_t(sizeof(T)) && step * int64_t(sizeof(T)) == col_step;
      for (; squares && c + side <= cols; c += side) {
        int64_t r = 0;
        for (; r + side <= rows; r += side) {
          if constexpr (Load)
            transpose_square(&at(r, c), step, d + r * cols + c, cols);
          else
            transpose_square(d + r * cols + c, cols, &at(r, c), step);
        }
        for (; r < rows; r++)
          for (int64_t k = c; k < c + side; k++) one(r, k);
      }
    }
    for (; c < cols; c++)
      for (int64_t r = 0; r < rows; r++) one(r, c);
  } else if (col_step == int64_t(sizeof(T))) {
    for (int64_t r = 0; r < rows; r++) {
      if constexpr (Load)
        std::memcpy(d + r * cols, strided + r * row_step, size_t(cols) * sizeof(T));
      else
        std::memcpy(strided + r * row_step, d + r * cols, size_t(cols) * sizeof(T));
    }
  } else {
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < cols; c++) one(r, c);
  }
}

template <bool Load>
void move_tile(int64_t width, char* dense, char* strided, int64_t rows, int64_t cols,
               int64_t row_step, int64_t col_step) {
  visit_width(width, [&](auto tag) {
    move_tile<typename decltype(tag)::type, Load>(dense, strided, rows, cols, row_step, col_step);
  });
}

// One tensor or number of an iteration, as it is read or written.
struct Stream {
  char* data = nullptr;
  int64_t width = 0;  // bytes of an element as stored
  int64_t compute_width = 0;
  LoopFn convert =
      nullptr;        // stored -> compute (inputs), compute -> stored (output); null when equal
  Strides strides{};  // bytes, innermost last
};

// An iteration: operand 0 is the output.
struct Iteration {
  int count = 0, ndim = 0;
  Stream operand[kMaxOperands];
  int64_t sizes[16];
  LoopFn loop = nullptr;
  const void* params = nullptr;
  int64_t numel = 1;
  int cost = 4;
};

// Drops dimensions of size 1, orders by the output's strides and merges neighbours that are one run
// in every operand.
void simplify(Iteration& it) {
  int n = 0;
  int order[16];
  for (int d = 0; d < it.ndim; d++)
    if (it.sizes[d] != 1) order[n++] = d;
  auto before = [&](int a, int b) {  // a outside b
    for (int k = 0; k < it.count; k++) {
      int64_t x = it.operand[k].strides[size_t(a)], y = it.operand[k].strides[size_t(b)];
      if (x == 0 || y == 0) continue;
      if (x != y) return x > y;
      if (it.sizes[a] != it.sizes[b]) return it.sizes[a] > it.sizes[b] ? false : true;
    }
    return a < b;
  };
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && before(order[j], order[j - 1]); j--) std::swap(order[j], order[j - 1]);
  int64_t sizes[16];
  Strides strides[kMaxOperands];
  int m = 0;
  for (int i = 0; i < n; i++) {
    int d = order[i];
    bool merge = m > 0;
    for (int k = 0; merge && k < it.count; k++)
      merge = strides[k][size_t(m - 1)] == it.operand[k].strides[size_t(d)] * it.sizes[d];
    if (merge) {
      sizes[m - 1] *= it.sizes[d];
      for (int k = 0; k < it.count; k++)
        strides[k][size_t(m - 1)] = it.operand[k].strides[size_t(d)];
    } else {
      sizes[m] = it.sizes[d];
      for (int k = 0; k < it.count; k++) strides[k][size_t(m)] = it.operand[k].strides[size_t(d)];
      m++;
    }
  }
  if (m == 0) {
    sizes[0] = 1;
    for (int k = 0; k < it.count; k++) strides[k][0] = it.operand[k].compute_width;
    m = 1;
  }
  it.ndim = m;
  std::copy(sizes, sizes + m, it.sizes);
  for (int k = 0; k < it.count; k++) it.operand[k].strides = strides[k];
}

// Buffers of one thread's walk: dense blocks in the compute dtype.
struct Blocks {
  alignas(64) char compute[kMaxOperands][kBlock * 16];
  alignas(64) char stored[kBlock * 16];
};

// Runs `rows` x `cols` elements from the operands' positions.
struct Tile {
  const Iteration& it;
  Blocks& blocks;
  bool filled[kMaxOperands] =
      {};  // buffers of numbers and broadcast operands that hold their value

  // The dense compute-dtype data of input k.
  const void* input(int k, char* p, int64_t rows, int64_t cols, int64_t row_step,
                    int64_t col_step) {
    const Stream& o = it.operand[k];
    char* buffer = blocks.compute[k];
    const int64_t n = rows * cols;
    if (col_step == 0 && (rows == 1 || row_step == 0)) {  // one value for the whole tile
      if (o.convert) {
        const void* in[] = {p};
        o.convert(buffer, in, 1, nullptr);
      } else {
        std::memcpy(buffer, p, size_t(o.width));
      }
      replicate(buffer, o.compute_width, n);
      return buffer;
    }
    const bool dense = col_step == o.width && (rows == 1 || row_step == cols * o.width);
    if (dense && !o.convert) return p;
    if (dense) {
      const void* in[] = {p};
      o.convert(buffer, in, n, nullptr);
      return buffer;
    }
    if (!o.convert) {
      move_tile<true>(o.width, buffer, p, rows, cols, row_step, col_step);
      return buffer;
    }
    move_tile<true>(o.width, blocks.stored, p, rows, cols, row_step, col_step);
    const void* in[] = {blocks.stored};
    o.convert(buffer, in, n, nullptr);
    return buffer;
  }

  static void replicate(char* buffer, int64_t width, int64_t n) {
    visit_width(width, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* p = reinterpret_cast<T*>(buffer);
      const T v = p[0];
      for (int64_t i = 1; i < n; i++) p[i] = v;
    });
  }

  void run(char* const* at, int64_t rows, int64_t cols, int outer_dim, int inner_dim) {
    const void* in[kMaxInputs];
    auto step = [&](int k, int d) { return d < 0 ? int64_t(0) : it.operand[k].strides[size_t(d)]; };
    for (int k = 1; k < it.count; k++)
      in[k - 1] = input(k, at[k], rows, cols, step(k, outer_dim), step(k, inner_dim));
    const Stream& o = it.operand[0];
    const int64_t row_step = step(0, outer_dim), col_step = step(0, inner_dim), n = rows * cols;
    const bool dense = col_step == o.width && (rows == 1 || row_step == cols * o.width);
    if (!it.loop) {  // a copy: what was loaded is the result
      store(o, at[0], in[0], dense, rows, cols, row_step, col_step);
      return;
    }
    if (dense && !o.convert) {
      it.loop(at[0], in, n, it.params);
      return;
    }
    it.loop(blocks.compute[0], in, n, it.params);
    store(o, at[0], blocks.compute[0], dense, rows, cols, row_step, col_step);
  }

  void store(const Stream& o, char* to, const void* from, bool dense, int64_t rows, int64_t cols,
             int64_t row_step, int64_t col_step) {
    const int64_t n = rows * cols;
    const void* in[] = {from};
    if (dense) {
      if (o.convert)
        o.convert(to, in, n, nullptr);
      else
        std::memcpy(to, from, size_t(n * o.width));
      return;
    }
    const char* source = static_cast<const char*>(from);
    if (o.convert) {
      o.convert(blocks.stored, in, n, nullptr);
      source = blocks.stored;
    }
    move_tile<false>(o.width, const_cast<char*>(source), to, rows, cols, row_step, col_step);
  }
};

// One contiguous run in every operand, numbers aside.
bool is_flat(const Iteration& it) {
  if (it.ndim != 1) return false;
  for (int k = 0; k < it.count; k++) {
    const Stream& o = it.operand[k];
    if (o.strides[0] != o.width && !(k > 0 && o.strides[0] == 0)) return false;
  }
  return true;
}

// Writes past the caches: no line of `to` is read first, and none is evicted for it.
void stream(char* to, const char* from, int64_t bytes) {
#if defined(__SSE2__)
  const int64_t head = std::min<int64_t>(-reinterpret_cast<uintptr_t>(to) & 15, bytes);
  std::memcpy(to, from, size_t(head));
  int64_t i = head;
  for (; i + 16 <= bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  std::memcpy(to + i, from + i, size_t(bytes - i));
#else
  std::memcpy(to, from, size_t(bytes));
#endif
}
void end_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

void run_flat(const Iteration& it, int64_t begin, int64_t end) {
  bool direct = !it.operand[0].convert && it.loop;
  bool scalars = false;
  for (int k = 1; k < it.count; k++) {
    direct &= !it.operand[k].convert || it.operand[k].strides[0] == 0;
    scalars |= it.operand[k].strides[0] == 0;
  }
  const Stream& out = it.operand[0];
  bool streams = direct && it.cost <= kStreamCost && it.numel * out.width >= kStreamBytes;
  for (int k = 1; k < it.count; k++) streams &= it.operand[k].data != out.data;  // in place: cached
  if (direct && !scalars && !streams) {
    const void* in[kMaxInputs];
    for (int k = 1; k < it.count; k++) in[k - 1] = it.operand[k].data + begin * it.operand[k].width;
    it.loop(it.operand[0].data + begin * it.operand[0].width, in, end - begin, it.params);
    return;
  }
  Blocks blocks;
  if (direct) {  // numbers: one filled block each, reused
    const int64_t block = std::min(kBlock, end - begin);
    const void* in[kMaxInputs];
    Tile tile{it, blocks};
    for (int k = 1; k < it.count; k++)
      if (it.operand[k].strides[0] == 0)
        in[k - 1] = tile.input(k, it.operand[k].data, 1, block, 0, 0);
    for (int64_t i = begin; i < end; i += block) {
      const int64_t n = std::min(block, end - i);
      for (int k = 1; k < it.count; k++)
        if (it.operand[k].strides[0] != 0) in[k - 1] = it.operand[k].data + i * it.operand[k].width;
      char* to = out.data + i * out.width;
      it.loop(streams ? blocks.compute[0] : to, in, n, it.params);
      if (streams) stream(to, blocks.compute[0], n * out.width);
    }
    if (streams) end_stream();
    return;
  }
  if (!it.loop && it.operand[1].strides[0] != 0) {  // plain copy or conversion: no block in between
    const Stream &o = it.operand[0], &a = it.operand[1];
    char* to = o.data + begin * o.width;
    const void* in[] = {a.data + begin * a.width};
    if (a.convert && !o.convert)
      a.convert(to, in, end - begin, nullptr);
    else if (o.convert && !a.convert)
      o.convert(to, in, end - begin, nullptr);
    else if (!o.convert)
      std::memcpy(to, in[0], size_t((end - begin) * o.width));
    if (!(a.convert && o.convert)) return;
  }
  Tile tile{it, blocks};
  for (int64_t i = begin; i < end; i += kBlock) {
    char* at[kMaxOperands];
    for (int k = 0; k < it.count; k++) at[k] = it.operand[k].data + i * it.operand[k].strides[0];
    tile.run(at, 1, std::min(kBlock, end - i), -1, 0);
  }
}

// Tiles of the two innermost dimensions; the outer ones (and tiles) are numbered and shared out.
void run_tiled(const Iteration& it) {
  const int inner = it.ndim - 1, outer = it.ndim - 2;
  const int64_t cols_all = it.sizes[inner], rows_all = outer >= 0 ? it.sizes[outer] : 1;
  bool transposed = false;
  for (int k = 0; k < it.count && outer >= 0; k++) {
    const Stream& o = it.operand[k];
    transposed |= std::abs(o.strides[size_t(outer)]) < std::abs(o.strides[size_t(inner)]) &&
                  o.strides[size_t(outer)] != 0;
  }
  // a transposed operand is read by cache lines: 16 rows of 64 columns
  const int64_t cols = std::min(cols_all, transposed ? int64_t(64) : kBlock);
  const int64_t rows = std::max<int64_t>(1, std::min(rows_all, kBlock / cols));
  const int64_t col_tiles = (cols_all + cols - 1) / cols, row_tiles = (rows_all + rows - 1) / rows;
  int64_t outer_count = 1;
  for (int d = 0; d < outer; d++) outer_count *= it.sizes[d];
  const int64_t tiles = outer_count * row_tiles * col_tiles;
  const int64_t grain =
      std::max<int64_t>(1, kParallelBytes / (rows * cols * std::max<int64_t>(it.cost, 1)));
  parallel_for(
      tiles, it.numel < kParallelBytes / 4 ? tiles : grain, [&](int64_t begin, int64_t end) {
        Blocks blocks;
        Tile tile{it, blocks};
        for (int64_t t = begin; t < end; t++) {
          int64_t c = t % col_tiles * cols, r = t / col_tiles % row_tiles * rows,
                  rest = t / (col_tiles * row_tiles);
          char* at[kMaxOperands];
          for (int k = 0; k < it.count; k++)
            at[k] = it.operand[k].data + c * it.operand[k].strides[size_t(inner)] +
                    (outer >= 0 ? r * it.operand[k].strides[size_t(outer)] : 0);
          for (int d = outer - 1; d >= 0; d--) {
            int64_t i = rest % it.sizes[d];
            rest /= it.sizes[d];
            for (int k = 0; k < it.count; k++) at[k] += i * it.operand[k].strides[size_t(d)];
          }
          tile.run(at, std::min(rows, rows_all - r), std::min(cols, cols_all - c), outer, inner);
        }
      });
}

void run(Iteration& it) {
  if (it.numel == 0) return;
  simplify(it);
  LongWork long_work(it.numel >= kLongWork);
  if (is_flat(it)) {
    const int64_t grain = std::max<int64_t>(kParallelBytes / std::max(it.cost, 1), 4096);
    if (it.numel <= grain)
      run_flat(it, 0, it.numel);
    else
      parallel_for(it.numel, grain, [&](int64_t begin, int64_t end) { run_flat(it, begin, end); });
    return;
  }
  run_tiled(it);
}

void add_tensor(Iteration& it, const Tensor& t, DType compute, bool output) {
  Stream& o = it.operand[it.count++];
  o.data = t.bytes();
  o.width = t.itemsize();
  o.compute_width = itemsize(compute);
  if (t.dtype() != compute)
    o.convert = output ? converter(t.dtype(), compute) : converter(compute, t.dtype());
  const int64_t lead = it.ndim - t.dim();
  for (int64_t d = 0; d < it.ndim; d++) {
    const bool broadcast = d < lead || (t.sizes()[size_t(d - lead)] == 1 && it.sizes[d] != 1);
    o.strides[size_t(d)] = broadcast ? 0 : t.strides()[size_t(d - lead)] * o.width;
  }
}

void set_shape(Iteration& it, IntSpan sizes) {
  check(sizes.size() <= 16, "tensors with more than 16 dimensions are not supported here, got ",
        sizes.size());
  it.ndim = int(sizes.size());
  it.numel = product(sizes);
  std::copy(sizes.begin(), sizes.end(), it.sizes);
}

struct Plan {
  DType compute, result;
  Dims sizes;
  bool same_shape = true;  // of all tensors
  alignas(16) char params[kMaxParams][16];
  alignas(16) char numbers[kMaxInputs][16];
};

void write_scalar(char* to, DType t, const Scalar& s) {
  if (is_storage_only(t)) {
    alignas(16) char number[16];
    write_scalar(number, info(t).compute, s);
    return convert_elements(to, t, number, info(t).compute, 1);
  }
  visit(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *reinterpret_cast<T*>(to) = s.to<T>();
  });
}

int64_t number_of(const Tensor& t) {
  int64_t v;
  convert_elements(&v, DType::Int64, t.bytes(), t.dtype(), 1);
  return v;
}

// The dtype in which integers compare as the numbers they are: PyTorch wraps a number that the
// tensor's dtype cannot hold.
DType comparable(DType common, std::initializer_list<Input> inputs) {
  const Range range = range_of(common);
  for (const Input& in : inputs) {
    if (in.scalar && in.scalar->is_beyond_int64()) return DType::Float64;
    if (in.scalar && !is_in(range, in.scalar->to_int())) return DType::Int64;
    if (in.tensor && in.tensor->dim() == 0 && in.tensor->device().type == DeviceType::CPU &&
        in.tensor->dtype() != common && !is_in(range, number_of(*in.tensor)))
      return DType::Int64;
  }
  return common;
}

// uint64 computes in int64: right where only the number modulo 2^64 matters.
bool computes_modulo(std::string_view op) {
  for (const char* name : {"eq", "ne", "add", "sub", "mul", "bitwise_and", "bitwise_or",
                           "bitwise_xor", "bitwise_not", "where", "_where"})
    if (op == name) return true;
  return false;
}

void refuse_bools(const PointwiseOp& op, std::initializer_list<Input> inputs) {
  size_t bools = 0;
  for (const Input& in : inputs)
    bools += in.tensor ? in.tensor->dtype() == DType::Bool : in.scalar->is_bool();
  if (!bools) return;
  constexpr const char* invert =
      " a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
      "`logical_not()` operator instead.";
  check(inputs.size() > 1, "Negation, the `-` operator, on", invert, " (", op.name, ")");
  check(bools < inputs.size(),
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
        "`logical_xor()` operator instead. (",
        op.name, ")");
  fail("Subtraction, the `-` operator, with", invert, " (", op.name, ")");
}

// Dtypes and shape of a call, and its numbers in the compute dtype.
void make_plan(Plan& plan, const PointwiseOp& op, std::initializer_list<Input> inputs,
               std::initializer_list<Scalar> params) {
  ResultType type;
  bool first = true;
  int i = 0;
  for (const Input& in : inputs) {
    if (!(op.bool_inputs >> i & 1)) {
      if (in.tensor)
        type.add(*in.tensor);
      else
        type.add(*in.scalar);
    } else if (in.tensor) {
      check((*in.tensor).dtype() == DType::Bool || (*in.tensor).dtype() == DType::UInt8, op.name,
            " expected condition to be a boolean tensor, but got a tensor with dtype ",
            (*in.tensor).dtype());
    }
    if (in.tensor) {
      if (first) {
        plan.sizes = in.tensor->sizes();
        first = false;
      } else if (!equal(plan.sizes, in.tensor->sizes())) {
        plan.sizes = broadcast_shapes(plan.sizes, in.tensor->sizes());
        plan.same_shape = false;
      }
    }
    i++;
  }
  DType common = type.get();
  if (op.rule == DTypeRule::Signed) refuse_bools(op, inputs);
  if (op.rule == DTypeRule::Float && category(common) <= Category::Integral)
    common = default_dtype();
  if (op.rule == DTypeRule::Bool && is_integral(common)) common = comparable(common, inputs);
  plan.compute = info(common).compute;
  switch (op.rule) {
    case DTypeRule::Bool:
      plan.result = DType::Bool;
      break;
    case DTypeRule::Real:
      plan.result = real_dtype(common);
      break;
    default:
      plan.result = common;
  }
  if (!(*op.tables[chosen_target()])[int(plan.compute)] ||
      (common == DType::UInt64 && !computes_modulo(op.name)))
    fail<NotImplementedError>("\"", op.name, "\" not implemented for '", info(common).scalar_type,
                              "'");
  i = 0;
  for (const Scalar& s : params) {
    if ((op.integer_param >> i & 1) && category(plan.compute) <= Category::Integral) {
      check(s.is_integral(),
            "For integral input tensors, argument alpha must not be a floating point number.");
      check(!s.is_bool() || plan.compute == DType::Bool,
            "Boolean alpha only supported for Boolean results.");
    }
    if (!op.bounds) check_fits(s, plan.compute);
    if (s.is_complex() && !is_complex(plan.compute))
      check(s.to_complex().imag() == 0, op.name,
            ": a complex number argument needs complex tensors, got ", plan.compute);
    write_scalar(plan.params[i++], plan.compute, op.bounds ? bound_of(s, plan.compute) : s);
  }
  i = 0;
  for (const Input& in : inputs) {
    if (in.scalar && plan.compute != common && op.rule == DTypeRule::Bool) {
      // float16 computes in float32, but compares with the number as float16 has it
      alignas(16) char rounded[16];
      write_scalar(rounded, common, *in.scalar);
      convert_elements(plan.numbers[i], plan.compute, rounded, common, 1);
    } else if (in.scalar) {
      DType t = (op.bool_inputs >> i & 1) ? DType::Bool : plan.compute;
      write_scalar(plan.numbers[i], t, op.bounds ? bound_of(*in.scalar, t) : *in.scalar);
    }
    i++;
  }
}

void execute(const PointwiseOp& op, const Tensor& out, Plan& plan,
             std::initializer_list<Input> inputs) {
  const int64_t numel = out.numel();
  if (out.is_meta() || numel == 0) return;
  const LoopFn loop = (*op.tables[chosen_target()])[int(plan.compute)];
  const DType out_compute = op.rule == DTypeRule::Bool   ? DType::Bool
                            : op.rule == DTypeRule::Real ? real_dtype(plan.compute)
                                                         : plan.compute;
  // Small, dense, of one shape and in the compute dtype: no iteration needed.
  bool simple =
      plan.same_shape && numel <= 4096 && out.dtype() == out_compute && out.is_contiguous();
  if (simple) {
    const void* in[kMaxInputs];
    alignas(64) char filled[kMaxInputs][kFilledBytes];  // with a number
    int k = 0;
    for (const Input& input : inputs) {
      DType want = (op.bool_inputs >> k & 1) ? DType::Bool : plan.compute;
      if (input.tensor) {
        simple = input.tensor->dtype() == want && input.tensor->is_contiguous();
        if (!simple) break;
        in[k] = input.tensor->bytes();
      } else {
        const int64_t width = itemsize(want);
        simple = numel * width <= kFilledBytes;
        if (!simple) break;
        std::memcpy(filled[k], plan.numbers[k], 16);
        Tile::replicate(filled[k], width, numel);
        in[k] = filled[k];
      }
      k++;
    }
    if (simple) return loop(out.bytes(), in, numel, plan.params);
  }
  Iteration it;
  it.loop = loop;
  it.params = plan.params;
  it.cost = op.cost;
  set_shape(it, out.sizes());
  add_tensor(it, out, out_compute, true);
  int i = 0;
  for (const Input& in : inputs) {
    DType want = (op.bool_inputs >> i & 1) ? DType::Bool : plan.compute;
    if (in.tensor) {
      add_tensor(it, *in.tensor, want, false);
    } else {
      Stream& o = it.operand[it.count++];
      o.data = plan.numbers[i];
      o.width = o.compute_width = itemsize(want);
    }
    i++;
  }
  run(it);
}

// The layout of a fresh result: that of the first input with the full shape (channels-last stays
// so).
Tensor allocate_result(const Plan& plan, std::initializer_list<Input> inputs, Device device) {
  const Tensor* like = nullptr;
  for (const Input& in : inputs) {
    if (!in.tensor || !(plan.same_shape || equal(in.tensor->sizes(), plan.sizes))) continue;
    if (in.tensor->is_contiguous()) return empty(plan.sizes, plan.result, device);
    if (!like) like = in.tensor;
  }
  if (!like) return empty(plan.sizes, plan.result, device);
  return empty_strided(plan.sizes, dense_strides_like(plan.sizes, like->strides()), plan.result,
                       device);
}

Device device_of(std::initializer_list<Input> inputs) {
  Device d;
  for (const Input& in : inputs)
    if (in.tensor && (in.tensor->dim() > 0 || in.tensor->is_meta())) return in.tensor->device();
  for (const Input& in : inputs)
    if (in.tensor) d = in.tensor->device();
  return d;
}

}  // namespace

Tensor run_pointwise(const PointwiseOp& op, std::initializer_list<Input> inputs,
                     std::initializer_list<Scalar> params) {
  Plan plan;
  make_plan(plan, op, inputs, params);
  Tensor out = allocate_result(plan, inputs, device_of(inputs));
  execute(op, out, plan, inputs);
  return out;
}

void run_pointwise_out(const PointwiseOp& op, const Tensor& out,
                       std::initializer_list<Input> inputs, std::initializer_list<Scalar> params,
                       bool inplace) {
  if (any_transform(out, inputs)) [[unlikely]]
    return run_boxed_out(op, out, inputs, params, inplace);
  for (const Input& in : inputs)
    if (in.tensor && in.tensor->device().type != out.device().type &&
        (out.is_meta() == inplace || in.tensor->is_meta() || in.tensor->dim()))
      fail(op.name, ": Expected all tensors to be on the same device, but got ",
           in.tensor->device(), " for an input and ", out.device(), " for ",
           inplace ? "the tensor changed in place" : "argument 'out'");
  Plan plan;
  make_plan(plan, op, inputs, params);
  if (inplace) {
    check(equal(out.sizes(), plan.sizes), "output with shape ", out.sizes(),
          " doesn't match the broadcast shape ", plan.sizes, " (", op.name, "_)");
    check(can_cast(plan.result, out.dtype()), "result type ", info(plan.result).scalar_type,
          " can't be cast to the desired output type ", info(out.dtype()).scalar_type, " (",
          op.name, "_)");
    check_overlap(op.name, out, out);
  } else {
    prepare_out(op.name, out, plan.sizes, plan.result);
  }
  for (const Input& in : inputs) {
    if (!in.tensor) continue;
    // reading elements that another position already wrote: partial overlap
    if (in.tensor->storage() == out.storage() && !in.tensor->is_same(out))
      check_overlap(op.name, out, *in.tensor);
  }
  execute(op, out, plan, inputs);
}

void copy_kernel(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0 || dst.is_meta() || src.is_meta()) return;
  check_has_data(dst);
  check_has_data(src);
  if (dst.is_contiguous() && src.is_contiguous() && dst.dtype() == src.dtype() &&
      dst.numel() == src.numel() && dst.numel() <= 4096) {
    std::memmove(dst.bytes(), src.bytes(), size_t(dst.numel() * dst.itemsize()));
    return;
  }
  if (src.storage() == dst.storage() &&
      !(src.offset() == dst.offset() && equal(src.strides(), dst.strides()))) {
    Tensor whole = empty(src.sizes(), src.dtype());  // overlapping copy: through a buffer
    copy_kernel(whole, src);
    copy_kernel(dst, whole);
    return;
  }
  Iteration it;
  set_shape(it, dst.sizes());
  it.cost = 2;
  add_tensor(it, dst, src.dtype(), true);
  add_tensor(it, src, src.dtype(), false);
  run(it);
}

void fill_kernel(const Tensor& dst, const Scalar& value) {
  check_fits(value, dst.dtype());
  if (dst.numel() == 0 || dst.is_meta()) return;
  check_has_data(dst);
  alignas(16) char number[16];
  write_scalar(number, dst.dtype(), value);
  if (dst.is_contiguous()) {
    LongWork long_work(dst.numel() >= kLongWork);
    visit_width(dst.itemsize(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* p = reinterpret_cast<T*>(dst.bytes());
      const T v = *reinterpret_cast<const T*>(number);
      parallel_for(dst.numel(), kParallelBytes,
                   [&](int64_t begin, int64_t end) { std::fill(p + begin, p + end, v); });
    });
    return;
  }
  Iteration it;
  set_shape(it, dst.sizes());
  it.cost = 2;
  add_tensor(it, dst, dst.dtype(), true);
  Stream& o = it.operand[it.count++];
  o.data = number;
  o.width = o.compute_width = dst.itemsize();
  run(it);
}

Tensor contiguous_of(const Tensor& t) {
  check_has_data(t);
  if (t.is_contiguous()) return t;
  Tensor out = empty(t.sizes(), t.dtype(), t.device());
  copy_kernel(out, t);
  return out;
}

Tensor cast_of(const Tensor& t, DType dtype) {
  check_has_data(t);
  if (t.dtype() == dtype) return t;
  Tensor out = empty_like(t, dtype);
  copy_kernel(out, t);
  return out;
}

void convert_elements(void* dst, DType to, const void* src, DType from, int64_t n) {
  const void* in[] = {src};
  converter(to, from)(dst, in, n, nullptr);
}

}  // namespace flambeau
