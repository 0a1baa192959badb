// A recurrent layer of one direction as a composition of primitives: for dtypes and projections
// that have no kernel, and where a graph of the backward pass is wanted. Derivatives of the
// kernels.
#include "composite/rnn.h"

#include "autograd/engine.h"
#include "autograd/formulas.h"

namespace flambeau {
namespace {
using namespace ops;

struct State {
  Tensor h, c;
};

// The arguments of a layer by name; see LayerInputs.
struct Weights {
  const Tensor &w_ih, &w_hh;
  OptTensor b_ih, b_hh;
};

Weights weights_of(const LayerInputs& in) {
  const size_t at = in.kind == RnnKind::Lstm ? 3 : 2;
  Weights w{in.tensors[at], in.tensors[at + 1], {}, {}};
  if (in.tensors.size() > at + 2) {
    w.b_ih = in.tensors[at + 2];
    w.b_hh = in.tensors[at + 3];
  }
  return w;
}

State step(const LayerInputs& in, const Weights& w, const Tensor& x, const State& s) {
  Tensor y = linear(s.h, w.w_hh, w.b_hh);
  switch (in.kind) {
    case RnnKind::Lstm: {
      TensorList g = chunk(x + y, 4, -1);
      Tensor c = sigmoid(g[1]) * s.c + sigmoid(g[0]) * tanh(g[2]);
      Tensor h = sigmoid(g[3]) * tanh(c);
      return {in.projection ? linear(h, *in.projection, std::nullopt) : h, c};
    }
    case RnnKind::Gru: {
      TensorList a = chunk(x, 3, -1), b = chunk(y, 3, -1);
      Tensor z = sigmoid(a[1] + b[1]), n = tanh(a[2] + sigmoid(a[0] + b[0]) * b[2]);
      return {n + z * (s.h - n), {}};
    }
    case RnnKind::Tanh:
      return {tanh(x + y), {}};
    case RnnKind::Relu:
      return {relu(x + y), {}};
  }
  return s;
}

State first_rows(const State& s, int64_t n) {
  return {narrow(s.h, 0, 0, n), s.c.defined() ? narrow(s.c, 0, 0, n) : Tensor()};
}

// The state of the rows from `begin` on joined to another's.
State joined(const State& s, const State& more, int64_t begin, int64_t end) {
  auto cat_rows = [&](const Tensor& a, const Tensor& b) {
    return b.defined() ? cat(TensorList{a, narrow(b, 0, begin, end - begin)}, 0) : Tensor();
  };
  return {cat_rows(s.h, more.h), cat_rows(s.c, more.c)};
}

}  // namespace

LayerResults composed_layer(const LayerInputs& in) {
  const Weights w = weights_of(in);
  const Tensor& x = in.tensors[0];
  const bool packed = !in.batch_sizes.empty();
  const Tensor sums = linear(x, w.w_ih, w.b_ih);
  const int64_t steps = packed ? int64_t(in.batch_sizes.size()) : x.sizes()[0];
  const int64_t batch = packed ? in.batch_sizes[0] : x.sizes()[1];
  std::vector<int64_t> starts(1, 0);
  for (int64_t n : in.batch_sizes) starts.push_back(starts.back() + n);
  const State start{in.tensors[1], in.kind == RnnKind::Lstm ? in.tensors[2] : Tensor()};
  // Rows that end before the others leave the state and are kept; in the other direction they
  // enter it.
  State state = start;
  std::vector<State> ended;
  int64_t rows = batch;
  if (packed && in.reverse) state = first_rows(start, rows = in.batch_sizes[size_t(steps) - 1]);
  TensorList outputs(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; i++) {
    const int64_t t = in.reverse ? steps - 1 - i : i;
    const int64_t n = packed ? in.batch_sizes[size_t(t)] : batch;
    if (n < rows) {
      ended.push_back({narrow(state.h, 0, n, rows - n),
                       state.c.defined() ? narrow(state.c, 0, n, rows - n) : Tensor()});
      state = first_rows(state, n);
    } else if (n > rows) {
      state = joined(state, start, rows, n);
    }
    rows = n;
    const Tensor now = packed ? narrow(sums, 0, starts[size_t(t)], n) : select(sums, 0, t);
    state = step(in, w, now, state);
    outputs[size_t(t)] = state.h;
  }
  NodeMark mark;
  LayerResults out{packed ? cat(outputs, 0) : mark.named(stack(outputs, 0), "StackBackward0"),
                   state.h, state.c};
  if (!ended.empty()) {
    TensorList h{state.h}, c{state.c};
    for (auto e = ended.rbegin(); e != ended.rend(); ++e) {
      h.push_back(e->h);
      c.push_back(e->c);
    }
    out.hy = cat(h, 0);
    if (state.c.defined()) out.cy = cat(c, 0);
  }
  return out;
}

namespace formulas {
namespace {

OptTensor given(const Tensor& t) { return t.defined() ? OptTensor(t) : std::nullopt; }

// Gradients of a layer's inputs through its composition. Each input is passed as a view of its own,
// so that one given in two places has a gradient for each.
TensorList composed_grads(RnnKind kind, const TensorList& grads, const TensorList& inputs,
                          const Dims& batch_sizes, bool reverse) {
  TensorList passed, wanted;
  for (auto& t : inputs) {
    passed.push_back(t.requires_grad() ? view_as(t, t) : t);
    if (t.requires_grad()) wanted.push_back(passed.back());
  }
  const LayerResults results = composed_layer({kind, passed, batch_sizes, reverse, std::nullopt});
  TensorList roots;
  Grads root_grads;
  const Tensor* each[] = {&results.output, &results.hy, &results.cy};
  for (size_t i = 0; i < (kind == RnnKind::Lstm ? 3u : 2u); i++) {
    if (i >= grads.size() || !grads[i].defined()) continue;
    roots.push_back(*each[i]);
    root_grads.push_back(grads[i]);
  }
  BackwardOptions options;
  options.retain_graph = options.create_graph = options.allow_unused = true;
  options.accumulate = false;
  Grads found = run_backward(roots, root_grads, wanted, options);
  TensorList out(inputs.size());
  for (size_t i = 0, k = 0; i < inputs.size(); i++)
    if (inputs[i].requires_grad()) out[i] = found[k++];
  return out;
}

// From the gradient of the sums to those of the input, the weights and the biases. The sums that a
// weight made are the columns [0, n) of the input's, and for the recurrent one `split` of them and
// the rest from `rest` on.
struct Sums {
  Tensor grad;      // (rows, columns)
  int64_t columns;  // of the input's weight
  int64_t split, rest;
};

Tensor columns(const Tensor& t, int64_t begin, int64_t end) {
  return narrow(t, 1, begin, end - begin);
}

void weight_grads(TensorList& out, const TensorList& inputs, size_t at, const Sums& s,
                  const Tensor& before) {
  const Tensor& x = inputs[0];
  const int64_t width = s.grad.sizes()[1], rows = s.grad.sizes()[0];
  const Tensor through = columns(s.grad, 0, s.columns);
  if (x.requires_grad()) out[0] = reshape(mm(through, inputs[at]), x.sizes());
  if (inputs[at].requires_grad())
    out[at] = mm(transpose(through, 0, 1), reshape(x, Dims{rows, x.sizes().back()}));
  auto both = [&](auto&& of) {
    Tensor first = of(columns(s.grad, 0, s.split));
    return s.split == s.columns ? first
                                : cat(TensorList{first, of(columns(s.grad, s.rest, width))}, 0);
  };
  if (inputs[at + 1].requires_grad())
    out[at + 1] = both([&](const Tensor& g) { return mm(transpose(g, 0, 1), before); });
  if (inputs.size() <= at + 2) return;
  if (!inputs[at + 2].requires_grad() && !inputs[at + 3].requires_grad()) return;
  const Tensor total = sum_dim(s.grad, Dims{0}, false, std::nullopt);
  out[at + 2] = narrow(total, 0, 0, s.columns);
  out[at + 3] =
      s.split == s.columns
          ? out[at + 2]
          : cat(TensorList{narrow(total, 0, 0, s.split), narrow(total, 0, s.rest, width - s.rest)},
                0);
}

// The rows of `t` as a matrix, and the last `hidden` columns of `saved`: the states before each
// step.
Tensor flat(const Tensor& t) {
  return t.dim() == 2 ? t : reshape(t, Dims{t.sizes()[0] * t.sizes()[1], t.sizes()[2]});
}
Tensor states_before(const Tensor& saved, int64_t hidden) {
  Tensor rows = flat(saved);
  return columns(rows, rows.sizes()[1] - hidden, rows.sizes()[1]);
}

}  // namespace

const char* lstm_layer_node(const TensorList& inputs, const Dims& batch_sizes) {
  if (!batch_sizes.empty()) return "CatBackward0";
  return inputs[0].dtype() == DType::Float32 ? "MkldnnRnnLayerBackward0" : "StackBackward0";
}
const char* rnn_layer_node(const TensorList&, const Dims& batch_sizes) {
  return batch_sizes.empty() ? "StackBackward0" : "CatBackward0";
}

TensorList lstm_layer_grads(const TensorList& grads, const TensorList& inputs, const Tensor& saved,
                            const Dims& batch_sizes, bool reverse) {
  if (grad_enabled()) return composed_grads(RnnKind::Lstm, grads, inputs, batch_sizes, reverse);
  auto [sums, dh, dc] = _lstm_layer_backward(saved, inputs[4], given(grads[0]), given(grads[1]),
                                             given(grads[2]), batch_sizes, reverse);
  const int64_t hidden = inputs[4].sizes()[1];
  TensorList out(inputs.size());
  out[1] = dh;
  out[2] = dc;
  weight_grads(out, inputs, 3, {flat(sums), 4 * hidden, 4 * hidden, 0},
               states_before(saved, hidden));
  return out;
}

TensorList gru_layer_grads(const TensorList& grads, const TensorList& inputs, const Tensor& saved,
                           const Dims& batch_sizes, bool reverse) {
  if (grad_enabled()) return composed_grads(RnnKind::Gru, grads, inputs, batch_sizes, reverse);
  auto [sums, dh] =
      _gru_layer_backward(saved, inputs[3], given(grads[0]), given(grads[1]), batch_sizes, reverse);
  const int64_t hidden = inputs[3].sizes()[1];
  TensorList out(inputs.size());
  out[1] = dh;
  weight_grads(out, inputs, 2, {flat(sums), 3 * hidden, 2 * hidden, 3 * hidden},
               states_before(saved, hidden));
  return out;
}

TensorList rnn_layer_grads(const TensorList& grads, const TensorList& inputs, const Tensor& saved,
                           bool relu, const Dims& batch_sizes, bool reverse) {
  if (grad_enabled())
    return composed_grads(relu ? RnnKind::Relu : RnnKind::Tanh, grads, inputs, batch_sizes,
                          reverse);
  auto [sums, dh] = _rnn_layer_backward(saved, inputs[3], given(grads[0]), given(grads[1]), relu,
                                        batch_sizes, reverse);
  const int64_t hidden = inputs[3].sizes()[1];
  TensorList out(inputs.size());
  out[1] = dh;
  weight_grads(out, inputs, 2, {flat(sums), hidden, hidden, 0}, states_before(saved, hidden));
  return out;
}

}  // namespace formulas
}  // namespace flambeau
