// Attention of many heads over the blocked loops of attention.simd.cpp.
#include <vector>

#include "kernels/attention_table.h"
#include "kernels/checks.h"
#include "kernels/pointwise.h"
#include "kernels/targets.h"
#include "ops/all.h"
#include "runtime/allocator.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(ns)                    \
  namespace ns {                                \
  extern const AttentionFns attention_table[2]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

namespace kernels {
namespace {

const AttentionFns& attention_fns(DType compute) {
  static const AttentionFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(attention_table, 0),
                                                FLAMBEAU_TABLE_AVX2(attention_table, 0),
                                                FLAMBEAU_TABLE_AVX512(attention_table, 0)};
  return tables[chosen_target()][compute == DType::Float64];
}

constexpr int64_t kForwardRows = 126, kBackwardRows = 120, kBackwardKeys = 128;
constexpr double kSerialFlops = 4e5;

struct Scratch {
  explicit Scratch(int64_t n) : bytes(size_t(n)), data(allocate(size_t(n))) {}
  ~Scratch() { deallocate(data, bytes); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  size_t bytes;
  void* data;
};

// Where each head's matrix begins, in elements; `group` heads of queries share one of `strides`.
std::vector<int64_t> offsets(IntSpan lead, IntSpan strides, int64_t group) {
  std::vector<int64_t> out(size_t(product(lead)), 0);
  for (size_t i = 0; i < out.size(); i++) {
    int64_t rest = int64_t(i);
    for (size_t d = lead.size(); d-- > 0; rest /= lead[d]) {
      const int64_t at = rest % lead[d];
      out[i] += (d + 1 == lead.size() ? at / group : at) * strides[d];
    }
  }
  return out;
}

struct Heads {
  Tensor tensor;
  std::vector<int64_t> at;
  int64_t row = 0, col = 0;

  Heads() = default;
  Heads(const Tensor& t, IntSpan lead, int64_t group)
      : tensor(t), at(offsets(lead, t.strides(), group)), row(t.stride(-2)), col(t.stride(-1)) {}
  TileMatrix operator[](size_t i) const {
    return {tensor.bytes() + at[i] * tensor.itemsize(), row, col};
  }
};

IntSpan lead_of(const Tensor& t) { return IntSpan(t.sizes()).first(size_t(t.dim()) - 2); }

struct Problem {
  DType compute = DType::Float32;
  Dims lead;          // of the queries
  int64_t count = 0;  // heads of queries
  int64_t group = 1;  // of them share one head of keys
  AttentionShape shape{};

  Problem(const char* op, const Tensor& q, const Tensor& k, const Tensor& v, const OptTensor& mask,
          bool causal, double scale) {
    check_rank(op, "query", q, 2, 64);
    check_rank(op, "key", k, q.dim(), q.dim());
    check_rank(op, "value", v, q.dim(), q.dim());
    check_real_floating(op, "query", q);
    check(k.dtype() == q.dtype() && v.dtype() == q.dtype(), op,
          ": expected query, key and value of one dtype, but got ", q.dtype(), ", ", k.dtype(),
          " and ", v.dtype());
    compute = info(q.dtype()).compute;
    lead = Dims(lead_of(q));
    bool fits = k.size(-1) == q.size(-1) && v.size(-2) == k.size(-2) &&
                flambeau::equal(lead_of(k), lead_of(v));
    for (size_t d = 0; fits && d < lead.size(); d++) {
      const int64_t mine = lead[d], theirs = k.sizes()[d];
      if (d + 1 == lead.size() && theirs > 0 && mine % theirs == 0 && mine > 0)
        group = mine / theirs;
      else
        fits = mine == theirs;
    }
    check(fits, op,
          ": expected query (..., H, L, E), key (..., G, S, E) and value (..., G, S, V)"
          " where G divides H, but got shapes ",
          q.sizes(), ", ", k.sizes(), " and ", v.sizes());
    count = product(lead);
    shape = {q.size(-2), k.size(-2),       q.size(-1), v.size(-1),
             causal,     mask.has_value(), false,      scale};
    if (!mask) return;
    shape.mask_is_bool = mask->dtype() == DType::Bool;
    check(shape.mask_is_bool || mask->is_floating(), op,
          ": expected attn_mask of bool or a floating dtype, but got ", mask->dtype());
    bool broadcasts = mask->dim() <= q.dim();
    for (int64_t d = 1; broadcasts && d <= mask->dim(); d++) {
      const int64_t want = d == 1 ? shape.keys : q.size(-d), got = mask->size(-d);
      broadcasts = got == want || got == 1;
    }
    check(broadcasts, op, ": attn_mask of shape ", mask->sizes(),
          " does not broadcast to the scores of query ", q.sizes(), " and key ", k.sizes());
  }

  // The mask as seen by each head: stride 0 where it broadcasts.
  Heads mask_heads(const Tensor& mask) const {
    const Tensor m = shape.mask_is_bool ? mask : cast_of(mask, compute);
    const int64_t rank = int64_t(lead.size()) + 2;
    Dims sizes = lead, strides;
    sizes.push_back(shape.queries);
    sizes.push_back(shape.keys);
    for (int64_t d = 0; d < rank; d++) {
      const int64_t own = d - (rank - m.dim());
      strides.push_back(own < 0 || m.sizes()[size_t(own)] == 1 ? 0 : m.strides()[size_t(own)]);
    }
    return Heads(alias(m, sizes, strides, m.offset()), lead, 1);
  }

  double flops(int products) const {
    const double all = 2.0 * double(shape.queries) * double(shape.keys) *
                       double(std::max(shape.width + shape.value_width, int64_t(1)));
    return all * products / 2 / (shape.causal ? 2 : 1);
  }
};

// The layout of `like`, which PyTorch's kernel for four dimensions keeps.
Tensor result_like(const Tensor& like, const Dims& sizes, DType dtype) {
  if (like.dim() != 4 || like.size(-1) != sizes.back()) return empty(sizes, dtype, like.device());
  return flambeau::empty_strided(sizes, dense_strides_like(sizes, like.strides()), dtype,
                                 like.device());
}

// Pieces of `n` for one task: `most`, or less where there would be few.
int64_t piece(int64_t n, int64_t heads, int64_t most, int64_t step) {
  if (n <= most + most / 2 && heads >= 8) return std::max<int64_t>(n, 1);
  while (most > 4 * step && heads * ((n + most - 1) / most) < 8) most = most / 2 / step * step;
  return most;
}

Tensor converted(const Tensor& t, const Tensor& like, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor out = result_like(like, t.sizes(), dtype);
  copy_kernel(out, t);
  return out;
}

// f(task, scratch) for all tasks.
template <class F>
void run_tasks(int64_t tasks, double flops, int64_t scratch, F&& f) {
  LongWork guard(flops > 1e7);
  const double each = std::max(flops / double(std::max<int64_t>(tasks, 1)), 1.0);
  const auto grain = int64_t(std::min(kSerialFlops / each, 1e9));
  parallel_for(tasks, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
    const Scratch memory(scratch);
    for (int64_t i = begin; i < end; i++) f(i, memory.data);
  });
}

}  // namespace

std::tuple<Tensor, Tensor> _attention(const TensorList& qkv, const OptTensor& attn_mask,
                                      bool is_causal, double scale) {
  check(qkv.size() == 3, "_attention: expected query, key and value, but got ", qkv.size(),
        " tensors");
  const Problem p("_attention", qkv[0], qkv[1], qkv[2], attn_mask, is_causal, scale);
  const AttentionShape& s = p.shape;
  Dims sizes = p.lead, rows = p.lead;
  rows.push_back(s.queries);
  sizes.push_back(s.queries);
  sizes.push_back(s.value_width);
  Tensor out = result_like(qkv[0], sizes, p.compute), lse = empty(rows, p.compute, qkv[0].device());
  if (out.is_meta()) return {result_like(qkv[0], sizes, qkv[0].dtype()), lse};
  const Heads q(cast_of(qkv[0], p.compute), p.lead, 1),
      k(cast_of(qkv[1], p.compute), p.lead, p.group),
      v(cast_of(qkv[2], p.compute), p.lead, p.group), o(out, p.lead, 1),
      mask = s.masked ? p.mask_heads(*attn_mask) : Heads();
  const AttentionFns& fns = attention_fns(p.compute);
  const int64_t step = piece(s.queries, p.count, kForwardRows, 6),
                pieces = s.queries ? (s.queries + step - 1) / step : 0;
  auto task_of = [&](int64_t i) {
    const auto h = size_t(i / pieces);
    const int64_t begin = i % pieces * step;
    AttentionHead head{q[h],
                       o[h],
                       s.masked ? mask[h] : TileMatrix{},
                       lse.bytes() + int64_t(h) * s.queries * lse.itemsize(),
                       {},
                       {}};
    return AttentionForward{s, head, k[h], v[h], begin, std::min(begin + step, s.queries)};
  };
  const int64_t tasks = p.count * pieces;
  if (tasks)
    run_tasks(tasks, p.flops(2), fns.forward_scratch(task_of(0)),
              [&](int64_t i, void* scratch) { fns.forward(task_of(i), scratch); });
  return {converted(out, qkv[0], qkv[0].dtype()), lse};
}

std::tuple<Tensor, Tensor, Tensor> _attention_backward(const Tensor& grad_output,
                                                       const Tensor& query, const Tensor& key,
                                                       const Tensor& value, const Tensor& output,
                                                       const Tensor& logsumexp,
                                                       const OptTensor& attn_mask, bool is_causal,
                                                       double scale) {
  const char* op = "_attention_backward";
  const Problem p(op, query, key, value, attn_mask, is_causal, scale);
  const AttentionShape& s = p.shape;
  Dims sizes = p.lead, rows = p.lead;
  rows.push_back(s.queries);
  sizes.push_back(s.queries);
  sizes.push_back(s.value_width);
  check_shape(op, "grad_output", grad_output, sizes);
  check_shape(op, "output", output, sizes);
  check_shape(op, "logsumexp", logsumexp, rows);
  const DType dtype = query.dtype();
  if (query.is_meta())
    return {result_like(query, query.sizes(), dtype), result_like(key, key.sizes(), dtype),
            result_like(value, value.sizes(), dtype)};
  Tensor dq = result_like(query, query.sizes(), p.compute),
         dk = result_like(key, key.sizes(), p.compute),
         dv = result_like(value, value.sizes(), p.compute);
  const Tensor l = cast_of(contiguous_of(logsumexp), p.compute);
  const Heads q(cast_of(query, p.compute), p.lead, 1), k(cast_of(key, p.compute), p.lead, p.group),
      v(cast_of(value, p.compute), p.lead, p.group), o(cast_of(output, p.compute), p.lead, 1),
      g(cast_of(grad_output, p.compute), p.lead, 1), to_q(dq, p.lead, 1), to_k(dk, p.lead, p.group),
      to_v(dv, p.lead, p.group), mask = s.masked ? p.mask_heads(*attn_mask) : Heads();
  std::vector<AttentionHead> heads(static_cast<size_t>(p.count));
  for (size_t h = 0; h < heads.size(); h++)
    heads[h] = {q[h],
                o[h],
                s.masked ? mask[h] : TileMatrix{},
                l.bytes() + int64_t(h) * s.queries * l.itemsize(),
                g[h],
                to_q[h]};
  const AttentionFns& fns = attention_fns(p.compute);
  auto run = [&](int64_t tasks, int products, auto&& task_of) {
    if (tasks)
      run_tasks(tasks, p.flops(products), fns.backward_scratch(task_of(0)),
                [&](int64_t i, void* scratch) { fns.backward(task_of(i), scratch); });
  };
  const int64_t shared = p.count / p.group;
  auto whole = [&](int64_t first, int64_t count) {
    const auto h = size_t(first);
    return AttentionBackward{s,         heads.data() + first,
                             count,     k[h],
                             v[h],      to_k[h],
                             to_v[h],   0,
                             s.queries, 0,
                             s.keys,    true,
                             true};
  };
  // One pass makes all gradients of a head of keys. It holds those of the queries meanwhile, and
  // needs enough heads for the threads; else two passes that each compute the weights.
  if (shared >= 8 && double(p.group) * double(s.queries) * double(s.width + 32) < 3e5) {
    run(shared, 5, [&](int64_t i) { return whole(i * p.group, p.group); });
  } else {
    const int64_t step = piece(s.queries, p.count, kBackwardRows, 24),
                  pieces = s.queries ? (s.queries + step - 1) / step : 0;
    run(p.count * pieces, 3, [&](int64_t i) {
      AttentionBackward t = whole(i / pieces, 1);
      t.q_begin = i % pieces * step;
      t.q_end = std::min(t.q_begin + step, s.queries);
      t.wants_kv = false;
      return t;
    });
    const int64_t key_step = kBackwardKeys, key_pieces = (s.keys + key_step - 1) / key_step;
    run(shared * key_pieces, 4, [&](int64_t i) {
      AttentionBackward t = whole(i / key_pieces * p.group, p.group);
      t.k_begin = i % key_pieces * key_step;
      t.k_end = std::min(t.k_begin + key_step, s.keys);
      t.wants_q = false;
      return t;
    });
  }
  return {converted(dq, query, dtype), converted(dk, key, dtype), converted(dv, value, dtype)};
}

}  // namespace kernels
}  // namespace flambeau
