"""Recurrent networks: sequences as fused kernels of one layer and direction, their cells, and packing."""

from __future__ import annotations

from .samples import T
from .table import composite, native, op

PAIR, TRIPLE = "(Tensor, Tensor)", "(Tensor, Tensor, Tensor)"
INTERNAL = {"forms": "", "tags": "internal"}

# ---- one layer, one direction --------------------------------------------------------------------
# `inputs`: input, hx, w_ih, w_hh and perhaps b_ih and b_hh; the LSTM's cx follows hx. The input is
# (time, batch, features), or with `batch_sizes` the rows of a packed sequence. Results: output, the
# last states, and what the backward sweep reads, which is empty unless `save`.

LAYER = "Tensor[] inputs, int[] batch_sizes, bool reverse, bool save"
SWEEP = "Tensor saved, Tensor w_hh, Tensor? grad_output, Tensor? grad_hy"


def layer_inputs(gates, states, bias=True, hidden=2, batch=2, rows=(3, 2)):
    tensors = [
        T(*rows, 2),
        *[T(batch, hidden)] * states,
        T(gates * hidden, 2),
        T(gates * hidden, hidden),
    ]
    return tensors + [T(gates * hidden)] * (2 * bias)


def layer_samples(gates, states, *more):
    return [
        (layer_inputs(gates, states), *more, (), False, True),
        (layer_inputs(gates, states, bias=False), *more, (), True, True),
        (layer_inputs(gates, states, rows=(5,)), *more, (2, 2, 1), True, True),
    ]


op(
    f"_lstm_layer({LAYER}) -> (Tensor, Tensor, Tensor, Tensor)",
    kernel=native,
    node="lstm_layer_node(inputs, batch_sizes)",
    grad={"inputs": "lstm_layer_grads(grads, inputs, results[3], batch_sizes, reverse)"},
    samples=layer_samples(4, 2),
    forms="",
    tags="internal constant:3 partial_grads",
    doc="Long short-term memory (Hochreiter & Schmidhuber 1997) with forget gates (Gers et al. 2000).",
)
op(
    f"_lstm_layer_backward({SWEEP}, Tensor? grad_cy, int[] batch_sizes, bool reverse) -> {TRIPLE}",
    kernel=native,
    doc="Gradients of the gates before their activations, of hx and of cx.",
    **INTERNAL,
)
op(
    f"_gru_layer({LAYER}) -> {TRIPLE}",
    kernel=native,
    node="rnn_layer_node(inputs, batch_sizes)",
    grad={"inputs": "gru_layer_grads(grads, inputs, results[2], batch_sizes, reverse)"},
    samples=layer_samples(3, 1),
    forms="",
    tags="internal constant:2 partial_grads",
    doc="Gated recurrent unit (Cho et al. 2014), reset gate after the product.",
)
op(
    f"_gru_layer_backward({SWEEP}, int[] batch_sizes, bool reverse) -> {PAIR}",
    kernel=native,
    doc="Gradients of the gates (reset, update, new, and new's recurrent part), and of hx.",
    **INTERNAL,
)
op(
    f"_rnn_layer({LAYER.replace('int[]', 'bool relu, int[]')}) -> {TRIPLE}",
    kernel=native,
    node="rnn_layer_node(inputs, batch_sizes)",
    grad={"inputs": "rnn_layer_grads(grads, inputs, results[2], relu, batch_sizes, reverse)"},
    samples=layer_samples(1, 1, False) + layer_samples(1, 1, True)[:1],
    forms="",
    tags="internal constant:2 partial_grads",
    doc="Elman network (1990) with tanh or relu.",
)
op(
    f"_rnn_layer_backward({SWEEP}, bool relu, int[] batch_sizes, bool reverse) -> {PAIR}",
    kernel=native,
    doc="Gradients of the sums before their activation, and of hx.",
    **INTERNAL,
)

# ---- networks ------------------------------------------------------------------------------------

NETWORK = "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"


def parameters(gates, width=2, hidden=2, bias=True):
    return [T(gates * hidden, width), T(gates * hidden, hidden), *[T(gates * hidden)] * (2 * bias)]


def network(name, gates, text):
    states = "Tensor[]" if name == "lstm" else "Tensor"
    results = TRIPLE if name == "lstm" else PAIR
    hx = [T(2, 2, 2)] * 2 if name == "lstm" else T(2, 2, 2)
    both = parameters(gates) * 2
    layers = parameters(gates, bias=False) * 2
    op(
        f"{name}.input(Tensor input, {states} hx, Tensor[] params, {NETWORK}, bool batch_first) -> {results}",
        kernel=composite,
        samples=[
            (T(3, 2, 2), hx, both, True, 1, 0.0, False, True, False),
            (T(2, 2, 2), hx, layers, False, 2, 0.0, False, False, True),
        ],
        forms="function",
        doc=f"{text} over a sequence of shape (time, batch, features), or (batch, time, features) with"
        " ``batch_first``: the outputs and the last states of all layers and directions. ``params`` has the"
        " weights of each, in the order of the module's parameters.",
    )
    op(
        f"{name}.data(Tensor data, Tensor batch_sizes, {states} hx, Tensor[] params, {NETWORK}) -> {results}",
        kernel=composite,
        forms="function",
        tags="any_device",
        doc="The same over the rows of a packed sequence.",
    )


network("lstm", 4, "Long short-term memory")
network("gru", 3, "Gated recurrent units")
network("rnn_tanh", 1, "An Elman network with tanh")
network("rnn_relu", 1, "An Elman network with relu")

# ---- cells ---------------------------------------------------------------------------------------


def cell(name, gates, text):
    states = "Tensor[]" if name == "lstm" else "Tensor"
    hx = [T(2, 3)] * 2 if name == "lstm" else T(2, 3)
    op(
        f"{name}_cell(Tensor input, {states} hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None,"
        f" Tensor? b_hh=None) -> {PAIR if name == 'lstm' else 'Tensor'}",
        kernel=composite,
        samples=[
            (T(2, 2), hx, *parameters(gates, hidden=3)),
            (T(2, 2), hx, *parameters(gates, hidden=3, bias=False)),
        ],
        forms="function",
        doc=f"One step of {text}: the next {'hidden and cell state' if name == 'lstm' else 'hidden state'}.",
    )


cell("lstm", 4, "long short-term memory")
cell("gru", 3, "a gated recurrent unit")
cell("rnn_tanh", 1, "an Elman network with tanh")
cell("rnn_relu", 1, "an Elman network with relu")

# ---- packing -------------------------------------------------------------------------------------

op(
    "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
    kernel=composite,
    forms="function",
    tags="any_device",
    example="""
        >>> padded = flambeau.tensor([[1, 3], [2, 0]])
        >>> flambeau._pack_padded_sequence(padded, flambeau.tensor([2, 1]), False)
        (tensor([1, 3, 2]), tensor([2, 1]))
    """,
    doc="The rows of a padded batch that ``lengths`` (falling) keeps, step by step, and how many each step has.",
)
op(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length)"
    " -> (Tensor, Tensor)",
    kernel=composite,
    forms="function",
    tags="any_device",
    example="""
        >>> flambeau._pad_packed_sequence(flambeau.tensor([1, 3, 2]), flambeau.tensor([2, 1]), True, 0, 2)
        (tensor([[1, 2],
                [3, 0]]), tensor([2, 1]))
    """,
    doc="The inverse: a padded batch of at least ``total_length`` steps, and the lengths.",
)
