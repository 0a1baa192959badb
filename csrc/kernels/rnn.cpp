// Recurrent layers of one direction: all time steps in one sweep, the batch split over threads, so
// that no thread waits for another within the sequence; or the hidden units, where the batch is
// small and the weights are large. Each element of a product is a chain of its own, so the
// split changes no bit.
#include <algorithm>
#include <cstring>

#include "kernels/checks.h"
#include "kernels/gemm.h"
#include "kernels/pointwise.h"
#include "kernels/rnn_table.h"
#include "kernels/targets.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(ns)                 \
  namespace ns {                             \
  extern const RnnFns<float> rnn_float[1];   \
  extern const RnnFns<double> rnn_double[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

namespace {

template <class T>
const RnnFns<T>& rnn_fns();
template <>
const RnnFns<float>& rnn_fns<float>() {
  static const RnnFns<float>* const tables[3] = {FLAMBEAU_TABLE_BASELINE(rnn_float, 0),
                                                 FLAMBEAU_TABLE_AVX2(rnn_float, 0),
                                                 FLAMBEAU_TABLE_AVX512(rnn_float, 0)};
  return *tables[chosen_target()];
}
template <>
const RnnFns<double>& rnn_fns<double>() {
  static const RnnFns<double>* const tables[3] = {FLAMBEAU_TABLE_BASELINE(rnn_double, 0),
                                                  FLAMBEAU_TABLE_AVX2(rnn_double, 0),
                                                  FLAMBEAU_TABLE_AVX512(rnn_double, 0)};
  return *tables[chosen_target()];
}

// f(T()) with the C++ type of float32 or float64.
template <class F>
void visit_real(DType t, F&& f) {
  if (t == DType::Float32)
    f(float());
  else
    f(double());
}

// Rows of the recurrent weight and where their products go among a step's sums.
struct Piece {
  int64_t row, count, at;
};

// What differs between the kinds, in multiples of the hidden size.
struct Kind {
  const char* name;
  int64_t gates;  // of the weights
  int64_t sums;   // of a step: the products' columns
  int64_t kept;   // beside the sums in a row of `saved`
  int64_t states;
  bool relu;
};
constexpr Kind kLstm{"lstm", 4, 4, 3, 2, false}, kGru{"gru", 3, 4, 1, 1, false},
    kTanh{"rnn_tanh", 1, 1, 1, 1, false}, kRelu{"rnn_relu", 1, 1, 1, 1, true};

// The sequence: steps of at most `batch` rows. Row b of step t is row first(t) + b of the output.
struct Sweep {
  explicit Sweep(const Kind& k) : kind(k) {}

  const Kind& kind;
  int64_t steps = 0, batch = 0, rows = 0, hidden = 0;
  bool packed = false, reverse = false;
  const Dims* sizes = nullptr;  // of the steps of a packed sequence
  std::vector<int64_t> starts;  // of the same

  int64_t active(int64_t t) const { return packed ? (*sizes)[size_t(t)] : batch; }
  int64_t first(int64_t t) const { return packed ? starts[size_t(t)] : t * batch; }
  // The i-th step that is taken.
  int64_t step(int64_t i) const { return reverse ? steps - 1 - i : i; }
  int64_t sums() const { return kind.sums * hidden; }
  int64_t width() const { return (kind.sums + kind.kept) * hidden; }
  std::vector<Piece> pieces() const {
    if (kind.gates == 3) return {{0, 2 * hidden, 0}, {2 * hidden, hidden, 3 * hidden}};
    return {{0, kind.gates * hidden, 0}};
  }
};

// `t`: (steps, batch, …), or (rows, …) of a packed sequence.
Sweep sweep_of(const Kind& kind, const char* name, const Tensor& t, int64_t hidden,
               const Dims& batch_sizes, bool reverse) {
  Sweep s(kind);
  s.packed = !batch_sizes.empty();
  s.reverse = reverse;
  s.hidden = hidden;
  check(t.dim() == (s.packed ? 2 : 3), kind.name, ": expected ", name, " with ", s.packed ? 2 : 3,
        " dimensions, but it has shape ", t.sizes());
  if (!s.packed) {
    s.steps = t.sizes()[0];
    s.batch = t.sizes()[1];
    s.rows = s.steps * s.batch;
  } else {
    s.sizes = &batch_sizes;
    s.steps = int64_t(batch_sizes.size());
    s.batch = batch_sizes[0];
    int64_t last = s.batch;
    for (int64_t n : batch_sizes) {
      check(n > 0 && n <= last, kind.name,
            ": expected batch_sizes to be positive and not to rise, but got ", batch_sizes);
      s.starts.push_back(s.rows);
      s.rows += last = n;
    }
    check(s.rows == t.sizes()[0], kind.name, ": batch_sizes ", batch_sizes, " make ", s.rows,
          " rows, but ", name, " has shape ", t.sizes());
  }
  check(s.steps > 0, "Expected sequence length to be larger than 0 in RNN (", kind.name, ")");
  return s;
}

// Rows of a tensor by (step, row of the batch): element strides, the last dimension dense.
template <class T>
struct Rows {
  Tensor hold;
  const T* data = nullptr;
  int64_t step = 0, row = 0;
  bool packed = false;

  Rows(const Sweep& s, const Tensor& t) : packed(s.packed) {
    hold = t.strides().back() == 1 || t.sizes().back() == 1 ? t : contiguous_of(t);
    data = hold.data<T>();
    step = packed ? 0 : hold.strides()[0];
    row = hold.strides()[packed ? 0 : 1];
  }
  const T* at(const Sweep& s, int64_t t, int64_t b) const {
    return packed ? data + (s.first(t) + b) * row : data + t * step + b * row;
  }
};

constexpr int64_t kPackGrain = 1 << 14;  // elements that a thread packs at least
constexpr int64_t kRowsAtOnce = 32;      // whose input products are made together

// Whether weights are used often enough to be packed. Otherwise, and on processors without fused
// operations, BLAS makes the products.
template <class T>
bool worth_packing(const Sweep& s) {
  return rnn_fns<T>().fused && s.rows >= (s.steps == 1 ? 64 : 16);
}

// A matrix B(k, j) of products: packed, or as it lies where packing would cost more than it saves.
template <class T>
struct Factor {
  MatrixArg raw;
  int64_t depth, cols;
  Tensor packed;

  Factor(const Tensor& w, int64_t row, int64_t count, bool transposed, bool pack) {
    const T* data = w.data<T>() + row * w.strides()[0];
    if (transposed) {
      raw = {data, w.strides()[1], w.strides()[0]};
      depth = w.sizes()[1];
      cols = count;
    } else {
      raw = {data, w.strides()[0], w.strides()[1]};
      depth = count;
      cols = w.sizes()[1];
    }
    if (!pack) return;
    const RnnFns<T>& fns = rnn_fns<T>();
    const int64_t panels = (cols + fns.panel - 1) / fns.panel, size = depth * fns.panel;
    packed = flambeau::empty(Dims{panels, depth, fns.panel}, w.dtype());
    T* to = packed.data<T>();
    parallel_for(panels, std::max<int64_t>(1, kPackGrain / std::max<int64_t>(size, 1)),
                 [&](int64_t begin, int64_t end) {
                   const int64_t first = begin * fns.panel;
                   fns.pack(to + begin * size, data + first * raw.col_stride, depth,
                            std::min(cols, end * fns.panel) - first, raw.row_stride,
                            raw.col_stride);
                 });
  }
  // The same in steps, with between(i, n) after the i-th of n: it may fetch memory that is read
  // next.
  template <class F>
  void add(T* const* c, int64_t c_at, const T* const* a, int64_t a_at, int64_t rows,
           F&& between) const {
    const RnnFns<T>& fns = rnn_fns<T>();
    if (!packed.defined() || rows < 4) return add(c, c_at, a, a_at, rows);
    const int64_t panels = packed.sizes()[0];
    for (int64_t i = 0; i < panels; i++) {
      const int64_t at = i * fns.panel;
      fns.product(c, c_at + at, a, a_at, rows, depth, packed.data<T>() + at * depth,
                  std::min(fns.panel, cols - at));
      between(i, panels);
    }
  }
  // Columns first … end alone, of packed weights; `first` a multiple of a panel.
  void add_columns(T* const* c, int64_t c_at, const T* const* a, int64_t a_at, int64_t rows,
                   int64_t first, int64_t end) const {
    rnn_fns<T>().product(c, c_at + first, a, a_at, rows, depth, packed.data<T>() + first * depth,
                         end - first);
  }
  // Without packing the rows must lie evenly.
  void add(T* const* c, int64_t c_at, const T* const* a, int64_t a_at, int64_t rows) const {
    if (rows == 0 || depth == 0) return;
    if (packed.defined()) {
      rnn_fns<T>().product(c, c_at, a, a_at, rows, depth, packed.data<T>(), cols);
      return;
    }
    const int64_t lda = rows > 1 ? a[1] - a[0] : depth, ldc = rows > 1 ? c[1] - c[0] : cols;
    gemm(std::is_same_v<T, float> ? DType::Float32 : DType::Float64, rows, cols, depth,
         {a[0] + a_at, lda, 1}, raw, c[0] + c_at, ldc, true);
  }
};

constexpr double kSplitFlops = 4e5;     // of a part of the batch, that a thread is worth it
constexpr int64_t kFarBytes = 1 << 19;  // of weights: more than stays near a core
constexpr int64_t kRowsPerThread = 8;   // from so many on the batch is split in any case

// f(b0, b1) for parts of the batch. They depend on the number of threads, the results do not.
template <class T, class F>
void each_part(const Sweep& s, int64_t depth, F&& f) {
  const double flops = 2.0 * double(s.rows) * double(s.sums()) * double(depth);
  int64_t parts =
      std::min<int64_t>({int64_t(num_threads()), s.batch, int64_t(flops / kSplitFlops)});
  parts = worth_packing<T>(s) ? std::max<int64_t>(parts, 1) : 1;
  LongWork work(flops > 1e7);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) f(s.batch * p / parts, s.batch * (p + 1) / parts);
  });
}

// Among how many threads the hidden units are better split than the batch: few rows of weights that
// no cache near a core holds. They meet after each step.
template <class T>
int64_t unit_parts(const Sweep& s) {
  const int64_t panel = rnn_fns<T>().panel, threads = num_threads();
  const int64_t bytes = s.kind.gates * s.hidden * s.hidden * int64_t(sizeof(T));
  if (threads < 2 || in_parallel_region() || !worth_packing<T>(s) || s.hidden % panel ||
      bytes < kFarBytes || s.batch >= kRowsPerThread * threads)
    return 1;
  return std::min<int64_t>({threads, s.hidden / panel, bytes / kFarBytes * 2});
}
// f(first, end) of each part, side by side.
template <class T, class F>
void each_unit_part(const Sweep& s, int64_t parts, F&& f) {
  const int64_t panel = rnn_fns<T>().panel, panels = s.hidden / panel;
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    f(panels * begin / parts * panel, panels * end / parts * panel);
  });
}

struct LayerArgs {
  const Tensor &input, &hx, &cx, &w_ih, &w_hh;
  OptTensor b_ih, b_hh;
};

// inputs: input, hx, cx of an LSTM, w_ih, w_hh, and perhaps both biases
LayerArgs layer_args(const Kind& kind, const TensorList& in, Sweep& s) {
  const size_t n = size_t(kind.states);
  check(in.size() == n + 3 || in.size() == n + 5, kind.name, ": expected ", n + 3, " or ", n + 5,
        " tensors for a layer, but got ", in.size());
  LayerArgs a{in[0], in[1], in[n], in[n + 1], in[n + 2], {}, {}};
  if (in.size() == n + 5) {
    a.b_ih = in[n + 3];
    a.b_hh = in[n + 4];
  }
  for (auto& t : in)
    check(t.dtype() == a.input.dtype(), kind.name, ": expected tensors of one dtype, but got ",
          a.input.dtype(), " and ", t.dtype());
  check<NotImplementedError>(a.input.dtype() == DType::Float32 || a.input.dtype() == DType::Float64,
                             "\"", kind.name, "_layer\" not implemented for '",
                             info(a.input.dtype()).name, "'");
  check_rank(kind.name, "w_hh", a.w_hh, 2, 2);
  s.hidden = a.w_hh.sizes()[1];
  check_shape(kind.name, "w_hh", a.w_hh, Dims{kind.gates * s.hidden, s.hidden});
  check_shape(kind.name, "w_ih", a.w_ih, Dims{kind.gates * s.hidden, a.input.sizes().back()});
  for (size_t i = 1; i <= n; i++)
    check_shape(kind.name, i == 1 ? "hx" : "cx", in[i], Dims{s.batch, s.hidden});
  for (auto* b : {&a.b_ih, &a.b_hh})
    if (*b)
      check_shape(kind.name, b == &a.b_ih ? "b_ih" : "b_hh", **b, Dims{kind.gates * s.hidden});
  return a;
}

// What each row of sums starts with.
template <class T>
std::vector<T> bias_sums(const Sweep& s, const LayerArgs& a) {
  std::vector<T> out(size_t(s.sums()), T(0));
  if (!a.b_ih) return out;
  Tensor first = contiguous_of(*a.b_ih), second = contiguous_of(*a.b_hh);
  const T *b = first.data<T>(), *c = second.data<T>();
  const int64_t h = s.hidden, shared = s.kind.gates == 3 ? 2 * h : s.sums();
  for (int64_t j = 0; j < shared; j++) out[size_t(j)] = b[j] + c[j];
  for (int64_t j = shared; j < s.sums(); j++) out[size_t(j)] = j < 3 * h ? b[j] : c[j - h];
  return out;
}

// Elements of a cache line.
template <class T>
constexpr int64_t kLine = 64 / int64_t(sizeof(T));

template <class T>
struct Forward {
  const Sweep& s;
  const RnnFns<T>& fns = rnn_fns<T>();
  Rows<T> x;
  std::vector<T> bias;
  Factor<T> input;
  std::vector<std::pair<Piece, Factor<T>>> recurrent;
  T *out, *saved, *hy, *cy;  // saved: null, or rows of s.width()

  Forward(const Sweep& sweep, const LayerArgs& a, bool pack)
      : s(sweep),
        x(sweep, a.input),
        bias(bias_sums<T>(sweep, a)),
        input(a.w_ih, 0, a.w_ih.sizes()[0], true, pack) {
    for (const Piece& p : s.pieces())
      recurrent.emplace_back(p, Factor<T>(a.w_hh, p.row, p.count, true, pack));
  }

  // Rows of sums and of the input for some steps, in the order of the sweep.
  struct Chunk {
    int64_t b0, b1, steps;
    Tensor memory;
    T* work = nullptr;
    std::vector<T*> sums;
    std::vector<const T*> input;
    int64_t rows = 0;
  };
  Chunk chunk_of(int64_t b0, int64_t b1) const {
    Chunk c{b0, b1,      std::min(s.steps, std::max<int64_t>(1, kRowsAtOnce / (b1 - b0))),
            {}, nullptr, {},
            {}, 0};
    const int64_t rows = c.steps * (b1 - b0);
    if (!saved) {
      c.memory = flambeau::empty(Dims{rows, s.sums()}, x.hold.dtype());
      c.work = c.memory.template data<T>();
    }
    c.sums.resize(size_t(rows));
    c.input.resize(size_t(rows));
    return c;
  }
  // Those of the steps from `begin` on, the sums with their biases.
  void fill(Chunk& c, int64_t begin) const {
    c.rows = 0;
    for (int64_t i = begin; i < std::min(s.steps, begin + c.steps); i++) {
      const int64_t t = s.step(i), m = std::min(s.active(t), c.b1) - c.b0;
      for (int64_t r = 0; r < m; r++, c.rows++) {
        T* to = saved ? saved + (s.first(t) + c.b0 + r) * s.width() : c.work + c.rows * s.sums();
        std::memcpy(to, bias.data(), size_t(s.sums()) * sizeof(T));
        c.sums[size_t(c.rows)] = to;
        c.input[size_t(c.rows)] = x.at(s, t, c.b0 + r);
      }
    }
  }

  // The rows b0 … b1 of the batch; their states lie in hy and cy.
  void part(int64_t b0, int64_t b1) const {
    Chunk c = chunk_of(b0, b1);
    std::vector<const T*> h;
    for (int64_t b = b0; b < b1; b++) h.push_back(hy + b * s.hidden);
    for (int64_t begin = 0; begin < s.steps; begin += c.steps) {
      fill(c, begin);
      add_input(c.sums.data(), c.input.data(), c.rows, b1 - b0);
      T** sums = c.sums.data();
      for (int64_t i = begin; i < std::min(s.steps, begin + c.steps); i++) {
        const int64_t t = s.step(i), m = std::min(s.active(t), b1) - b0;
        if (m <= 0) continue;
        for (auto& [piece, factor] : recurrent)
          factor.add(sums, piece.at, h.data(), 0, m,
                     [&](int64_t k, int64_t all) { fetch(i + c.steps, b0, b1, k, all); });
        for (int64_t b = b0; b < b0 + m; b++) {
          T* state = hy + b * s.hidden;
          gates(*sums++, state, state, b, s.first(t) + b, 0, s.hidden);
        }
      }
    }
  }

  // The whole batch, its hidden units in parts. A step reads all of the states that the one before
  // has written, so there are two of each row, and they change places when the row takes part.
  void by_units(int64_t parts) const {
    const int64_t n = s.batch, hidden = s.hidden;
    Chunk c = chunk_of(0, n);
    Tensor memory = flambeau::empty(Dims{n, hidden}, x.hold.dtype());
    std::vector<T*> h, next;
    for (int64_t b = 0; b < n; b++) {
      h.push_back(hy + b * hidden);
      next.push_back(memory.data<T>() + b * hidden);
    }
    for (int64_t begin = 0; begin < s.steps; begin += c.steps) {
      fill(c, begin);
      T** sums = c.sums.data();
      for (int64_t i = begin; i < std::min(s.steps, begin + c.steps); i++) {
        const int64_t t = s.step(i), m = s.active(t);
        each_unit_part<T>(s, parts, [&](int64_t u, int64_t end) {
          for (int64_t g = 0; i == begin && g < input.cols; g += hidden)
            input.add_columns(c.sums.data(), 0, c.input.data(), 0, c.rows, g + u, g + end);
          for (auto& [piece, factor] : recurrent)
            for (int64_t g = 0; g < piece.count; g += hidden)
              factor.add_columns(sums, piece.at, h.data(), 0, m, g + u, g + end);
          for (int64_t b = 0; b < m; b++)
            gates(sums[b], h[size_t(b)], next[size_t(b)], b, s.first(t) + b, u, end - u);
        });
        for (int64_t b = 0; b < m; b++) std::swap(h[size_t(b)], next[size_t(b)]);
        sums += m;
      }
    }
    for (int64_t b = 0; b < n; b++)
      if (T* to = hy + b * hidden; h[size_t(b)] != to)
        std::memcpy(to, h[size_t(b)], size_t(hidden) * sizeof(T));
  }

  // Part k of the saved rows that step i will write.
  void fetch(int64_t i, int64_t b0, int64_t b1, int64_t k, int64_t all) const {
    if (!saved || i >= s.steps) return;
    const int64_t t = s.step(i), m = std::min(s.active(t), b1) - b0;
    for (int64_t r = m * k / all; r < m * (k + 1) / all; r++) {
      const T* to = saved + (s.first(t) + b0 + r) * s.width();
      for (int64_t j = 0; j < s.width(); j += kLine<T>) __builtin_prefetch(to + j, 1, 2);
    }
  }

  // All rows of a chunk together, or, where only those of a step lie evenly, step by step.
  void add_input(T* const* c, const T* const* a, int64_t rows, int64_t n) const {
    if (input.packed.defined()) return input.add(c, 0, a, 0, rows);
    for (int64_t i = 0; i < rows;) {
      int64_t m = 1;
      while (m < n && i + m < rows && a[i + m] - a[i + m - 1] == a[i + 1] - a[i] &&
             c[i + m] - c[i + m - 1] == c[i + 1] - c[i] && a[i + 1] - a[i] >= input.depth)
        m++;
      input.add(c + i, 0, a + i, 0, m);
      i += m;
    }
  }

  // Units u … u + n of a row.
  void gates(T* sums, const T* h, T* next, int64_t b, int64_t row, int64_t u, int64_t n) const {
    const int64_t step = s.hidden;
    T *y = out + row * step + u, *kept = saved ? sums + s.sums() + u : nullptr;
    sums += u;
    h += u;
    next += u;
    if (s.kind.states == 2)
      fns.lstm(sums, h, next, cy + b * step + u, y, kept, n, step);
    else if (s.kind.gates == 3)
      fns.gru(sums, h, next, y, kept, n, step);
    else
      fns.plain(sums, h, next, y, kept, n, s.kind.relu);
  }
};

// Output, hy, cy (undefined but for an LSTM), saved.
std::array<Tensor, 4> layer(const Kind& kind, const TensorList& inputs, const Dims& batch_sizes,
                            bool reverse, bool save) {
  check(!inputs.empty(), kind.name, ": a layer without tensors");
  Sweep s = sweep_of(kind, "input", inputs[0], 0, batch_sizes, reverse);
  const LayerArgs a = layer_args(kind, inputs, s);
  const DType t = a.input.dtype();
  const Device device = a.input.device();
  auto make = [&](int64_t columns) {
    return flambeau::empty(s.packed ? Dims{s.rows, columns} : Dims{s.steps, s.batch, columns}, t,
                           device);
  };
  Tensor out = make(s.hidden), hy = flambeau::empty(Dims{s.batch, s.hidden}, t, device);
  Tensor cy = kind.states == 2 ? flambeau::empty(Dims{s.batch, s.hidden}, t, device) : Tensor();
  Tensor saved = save ? make(s.width()) : flambeau::empty(Dims{0}, t, device);
  if (out.is_meta()) return {out, hy, cy, saved};
  copy_kernel(hy, a.hx);
  if (cy.defined()) copy_kernel(cy, a.cx);
  if (out.numel() == 0) return {out, hy, cy, saved};
  visit_real(t, [&](auto tag) {
    using T = decltype(tag);
    Forward<T> forward(s, a, worth_packing<T>(s));
    forward.out = out.data<T>();
    forward.saved = save ? saved.data<T>() : nullptr;
    forward.hy = hy.data<T>();
    forward.cy = cy.defined() ? cy.data<T>() : nullptr;
    if (const int64_t parts = unit_parts<T>(s); parts > 1) {
      LongWork work(true);
      forward.by_units(parts);
      return;
    }
    each_part<T>(s, s.hidden + a.input.sizes().back(),
                 [&](int64_t b0, int64_t b1) { forward.part(b0, b1); });
  });
  return {out, hy, cy, saved};
}

template <class T>
struct Backward {
  const Sweep& s;
  const RnnFns<T>& fns = rnn_fns<T>();
  std::vector<std::pair<Piece, Factor<T>>> recurrent;
  std::optional<Rows<T>> grad;
  const T* saved;
  T *sums, *dh, *dc;  // dh and dc: of the last states, in the end of the first

  Backward(const Sweep& sweep, const Tensor& w_hh, const OptTensor& g, bool pack) : s(sweep) {
    for (const Piece& p : s.pieces())
      recurrent.emplace_back(p, Factor<T>(w_hh, p.row, p.count, false, pack));
    if (g) grad.emplace(s, *g);
  }

  void part(int64_t b0, int64_t b1) const {
    const int64_t n = s.hidden;
    std::vector<T*> states;
    std::vector<const T*> rows(static_cast<size_t>(b1 - b0));
    for (int64_t b = b0; b < b1; b++) states.push_back(dh + b * n);
    for (int64_t i = s.steps - 1; i >= 0; i--) {
      const int64_t t = s.step(i), m = std::min(s.active(t), b1) - b0;
      if (m <= 0) continue;
      for (int64_t r = 0; r < m; r++) {
        const int64_t b = b0 + r, row = s.first(t) + b;
        gates(row, t, b, 0, n);
        rows[size_t(r)] = sums + row * s.sums();
      }
      for (auto& [piece, factor] : recurrent)
        factor.add(states.data(), 0, rows.data(), piece.at, m,
                   [&](int64_t k, int64_t all) { fetch(i - 1, b0, b1, k, all); });
    }
  }

  // Part k of what step i will read and write: no pattern that the processor would see by itself.
  void fetch(int64_t i, int64_t b0, int64_t b1, int64_t k, int64_t all) const {
    if (i < 0) return;
    const int64_t t = s.step(i), m = std::min(s.active(t), b1) - b0;
    for (int64_t r = m * k / all; r < m * (k + 1) / all; r++) {
      const int64_t row = s.first(t) + b0 + r;
      const T* from = saved + row * s.width();
      for (int64_t j = 0; j < s.width() - s.hidden; j += kLine<T>)
        __builtin_prefetch(from + j, 0, 2);
      const T* to = sums + row * s.sums();
      for (int64_t j = 0; j < s.sums(); j += kLine<T>) __builtin_prefetch(to + j, 1, 2);
      if (!grad) continue;
      const T* g = grad->at(s, t, b0 + r);
      for (int64_t j = 0; j < s.hidden; j += kLine<T>) __builtin_prefetch(g + j, 0, 2);
    }
  }

  // The same, the hidden units in parts: products of a step come before the gates of the next.
  void by_units(int64_t parts) const {
    std::vector<T*> states;
    std::vector<const T*> rows(static_cast<size_t>(s.batch));
    for (int64_t b = 0; b < s.batch; b++) states.push_back(dh + b * s.hidden);
    int64_t due = 0;  // rows of the last step, whose products are to come
    for (int64_t i = s.steps - 1; i >= -1; i--) {
      const int64_t t = i < 0 ? 0 : s.step(i), m = i < 0 ? 0 : s.active(t);
      each_unit_part<T>(s, parts, [&](int64_t u, int64_t end) {
        for (auto& [piece, factor] : recurrent)
          if (due) factor.add_columns(states.data(), 0, rows.data(), piece.at, due, u, end);
        for (int64_t b = 0; b < m; b++) gates(s.first(t) + b, t, b, u, end - u);
      });
      for (int64_t b = 0; b < m; b++) rows[size_t(b)] = sums + (s.first(t) + b) * s.sums();
      due = m;
    }
  }

  // Units u … u + n of row b of step t.
  void gates(int64_t row, int64_t t, int64_t b, int64_t u, int64_t n) const {
    const int64_t step = s.hidden;
    const T *from = saved + row * s.width() + u, *g = grad ? grad->at(s, t, b) + u : nullptr;
    T *to = sums + row * s.sums() + u, *h = dh + b * step + u;
    if (s.kind.states == 2)
      fns.lstm_back(to, h, dc + b * step + u, g, from, n, step);
    else if (s.kind.gates == 3)
      fns.gru_back(to, h, g, from, n, step);
    else
      fns.plain_back(to, h, g, from, n, s.kind.relu);
  }
};

// Gradients of the sums, of hx and of cx.
std::array<Tensor, 3> layer_backward(const Kind& kind, const Tensor& saved, const Tensor& w_hh,
                                     const OptTensor& grad_output, const OptTensor& grad_hy,
                                     const OptTensor& grad_cy, const Dims& batch_sizes,
                                     bool reverse) {
  check_rank(kind.name, "w_hh", w_hh, 2, 2);
  Sweep s = sweep_of(kind, "saved", saved, w_hh.sizes()[1], batch_sizes, reverse);
  check_shape(kind.name, "w_hh", w_hh, Dims{kind.gates * s.hidden, s.hidden});
  Dims shape = saved.sizes();
  shape.back() = s.width();
  check_shape(kind.name, "saved", saved, shape);
  shape.back() = s.hidden;
  const Dims state{s.batch, s.hidden};
  if (grad_output) check_shape(kind.name, "grad_output", *grad_output, shape);
  if (grad_hy) check_shape(kind.name, "grad_hy", *grad_hy, state);
  if (grad_cy) check_shape(kind.name, "grad_cy", *grad_cy, state);
  const DType t = saved.dtype();
  check<NotImplementedError>(t == DType::Float32 || t == DType::Float64, "\"", kind.name,
                             "_layer_backward\" not implemented for '", info(t).name, "'");
  for (const OptTensor& g : {OptTensor(w_hh), grad_output, grad_hy, grad_cy})
    check(!g || g->dtype() == t, kind.name, ": expected tensors of one dtype, but got ", t, " and ",
          g ? g->dtype() : t);
  shape.back() = s.sums();
  Tensor sums = flambeau::empty(shape, t, saved.device());
  Tensor dh = flambeau::empty(state, t, saved.device()), dc;
  if (kind.states == 2) dc = flambeau::empty(state, t, saved.device());
  if (sums.is_meta()) return {sums, dh, dc};
  auto start = [](const Tensor& to, const OptTensor& from) {
    if (from)
      copy_kernel(to, *from);
    else
      fill_kernel(to, 0);
  };
  start(dh, grad_hy);
  if (dc.defined()) start(dc, grad_cy);
  if (sums.numel() == 0) return {sums, dh, dc};
  const Tensor rows = contiguous_of(saved);
  visit_real(t, [&](auto tag) {
    using T = decltype(tag);
    Backward<T> backward(s, w_hh, grad_output, worth_packing<T>(s));
    backward.saved = rows.data<T>();
    backward.sums = sums.data<T>();
    backward.dh = dh.data<T>();
    backward.dc = dc.defined() ? dc.data<T>() : nullptr;
    if (const int64_t parts = unit_parts<T>(s); parts > 1) {
      LongWork work(true);
      backward.by_units(parts);
      return;
    }
    each_part<T>(s, s.hidden, [&](int64_t b0, int64_t b1) { backward.part(b0, b1); });
  });
  return {sums, dh, dc};
}

}  // namespace

namespace kernels {

std::tuple<Tensor, Tensor, Tensor, Tensor> _lstm_layer(const TensorList& inputs,
                                                       const Dims& batch_sizes, bool reverse,
                                                       bool save) {
  auto [out, hy, cy, saved] = layer(kLstm, inputs, batch_sizes, reverse, save);
  return {out, hy, cy, saved};
}
std::tuple<Tensor, Tensor, Tensor> _gru_layer(const TensorList& inputs, const Dims& batch_sizes,
                                              bool reverse, bool save) {
  auto [out, hy, cy, saved] = layer(kGru, inputs, batch_sizes, reverse, save);
  return {out, hy, saved};
}
std::tuple<Tensor, Tensor, Tensor> _rnn_layer(const TensorList& inputs, bool relu,
                                              const Dims& batch_sizes, bool reverse, bool save) {
  auto [out, hy, cy, saved] = layer(relu ? kRelu : kTanh, inputs, batch_sizes, reverse, save);
  return {out, hy, saved};
}

std::tuple<Tensor, Tensor, Tensor> _lstm_layer_backward(const Tensor& saved, const Tensor& w_hh,
                                                        const OptTensor& grad_output,
                                                        const OptTensor& grad_hy,
                                                        const OptTensor& grad_cy,
                                                        const Dims& batch_sizes, bool reverse) {
  auto [sums, dh, dc] =
      layer_backward(kLstm, saved, w_hh, grad_output, grad_hy, grad_cy, batch_sizes, reverse);
  return {sums, dh, dc};
}
std::tuple<Tensor, Tensor> _gru_layer_backward(const Tensor& saved, const Tensor& w_hh,
                                               const OptTensor& grad_output,
                                               const OptTensor& grad_hy, const Dims& batch_sizes,
                                               bool reverse) {
  auto [sums, dh, dc] =
      layer_backward(kGru, saved, w_hh, grad_output, grad_hy, {}, batch_sizes, reverse);
  return {sums, dh};
}
std::tuple<Tensor, Tensor> _rnn_layer_backward(const Tensor& saved, const Tensor& w_hh,
                                               const OptTensor& grad_output,
                                               const OptTensor& grad_hy, bool relu,
                                               const Dims& batch_sizes, bool reverse) {
  auto [sums, dh, dc] = layer_backward(relu ? kRelu : kTanh, saved, w_hh, grad_output, grad_hy, {},
                                       batch_sizes, reverse);
  return {sums, dh};
}

}  // namespace kernels
}  // namespace flambeau
