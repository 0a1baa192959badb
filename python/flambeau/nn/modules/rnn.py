"""Recurrent networks (Elman, LSTM, GRU) over sequences, and their single steps."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from flambeau._C import ops
from flambeau.nn import init
from flambeau.nn.parameter import Parameter
from flambeau.nn.utils.rnn import PackedSequence

from .module import Module, plain_getattr

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_NETWORKS: dict[str, Any] = {
    "LSTM": ops.lstm,
    "GRU": ops.gru,
    "RNN_TANH": ops.rnn_tanh,
    "RNN_RELU": ops.rnn_relu,
}


def apply_permutation(tensor, permutation, dim=1):
    """Deprecated: ``tensor.index_select(dim, permutation)``."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` "
        "instead",
        FutureWarning,
        stacklevel=2,
    )
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What the recurrent networks share: the parameters of each layer and direction.

    The weights of layer k are ``weight_ih_l{k}``, ``weight_hh_l{k}``, ``bias_ih_l{k}``,
    ``bias_hh_l{k}`` and, with ``proj_size``, ``weight_hr_l{k}``; those of the backward direction
    end in ``_reverse``.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    __jit_unused_properties__ = ["all_weights"]

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        _check_options(hidden_size, input_size, num_layers, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        rows = _GATES[mode] * hidden_size
        state = proj_size or hidden_size  # what a step passes on
        directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            width = input_size if layer == 0 else state * directions
            shapes: dict[str, tuple[int, ...]] = {}
            shapes["weight_ih"] = (rows, width)
            shapes["weight_hh"] = (rows, state)
            if bias:
                shapes["bias_ih"] = shapes["bias_hh"] = (rows,)
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[:directions]:
                names = {f"{kind}_l{layer}{suffix}": shape for kind, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, Parameter(ops.empty(shape, device=device, dtype=dtype)))
                self._flat_weights_names += names
                self._all_weights.append(list(names))
        self._init_flat_weights()
        self.reset_parameters()

    # The list of weights is kept, and made anew when an attribute of theirs has been replaced: by
    # load_state_dict(assign=True), functional_call, or a plain tensor that is computed from others.

    def _current_weights(self):
        params, names = self._parameters, self._flat_weights_names
        if type(self).__getattr__ is plain_getattr and all(map(params.__contains__, names)):
            return [params[name] for name in names]
        return [getattr(self, name, None) for name in names]

    def _init_flat_weights(self) -> None:
        self._flat_weights = self._current_weights()
        self._flat_weight_refs = list(self._flat_weights)
        self.flatten_parameters()

    def _weights_have_changed(self) -> bool:
        return any(
            now is not then for now, then in zip(self._current_weights(), self._flat_weight_refs)
        )

    def _update_flat_weights(self) -> None:
        if self._weights_have_changed():
            self._init_flat_weights()

    def __setattr__(self, name, value) -> None:
        super().__setattr__(name, value)
        names = self.__dict__.get("_flat_weights_names", ())
        if name in names and "_flat_weight_refs" in self.__dict__:
            at = names.index(name)
            self._flat_weights[at] = self._flat_weight_refs[at] = value

    def _apply(self, fn, recurse=True):
        result = super()._apply(fn, recurse)
        self._init_flat_weights()
        return result

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_flat_weight_refs", None)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "all_weights" in state:  # of long ago
            self._all_weights = self.__dict__.pop("all_weights")
        self.__dict__.setdefault("proj_size", 0)
        if "_flat_weights_names" not in self.__dict__:
            self._flat_weights_names = [name for names in self._all_weights for name in names]
        self._init_flat_weights()

    def flatten_parameters(self) -> None:
        """Does nothing: the weights need not lie together on a CPU."""

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self):
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    # ---- arguments ---------------------------------------------------------------------------

    def check_input(self, input, batch_sizes) -> None:
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {input.size(-1)}"
            )

    def _state_shape(self, input, batch_sizes, width):
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0 if self.batch_first else 1)
        return (self.num_layers * (2 if self.bidirectional else 1), batch, width)

    def get_expected_hidden_size(self, input, batch_sizes):
        return self._state_shape(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"
    ) -> None:
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first:
            text += f", batch_first={self.batch_first}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        if self.bidirectional:
            text += f", bidirectional={self.bidirectional}"
        return text

    # ---- the call ----------------------------------------------------------------------------
    # A kind of network says how its states are checked, made and changed by `_batched_states`,
    # `_first_states` and `_each_state`.

    def _run(self, input, hx):
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D tensor "
                "instead"
            )
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            self.check_input(input, None)
            hx = self._first_states(input, None)
        else:
            hx = self._batched_states(hx, batched)
            self.check_forward_args(input, hx, None)
        output, state = self._network(
            (input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout),
            (self.training, self.bidirectional, self.batch_first),
        )
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            state = self._each_state(state, lambda t: t.squeeze(1))
        return output, state

    def _run_packed(self, input, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = input
        if hx is None:
            self.check_input(data, batch_sizes)
            hx = self._first_states(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
        output, state = self._network(
            (data, batch_sizes, hx, self._flat_weights, self.bias, self.num_layers, self.dropout),
            (self.training, self.bidirectional),
        )
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, self.permute_hidden(state, unsorted_indices)

    def _network(self, arguments, flags):
        return _NETWORKS[self.mode](*arguments, *flags)

    def _first_states(self, input, batch_sizes):
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return ops.zeros(shape, dtype=input.dtype, device=input.device)

    def _batched_states(self, hx, batched):
        if hx.dim() != (3 if batched else 2):
            raise RuntimeError(
                f"For {_batch_words(batched)} input, hx should also be {3 if batched else 2}-D but "
                f"got {hx.dim()}-D tensor"
            )
        return hx if batched else hx.unsqueeze(1)

    def _each_state(self, state, change):
        return change(state)


def _check_options(hidden_size, input_size, num_layers, dropout, proj_size):
    number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
    if not number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            f"being zeroed, got {dropout}"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )
    if not isinstance(hidden_size, int):
        raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
    for name, value in (
        ("hidden_size", hidden_size),
        ("input_size", input_size),
        ("num_layers", num_layers),
    ):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero, got {value}")
    if proj_size < 0:
        raise ValueError(
            "proj_size should be a positive integer or zero to disable projections, got "
            f"{proj_size}"
        )
    if proj_size >= hidden_size:
        raise ValueError(
            f"proj_size has to be smaller than hidden_size, got {proj_size} of {hidden_size}"
        )


def _batch_words(batched):
    return "batched 3-D" if batched else "unbatched 2-D"


def _refuse_projection(kwargs, args):
    # proj_size is the eighth argument after the mode's
    if "proj_size" in kwargs or len(args) > 7:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """An Elman network: ``h' = act(W_ih x + b_ih + W_hh h + b_hh)``.

    Args:
        input_size, hidden_size: features of a step, and of the hidden state.
        num_layers: layers on top of each other.
        nonlinearity: "tanh" or "relu".
        bias: whether there are biases.
        batch_first: whether input and output are (batch, time, features) instead of (time, batch,
            features).
        dropout: probability of dropping an output of all layers but the last.
        bidirectional: whether each layer also runs backwards.

    Example:
        >>> output, state = nn.RNN(10, 20, num_layers=2)(flambeau.randn(5, 3, 10))
        >>> output.shape, state.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args, **kwargs) -> None:
        _refuse_projection(kwargs, args[:3] + args[4:])
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__("RNN_" + self.nonlinearity.upper(), *args, **kwargs)

    def forward(self, input, hx=None):
        return self._run(input, hx)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014), the reset gate after the product.

    The arguments are those of `RNN` without ``nonlinearity``.

    Example:
        >>> output, state = nn.GRU(10, 20, bidirectional=True)(flambeau.randn(5, 3, 10))
        >>> output.shape, state.shape
        (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args, **kwargs) -> None:
        _refuse_projection(kwargs, args)
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input, hx=None):
        return self._run(input, hx)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter & Schmidhuber 1997), with hidden and cell state.

    The arguments are those of `RNN` without ``nonlinearity``, and ``proj_size``: the hidden state
    is projected to so many features (Sak et al. 2014).

    Example:
        >>> output, (h, c) = nn.LSTM(10, 20, proj_size=5)(flambeau.randn(5, 3, 10))
        >>> output.shape, h.shape, c.shape
        (torch.Size([5, 3, 5]), torch.Size([1, 3, 5]), torch.Size([1, 3, 20]))
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "Expected hidden[0] size {}, got {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "Expected hidden[1] size {}, got {}",
        )

    def permute_hidden(self, hx, permutation):
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)

    def forward(self, input, hx=None):
        return self._run(input, hx)

    def _network(self, arguments, flags):
        output, h, c = ops.lstm(*arguments, *flags)
        return output, (h, c)

    def _first_states(self, input, batch_sizes):
        kwargs = {"dtype": input.dtype, "device": input.device}
        return (
            ops.zeros(self.get_expected_hidden_size(input, batch_sizes), **kwargs),
            ops.zeros(self.get_expected_cell_size(input, batch_sizes), **kwargs),
        )

    def _batched_states(self, hx, batched):
        rank = 3 if batched else 2
        if hx[0].dim() != rank or hx[1].dim() != rank:
            raise RuntimeError(
                f"For {_batch_words(batched)} input, hx and cx should also be {rank}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        return hx if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _each_state(self, state, change):
        return change(state[0]), change(state[1])


class RNNCellBase(Module):
    """What the cells share: ``weight_ih``, ``weight_hh``, ``bias_ih`` and ``bias_hh``."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size

        def parameter(*shape):
            return Parameter(ops.empty(shape, device=device, dtype=dtype))

        self.weight_ih = parameter(rows, input_size)
        self.weight_hh = parameter(rows, hidden_size)
        if bias:
            self.bias_ih = parameter(rows)
            self.bias_hh = parameter(rows)
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_rank(self, name, tensor):
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.dim()}D instead"
            )

    def _zeros(self, input):
        return ops.zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)

    # One hidden state; the LSTM's cell has two and a forward of its own.
    def _step(self, function, input, hx):
        self._check_rank("input", input)
        if hx is not None:
            self._check_rank("hidden", hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not batched:
            hx = hx.unsqueeze(0)
        out = function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return out if batched else out.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an Elman network.

    Args:
        input_size, hidden_size: features of the input, and of the hidden state.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".

    Example:
        >>> nn.RNNCell(10, 20)(flambeau.randn(3, 10)).shape
        torch.Size([3, 20])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        tanh = self.nonlinearity == "tanh"
        return self._step(ops.rnn_tanh_cell if tanh else ops.rnn_relu_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory: the next hidden and cell state.

    Example:
        >>> h, c = nn.LSTMCell(10, 20)(flambeau.randn(3, 10))
        >>> h.shape, c.shape
        (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input, hx=None):
        self._check_rank("input", input)
        if hx is not None:
            for i, state in enumerate(hx):
                self._check_rank(f"hx[{i}]", state)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        elif not batched:
            hx = tuple(state.unsqueeze(0) for state in hx)
        h, c = ops.lstm_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    Example:
        >>> nn.GRUCell(10, 20)(flambeau.randn(3, 10)).shape
        torch.Size([3, 20])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input, hx=None):
        return self._step(ops.gru_cell, input, hx)
