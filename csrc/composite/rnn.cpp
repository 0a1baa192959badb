// Recurrent networks of several layers and directions, cells, and packed sequences.
#include "composite/rnn.h"

#include "autograd/node.h"
#include "core/transform.h"
#include "dispatch/promotion.h"

namespace flambeau::ops {
namespace {

const char* name_of(RnnKind kind) {
  static const char* const names[] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
  return names[int(kind)];
}
int64_t gates_of(RnnKind kind) { return kind == RnnKind::Lstm ? 4 : kind == RnnKind::Gru ? 3 : 1; }

bool has_kernel(DType t) { return t == DType::Float32 || t == DType::Float64; }

// A layer of one direction, by the kernel where there is one.
LayerResults run_layer(const LayerInputs& in) {
  // under autocast the products are in the lower dtype, the states in that of the first one
  const bool composed = in.projection || thread_state.autocast ||
                        !has_kernel(in.tensors[0].dtype()) ||
                        std::any_of(in.tensors.begin(), in.tensors.end(), is_transform);
  if (composed) return composed_layer(in);
  const bool save = any_wants_grad(in.tensors);
  if (in.kind == RnnKind::Lstm) {
    auto [out, hy, cy, saved] = _lstm_layer(in.tensors, in.batch_sizes, in.reverse, save);
    return {out, hy, cy};
  }
  if (in.kind == RnnKind::Gru) {
    auto [out, hy, saved] = _gru_layer(in.tensors, in.batch_sizes, in.reverse, save);
    return {out, hy, {}};
  }
  auto [out, hy, saved] =
      _rnn_layer(in.tensors, in.kind == RnnKind::Relu, in.batch_sizes, in.reverse, save);
  return {out, hy, {}};
}

// What a network gets beside its input.
struct Network {
  RnnKind kind;
  TensorList hx;  // and cx
  const TensorList& params;
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train, bidirectional;
};

void check_network(const Network& n, const Tensor& input, bool packed, int64_t per_layer) {
  const char* name = name_of(n.kind);
  check<IndexError>(input.dim() == (packed ? 2 : 3), name, ": expected input with ", packed ? 2 : 3,
                    " dimensions, but got shape ", input.sizes());
  const int64_t needed = n.layers * (n.bidirectional ? 2 : 1);
  check(n.layers > 0 && int64_t(n.params.size()) % per_layer == 0 &&
            int64_t(n.params.size()) / per_layer >= needed,
        name, ": got an incorrect number of RNN parameters: ", n.params.size(), " for ", n.layers,
        " layers", n.bidirectional ? " of two directions" : "", " with ", per_layer, " each");
  check<NotImplementedError>(input.is_floating() || input.is_complex(), "\"", name,
                             "\" not implemented for '", info(input.dtype()).name, "'");
  for (auto& p : n.params)
    check(p.dtype() == input.dtype(), "mat1 and mat2 must have the same dtype, but got ",
          input.dtype(), " and ", p.dtype(), " (", name, ")");
  for (auto& h : n.hx) {
    check(h.dim() == 3 && h.sizes()[0] >= needed, name, ": expected hidden states of shape (",
          needed, ", batch, hidden), but got ", h.sizes());
    check(h.dtype() == input.dtype(), name, ": expected hidden states of dtype ", input.dtype(),
          ", but got ", h.dtype());
  }
}

// Output and the last states of all layers and directions. `input`: (steps, batch, features), or
// rows of a packed sequence.
LayerResults run_network(const Network& n, Tensor input, const Dims& batch_sizes) {
  const bool lstm = n.kind == RnnKind::Lstm;
  const bool projected =
      lstm && n.hx[0].dim() == 3 && n.hx[1].dim() == 3 && n.hx[0].sizes()[2] != n.hx[1].sizes()[2];
  const int64_t per_layer = (n.has_biases ? 4 : 2) + (projected ? 1 : 0);
  check_network(n, input, !batch_sizes.empty(), per_layer);
  const int64_t directions = n.bidirectional ? 2 : 1;
  TensorList last_h, last_c;
  for (int64_t layer = 0; layer < n.layers; layer++) {
    TensorList outputs;
    for (int64_t d = 0; d < directions; d++) {
      const int64_t at = layer * directions + d;
      LayerInputs in{n.kind, {input}, batch_sizes, d == 1, std::nullopt};
      for (auto& states : n.hx) in.tensors.push_back(select(states, 0, at));
      const auto first = n.params.begin() + at * per_layer;
      in.tensors.insert(in.tensors.end(), first, first + (n.has_biases ? 4 : 2));
      if (projected) in.projection = first[per_layer - 1];
      LayerResults r = run_layer(in);
      outputs.push_back(r.output);
      last_h.push_back(r.hy);
      if (lstm) last_c.push_back(r.cy);
    }
    input = directions == 2 ? cat(outputs, -1) : outputs[0];
    if (n.dropout != 0 && n.train && layer + 1 < n.layers) input = dropout(input, n.dropout, true);
  }
  NodeMark mark;
  auto stacked = [&](const TensorList& list) {
    return mark.named(stack(list, 0), "StackBackward0");
  };
  return {input, stacked(last_h), lstm ? stacked(last_c) : Tensor()};
}

// float16 and bfloat16 compute in float32.
LayerResults run_in_compute_dtype(Network n, const Tensor& input, const Dims& batch_sizes) {
  const DType t = input.dtype(), compute = info(t).compute;
  if (t == compute || !input.is_floating()) return run_network(n, input, batch_sizes);
  auto widened = [&](const TensorList& list) {
    TensorList out;
    for (auto& each : list) out.push_back(each.dtype() == t ? _to_dtype(each, compute) : each);
    return out;
  };
  const TensorList params = widened(n.params);
  const Network wide{n.kind,   widened(n.hx), params,  n.has_biases,
                     n.layers, n.dropout,     n.train, n.bidirectional};
  LayerResults r = run_network(wide, _to_dtype(input, compute), batch_sizes);
  r.output = _to_dtype(r.output, t);
  r.hy = _to_dtype(r.hy, t);
  if (r.cy.defined()) r.cy = _to_dtype(r.cy, t);
  return r;
}

LayerResults over_padded(const Network& n, const Tensor& input, bool batch_first) {
  if (!batch_first || input.dim() != 3) return run_in_compute_dtype(n, input, {});
  LayerResults r = run_in_compute_dtype(n, transpose(input, 0, 1), {});
  r.output = transpose(r.output, 0, 1);
  return r;
}

Dims numbers_of(const char* op, const char* name, const Tensor& t) {
  check(t.dim() == 1 && t.dtype() == DType::Int64 && has_values(t), op, ": '", name,
        "' argument should be a 1D CPU int64 tensor, but got ", t.dim(), "D ", t.device(), " ",
        t.dtype(), " tensor");
  Dims out;
  const Tensor v = readable(t, op);
  for (int64_t i = 0; i < v.numel(); i++) out.push_back(v.data<int64_t>()[i * v.strides()[0]]);
  return out;
}

LayerResults over_packed(const Network& n, const Tensor& data, const Tensor& batch_sizes) {
  const Dims sizes = numbers_of(name_of(n.kind), "batch_sizes", batch_sizes);
  check(!sizes.empty(), "Expected sequence length to be larger than 0 in RNN (", name_of(n.kind),
        ")");
  for (auto& h : n.hx)
    check(h.dim() != 3 || h.sizes()[1] == sizes[0], name_of(n.kind),
          ": expected hidden states for a batch of ", sizes[0], ", but got ", h.sizes());
  return run_in_compute_dtype(n, data, sizes);
}

void check_two_states(const char* name, const TensorList& hx) {
  check(hx.size() == 2, name, " expects two hidden states, got ", hx.size());
}

// ---- cells --------------------------------------------------------------------------------------

// One step; h and c show their nodes as PyTorch's cells do.
LayerResults run_cell(RnnKind kind, const Tensor& input, const TensorList& hx, const Tensor& w_ih,
                      const Tensor& w_hh, const OptTensor& b_ih, const OptTensor& b_hh,
                      const char* node) {
  const char* name = name_of(kind);
  check<IndexError>(input.dim() == 2, name, "_cell: expected input of 2 dimensions, but got shape ",
                    input.sizes());
  check(w_ih.dim() == 2 && w_hh.dim() == 2, name, "_cell: expected matrices of weights, but got ",
        w_ih.sizes(), " and ", w_hh.sizes());
  check(input.sizes()[1] == w_ih.sizes()[1], name, "_cell: input has inconsistent input_size: got ",
        input.sizes()[1], " expected ", w_ih.sizes()[1]);
  const int64_t hidden = w_hh.sizes()[1], gates = gates_of(kind);
  for (size_t i = 0; i < hx.size(); i++) {
    const Tensor& h = hx[i];
    check<IndexError>(h.dim() == 2, name, "_cell: expected hidden", i,
                      " of 2 dimensions, but got shape ", h.sizes());
    check(input.sizes()[0] == h.sizes()[0], name, "_cell: Input batch size ", input.sizes()[0],
          " doesn't match hidden", i, " batch size ", h.sizes()[0]);
    check(h.sizes()[1] == hidden, name, "_cell: hidden", i, " has inconsistent hidden_size: got ",
          h.sizes()[1], ", expected ", hidden);
  }
  for (auto* w : {&w_ih, &w_hh})
    check(w->sizes()[0] == gates * hidden, name, "_cell: ", w == &w_ih ? "weight_ih" : "weight_hh",
          " first dim must be ", gates, " * hidden_size = ", gates * hidden, ", but got ",
          w->sizes()[0]);
  for (auto* t : {&hx[0], &w_ih, &w_hh})
    check(t->dtype() == input.dtype(), "mat1 and mat2 must have the same dtype, but got ",
          input.dtype(), " and ", t->dtype(), " (", name, "_cell)");
  const DType t = input.dtype();
  check<NotImplementedError>(input.is_floating() || input.is_complex(), "\"", name,
                             "_cell\" not implemented for '", info(t).name, "'");
  const DType compute = input.is_floating() ? info(t).compute : t;
  auto wide = [&](const Tensor& x) { return x.dtype() == compute ? x : _to_dtype(x, compute); };
  LayerInputs in{kind, {wide(unsqueeze(input, 0))}, {}, false, std::nullopt};
  for (auto& h : hx) in.tensors.push_back(wide(h));
  in.tensors.push_back(wide(w_ih));
  in.tensors.push_back(wide(w_hh));
  if (b_ih || b_hh)
    for (auto* b : {&b_ih, &b_hh})
      in.tensors.push_back(
          *b ? wide(**b)
             : new_zeros(in.tensors[0], Dims{gates * hidden}, std::nullopt, std::nullopt));
  NodeMark mark;
  LayerResults r = run_layer(in);
  auto narrowed = [&](const Tensor& x) { return t == compute ? x : _to_dtype(x, t); };
  LayerResults out{{}, narrowed(select(r.output, 0, 0)), {}};
  mark.named(out.hy, node);
  if (r.cy.defined()) {
    out.cy = narrowed(r.cy);
    mark.named(out.cy, "AddBackward0");
  }
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, const TensorList& hx,
                                              const TensorList& params, bool has_biases,
                                              int64_t num_layers, double dropout, bool train,
                                              bool bidirectional, bool batch_first) {
  check_two_states("lstm", hx);
  auto [out, hy, cy] = over_padded(
      {RnnKind::Lstm, hx, params, has_biases, num_layers, dropout, train, bidirectional}, input,
      batch_first);
  return {out, hy, cy};
}
std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes,
                                             const TensorList& hx, const TensorList& params,
                                             bool has_biases, int64_t num_layers, double dropout,
                                             bool train, bool bidirectional) {
  check_two_states("lstm", hx);
  auto [out, hy, cy] = over_packed(
      {RnnKind::Lstm, hx, params, has_biases, num_layers, dropout, train, bidirectional}, data,
      batch_sizes);
  return {out, hy, cy};
}

#define FLAMBEAU_NETWORK(name, kind)                                                             \
  std::tuple<Tensor, Tensor> name##_input(                                                       \
      const Tensor& input, const Tensor& hx, const TensorList& params, bool has_biases,          \
      int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {    \
    auto r =                                                                                     \
        over_padded({kind, {hx}, params, has_biases, num_layers, dropout, train, bidirectional}, \
                    input, batch_first);                                                         \
    return {r.output, r.hy};                                                                     \
  }                                                                                              \
  std::tuple<Tensor, Tensor> name##_data(                                                        \
      const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, const TensorList& params, \
      bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional) {     \
    auto r =                                                                                     \
        over_packed({kind, {hx}, params, has_biases, num_layers, dropout, train, bidirectional}, \
                    data, batch_sizes);                                                          \
    return {r.output, r.hy};                                                                     \
  }                                                                                              \
  Tensor name##_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih,                  \
                     const Tensor& w_hh, const OptTensor& b_ih, const OptTensor& b_hh) {         \
    return run_cell(kind, input, {hx}, w_ih, w_hh, b_ih, b_hh, cell_node(kind)).hy;              \
  }

namespace {
const char* cell_node(RnnKind kind) {
  return kind == RnnKind::Gru    ? "AddBackward0"
         : kind == RnnKind::Tanh ? "TanhBackward0"
                                 : "ReluBackward0";
}
}  // namespace

FLAMBEAU_NETWORK(gru, RnnKind::Gru)
FLAMBEAU_NETWORK(rnn_tanh, RnnKind::Tanh)
FLAMBEAU_NETWORK(rnn_relu, RnnKind::Relu)
#undef FLAMBEAU_NETWORK

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const TensorList& hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const OptTensor& b_ih,
                                     const OptTensor& b_hh) {
  check_two_states("lstm_cell", hx);
  auto r = run_cell(RnnKind::Lstm, input, hx, w_ih, w_hh, b_ih, b_hh, "MulBackward0");
  return {r.hy, r.cy};
}

// ---- packed sequences ---------------------------------------------------------------------------

namespace {

Tensor numbers(const std::vector<int64_t>& v, Device device = {}) {
  Tensor t = flambeau::empty(Dims{int64_t(v.size())}, DType::Int64, device);
  if (!t.is_meta()) std::copy(v.begin(), v.end(), t.data<int64_t>());
  return t;
}

// The dimensions after `lead`, with `rows` before them.
Dims with_rows(IntSpan rows, const Tensor& t, size_t lead) {
  Dims out(rows);
  for (size_t d = lead; d < t.sizes().size(); d++) out.push_back(t.sizes()[d]);
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                                 bool batch_first) {
  const Dims lens = numbers_of("pack_padded_sequence", "lengths", lengths);
  check<IndexError>(input.dim() >= 2,
                    "pack_padded_sequence: Dimension out of range: expected input"
                    " with a time and a batch dimension, but got shape ",
                    input.sizes());
  const int64_t steps = input.sizes()[batch_first ? 1 : 0],
                batch = input.sizes()[batch_first ? 0 : 1];
  check(input.numel() > 0, "Cannot pack empty tensors: input has shape ", input.sizes());
  check(int64_t(lens.size()) == batch,
        "Expected `len(lengths)` to be equal to batch_size, but got ", lens.size(),
        " (batch_size=", batch, ")");
  check(lens.back() > 0,
        "Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
        "<= 0 (",
        lens.back(), ")");
  for (size_t i = 0; i + 1 < lens.size(); i++)
    check(
        lens[i] >= lens[i + 1],
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
        "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep "
        "this requirement if you do not need ONNX exportability. Got ",
        lens);
  check(lens[0] <= steps, "pack_padded_sequence: a length of ", lens[0], " exceeds the ", steps,
        " steps of an input of shape ", input.sizes());
  std::vector<int64_t> rows, sizes;
  for (int64_t t = 0, n = batch; t < lens[0]; t++) {
    while (lens[size_t(n) - 1] <= t) n--;
    sizes.push_back(n);
    for (int64_t b = 0; b < n; b++) rows.push_back(batch_first ? b * steps + t : t * batch + b);
  }
  const Tensor index = numbers(rows, input.device());
  const Tensor flat = reshape(input, with_rows(Dims{steps * batch}, input, 2));
  NodeMark mark;
  return {mark.named(index_select(flat, 0, index), "PackPaddedSequenceBackward0"), numbers(sizes)};
}

std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes,
                                                bool batch_first, const Scalar& padding_value,
                                                int64_t total_length) {
  const Dims sizes = numbers_of("pad_packed_sequence", "batch_sizes", batch_sizes);
  check(!sizes.empty() && data.dim() >= 1,
        "pad_packed_sequence: expected rows of data and"
        " batch_sizes, but got shapes ",
        data.sizes(), " and ", batch_sizes.sizes());
  const int64_t longest = int64_t(sizes.size()), batch = sizes[0];
  check(total_length <= 0 || total_length >= longest,
        "Expected total_length to be at least the length of the longest sequence in input, but got "
        "total_length=",
        total_length, " and max sequence length being ", longest);
  const int64_t steps = std::max(total_length, longest);
  std::vector<int64_t> rows, lengths(static_cast<size_t>(std::max<int64_t>(batch, 0)), 0);
  int64_t last = batch;
  for (int64_t t = 0; t < longest; t++) {
    const int64_t n = sizes[size_t(t)];
    check(n > 0 && n <= last,
          "pad_packed_sequence: expected batch_sizes to be positive and not to"
          " rise, but got ",
          sizes);
    last = n;
    for (int64_t b = 0; b < n; b++) {
      rows.push_back(t * batch + b);
      lengths[size_t(b)]++;
    }
  }
  check(int64_t(rows.size()) == data.sizes()[0], "pad_packed_sequence: batch_sizes ", sizes,
        " do not add up to the ", data.sizes()[0], " rows of data");
  const Tensor index = numbers(rows, data.device());
  NodeMark mark;
  Tensor out =
      full(with_rows(Dims{steps * batch}, data, 1), padding_value, data.dtype(), data.device());
  out = reshape(index_copy(out, 0, index, data), with_rows(Dims{steps, batch}, data, 1));
  mark.named(out, "CopySlices");
  return {batch_first ? transpose(out, 0, 1) : out, numbers(lengths)};
}

}  // namespace flambeau::ops
