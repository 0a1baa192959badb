"""Counts of the floating-point operations of products of matrices, convolutions and attention."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from typing import Any

from flambeau import _C
from flambeau.overrides import TorchFunctionMode, _overridable
from flambeau.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Tensor = _C.Tensor
flop_registry: dict[Any, Any] = {}


@functools.cache
def _packet(name):
    """The operator by that name of `ops.aten`; one that is a step of a backward pass only names."""
    from flambeau import ops

    def step(*args, **kwargs):
        raise NotImplementedError(f"aten::{name} is a step of the backward pass, not to be called")

    found = getattr(ops.aten, name, None)
    return found or ops.OpOverloadPacket("aten", name, step, ["default"])


# ---- formulas: of the shapes of the arguments, keyword out_shape ---------------------------------


def register_flop_formula(targets, get_raw=False):
    """Decorator: a function that counts the operations of operators (a packet, or a list).

    The function gets the arguments with the shape of each tensor in its place, and ``out_shape``;
    with ``get_raw`` the arguments as they are, and ``out_val``.

    Raises:
        ValueError: a target is no operator.
        RuntimeError: it has a formula.

    >>> @register_flop_formula(flambeau.ops.aten.dot)
    ... def dot_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    ...     return 2 * a_shape[0]
    >>> with FlopCounterMode(display=False) as counter:
    ...     x = flambeau.dot(flambeau.ones(3), flambeau.ones(3))
    >>> counter.get_total_flops()
    6
    >>> x = flop_registry.pop(flambeau.ops.aten.dot)
    """

    def register(formula):
        from flambeau.ops import OpOverloadPacket

        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    f"register_flop_formula(targets): expected each target to be an "
                    f"OpOverloadPacket, as torch.ops.mylib.foo; got {target} of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"register_flop_formula(targets): {target} has a formula")
            formula._get_raw = get_raw
            flop_registry[target] = formula
        return formula

    return register


def _mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    return 2 * math.prod(a_shape) * b_shape[-1]


def _addmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    return _mm_flop(a_shape, b_shape)


def _conv_flop(x_shape, w_shape, *args, out_shape=None, transposed=False, **kwargs):
    """Each element of the weight meets each position of the smaller of input and output."""
    positions = (x_shape if transposed else out_shape)[2:]
    return 2 * out_shape[0] * math.prod(positions) * math.prod(w_shape)


def _conv_backward_flop(grad_shape, x_shape, w_shape, output_mask, *, groups, transposed, **kwargs):
    forward = _conv_flop(x_shape, w_shape, out_shape=grad_shape, transposed=transposed)
    return forward * (output_mask[0] + groups * output_mask[1])


for _names, _formula in (
    ("mm bmm", _mm_flop),
    ("addmm baddbmm", _addmm_flop),
    ("convolution", _conv_flop),
    ("convolution_backward", _conv_backward_flop),
):
    register_flop_formula([_packet(_n) for _n in _names.split()])(_formula)


# ---- what the public functions consist of: forward steps, and backward steps ---------------------
# A step is (name, shapes, shape of the result, further arguments). Each function below gets the
# arguments and the result, and gives the list of the forward and that of the backward steps.


def _grad(t):
    return isinstance(t, Tensor) and t.requires_grad


def _product(name, a, b, a_grad, b_grad, add=None, backward=None):
    """The steps of a @ b for shapes (*batch, m, k) and (*batch, k, n)."""
    (*batch, m, k), n = a, b[-1]
    shapes = (a, b) if add is None else (add, a, b)
    back = backward or name
    steps: list = []
    if a_grad:
        steps.append((back, ((*batch, m, n), (*batch, n, k)), (*batch, m, k), {}))
    if b_grad:
        steps.append((back, ((*batch, k, m), (*batch, m, n)), (*batch, k, n), {}))
    return [(name, shapes, (*batch, m, n), {})], steps


def _matmul(out, input, other, **kwargs):
    a, b = tuple(input.shape), tuple(other.shape)
    grads = _grad(input), _grad(other)
    if not a or not b or (len(a) <= 2 and len(b) == 1):
        return [], []  # products with vectors have no formula
    if len(a) <= 2 and len(b) == 2:
        return _product("mm", a if len(a) == 2 else (1, *a), b, *grads)
    if min(len(a), len(b)) <= 2:
        # The batch joins the rows of the larger one, where its memory allows it.
        large, small, swap = (input, other, False) if len(a) > 2 else (other, input, True)
        if _grad(small) or (not swap and large.is_contiguous()) or small.dim() == 1:
            if small.dim() == 1:
                return [], []
            rows = large.numel() // max(small.shape[0 if not swap else 1], 1)
            inner = small.shape[1 if swap else 0]
            columns = small.shape[0 if swap else 1]
            first, second = (grads[1], grads[0]) if swap else grads
            return _product("mm", (rows, inner), (inner, columns), first, second)
    a, b = a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)
    batch = math.prod(_broadcast(a[:-2], b[:-2]))
    return _product("bmm", (batch, *a[-2:]), (batch, *b[-2:]), *grads)


def _broadcast(a, b):
    import flambeau

    return flambeau.broadcast_shapes(a, b)


def _bmm(out, input, mat2, **kwargs):
    return _product("bmm", tuple(input.shape), tuple(mat2.shape), _grad(input), _grad(mat2))


def _adding(name, backward):
    def steps(out, input, a, b, *args, **kwargs):
        shapes = tuple(a.shape), tuple(b.shape)
        return _product(name, *shapes, _grad(a), _grad(b), tuple(input.shape), backward)

    return steps


def _addbmm(out, input, batch1, batch2, **kwargs):
    return [], _bmm(out, batch1, batch2)[1]


def _linear(out, input, weight, bias=None):
    if weight.dim() != 2 or input.dim() == 0:
        return [], []
    inner = weight.shape[1]
    rows = math.prod(input.shape[:-1])
    flat = input.dim() <= 2 or input.is_contiguous()
    name, add = ("addmm", tuple(bias.shape)) if bias is not None and flat else ("mm", None)
    shapes = (rows, inner), (inner, weight.shape[0])
    return _product(name, *shapes, _grad(input), _grad(weight), add, "mm")


def _conv(transposed):
    def steps(out, input, weight, bias=None, *args, **kwargs):
        at = 3  # of groups, among the arguments after the bias
        groups = kwargs.get("groups", args[at] if len(args) > at else 1)
        x, w, y = tuple(input.shape), tuple(weight.shape), tuple(out.shape)
        if len(x) < len(w):  # without a batch
            x, y = (1, *x), (1, *y)
        forward = [("convolution", (x, w), y, {"transposed": transposed})]
        mask = _grad(input), _grad(weight)
        further = {"transposed": transposed, "groups": groups}
        backward = [("convolution_backward", (y, x, w, mask), None, further)]
        return forward, backward if any(mask) else []

    return steps


def _attention(out, query, key, value, *args, **kwargs):
    """As two products of matrices, whatever computes them."""
    *batch, queries, width = query.shape
    n, keys = math.prod(batch), key.shape[-2]
    q, k, v = _grad(query), _grad(key), _grad(value)
    scores = _product("bmm", (n, queries, width), (n, width, keys), q, k)
    values = _product("bmm", (n, queries, keys), (n, keys, value.shape[-1]), q or k, v)
    return scores[0] + values[0], scores[1] + values[1]


def _multi_head(out, *args, **kwargs):
    """The projections, together where their inputs are one tensor, and attention between."""
    from flambeau.nn.functional import multi_head_attention_forward

    given = inspect.signature(multi_head_attention_forward).bind(*args, **kwargs)
    given.apply_defaults()
    a = given.arguments
    query, key, value, bias = a["query"], a["key"], a["value"], a["in_proj_bias"]
    width = query.shape[-1]
    batch = query.shape[1] if query.dim() == 3 else 1
    if a["use_separate_proj_weight"]:
        weights = [a["q_proj_weight"], a["k_proj_weight"], a["v_proj_weight"]]
        projections = [(t, w, width) for t, w in zip((query, key, value), weights)]
    else:
        weight = a["in_proj_weight"]
        weights = [weight]
        if key is not value:
            projections = [(t, weight, width) for t in (query, key, value)]
        elif query is key:
            projections = [(query, weight, 3 * width)]
        else:
            projections = [(query, weight, width), (key, weight, 2 * width)]
    needed = any(map(_grad, (query, key, value, *weights)))
    longer = (a["bias_k"] is not None) + a["add_zero_attn"]
    length, n = query.shape[0], batch * a["num_heads"]
    head, keys = width // a["num_heads"], key.shape[0] + longer
    steps = [
        _product(
            "mm" if bias is None else "addmm", (t.shape[0] * batch, t.shape[-1]),
            (t.shape[-1], columns), _grad(t), _grad(w), None if bias is None else (columns,), "mm",
        )
        for t, w, columns in projections
    ]  # fmt: skip
    steps.append(_product("bmm", (n, length, head), (n, head, keys), needed, needed))
    steps.append(_product("bmm", (n, length, keys), (n, keys, head), needed, needed))
    last, add = a["out_proj_weight"], a["out_proj_bias"]
    shapes = (length * batch, width), (width, last.shape[0])
    name, add = ("mm", None) if add is None else ("addmm", tuple(add.shape))
    steps.append(_product(name, *shapes, needed, _grad(last), add, "mm"))
    return sum((s[0] for s in steps), []), sum((s[1] for s in steps), [])


def _einsum(out, equation, operands, **kwargs):
    """Pair by pair, from the left; what one operand alone has and nothing needs is summed first."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms: list = []
    sizes: dict = {}
    for text, t in zip(inputs.split(","), operands, strict=True):
        before, dots, after = text.partition("...")
        extra = t.dim() - len(before) - len(after) if dots else 0
        term = [*before, *(("...", i) for i in range(-extra, 0)), *after]
        for name, length in zip(term, t.shape, strict=True):
            sizes[name] = max(length, sizes.get(name, 1))
        terms.append((set(term), _grad(t)))
    letters = inputs.replace(",", "").replace(".", "")
    kept = {c for c in (output if arrow else letters) if arrow or letters.count(c) == 1} - {"."}
    kept |= (
        {name for name in sizes if isinstance(name, tuple)} if not arrow or "." in output else set()
    )

    def size(names):
        return math.prod(sizes[name] for name in names)

    forward: list = []
    backward: list = []
    left, left_grad = terms[0]
    for i, (right, right_grad) in enumerate(terms[1:], 2):
        needed = kept.union(*(term for term, _ in terms[i:]))
        both = left & right
        summed, batch = both - needed, both & needed
        rows, columns = (left & needed) - both, (right & needed) - both
        if summed:
            a, b = (batch, rows, summed), (batch, summed, columns)
            a, b = tuple(map(size, a)), tuple(map(size, b))
            steps = _product("bmm", a, b, left_grad, right_grad)
            forward, backward = forward + steps[0], backward + steps[1]
        left, left_grad = (left | right) & needed, left_grad or right_grad
    return forward, backward


def _recurrent(out, input, *args, **kwargs):
    """A product with the input of all steps for each layer and direction, and one at each step."""
    at = next(i for i, a in enumerate(args) if isinstance(a, bool))  # where has_biases is
    hx, params, biases, bidirectional = args[at - 2], args[at - 1], args[at], args[at + 4]
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    projected = len(states) > 1 and states[0].shape[-1] != states[1].shape[-1]
    rows = math.prod(input.shape[:-1])
    first = states[0].shape[-2] if states[0].dim() > 2 else 1
    length = (4 if biases else 2) + projected
    forward: list = []
    backward: list = []
    for i in range(0, len(params), length):
        cell = params[i : i + length]
        below = _grad(input) or i >= length * (2 if bidirectional else 1)
        for j, weight in enumerate([*cell[:2], *cell[length - 1 :][:projected]]):
            add = tuple(cell[2 + j].shape) if biases and j < 2 else None
            b = tuple(weight.shape)[::-1]
            name = "mm" if add is None else "addmm"
            one, two = _product(name, (rows, b[0]), b, False, _grad(weight), add, "mm")
            forward, backward = forward + one, backward + two
            if below or j:
                known = j == 1 and not _grad(states[0])  # the first states need no gradient
                a = (rows - first * known, b[0])
                backward += _product("mm", a, b, True, False)[1]
    return forward, backward


@functools.cache
def _parts():
    """{public function: what gives its steps}."""
    import flambeau

    named = {
        "matmul mm __matmul__": _matmul,
        "bmm": _bmm,
        "addmm addmm_": _adding("addmm", "mm"),
        "baddbmm baddbmm_": _adding("baddbmm", "bmm"),
        "addbmm addbmm_": _addbmm,
        "linear": _linear,
        "conv1d conv2d conv3d": _conv(False),
        "conv_transpose1d conv_transpose2d conv_transpose3d": _conv(True),
        "scaled_dot_product_attention": _attention,
        "multi_head_attention_forward": _multi_head,
        "_einsum": _einsum,
        "gru lstm rnn_tanh rnn_relu": _recurrent,
    }
    found = {}
    for names, steps in named.items():
        for name in names.split():
            for owner in (flambeau, flambeau.nn.functional, _C.ops, Tensor):
                function = getattr(owner, name, None)
                if function is not None:
                    found[function] = steps
    found[Tensor.__rmatmul__] = lambda out, a, b: _matmul(out, b, a)
    return found


# ---- the counter ---------------------------------------------------------------------------------


class _Mode(TorchFunctionMode):
    def __init__(self, counter):
        self.counter = counter

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        steps = _parts().get(func)
        if steps is None and isinstance(func, _overridable) and not types:
            if func.__name__ == "bilinear":  # one operator, without a formula
                return func(*args, **kwargs)
            with self:
                return func.__wrapped__(*args, **kwargs)
        out = func(*args, **kwargs)
        if out is not NotImplemented:
            self.counter._see(func, steps, out, args, kwargs)
        return out


class FlopCounterMode:
    """Context manager that counts floating-point operations, in total and by module and operator.

    Counted are those of products of matrices, convolutions, recurrent layers and attention (as two
    products of matrices), a multiplication and an addition as two. The backward pass counts when it
    runs in the context, for operators that ran there: for each that a gradient reaches, the
    gradients of all arguments that require one. Backward passes of backward passes do not count.

    Args:
        mods: not needed any more; modules are found as they run.
        depth: how many levels of modules the table has.
        display: prints the table at the end.
        custom_mapping: formulas by operator (``flambeau.ops.aten.relu``), which get what those of
            `register_flop_formula` get.

    >>> model = flambeau.nn.Sequential(flambeau.nn.Linear(8, 16), flambeau.nn.Linear(16, 2))
    >>> with FlopCounterMode(display=False) as counter:
    ...     model(flambeau.ones(4, 8)).sum().backward()
    >>> counter.get_total_flops()
    3328
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if mods is not None:
            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = {}
        self.mod_tracker = ModuleTracker()
        self._custom = dict(custom_mapping or {})
        self._mode: _Mode | None = None

    def __enter__(self):
        self.flop_counts = {"Global": {}}
        self.mod_tracker.__enter__()
        self._mode = _Mode(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *exc):
        assert self._mode is not None
        self._mode.__exit__(*exc)
        self._mode = None
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))

    def _see(self, func, steps, out, args, kwargs):
        if steps is None:
            if self._custom or len(flop_registry) > _built_in:
                self._see_other(func, out, args, kwargs)
            return
        inputs = {k: v for k, v in kwargs.items() if k != "out"}
        forward, backward = steps(out, *args, **inputs)
        parents, mode = set(self.mod_tracker.parents), self._mode
        self._add(forward, parents)
        given = out if isinstance(out, (list, tuple)) else [out]
        results = [t for t in given if isinstance(t, Tensor) and t.requires_grad]
        if backward and results:
            if len(results) > 1:  # outputs and states: the node that gives them all runs once
                node = results[0].grad_fn
                node.register_prehook(lambda grads: self._arrived(mode, backward, parents))
            else:
                results[0].register_hook(lambda grad: self._arrived(mode, backward, parents))

    def _arrived(self, mode, steps, parents):
        if self._mode is mode:
            self._add(steps, parents)

    def _see_other(self, func, out, args, kwargs):
        name = getattr(func, "__name__", "")
        if name.startswith("__"):
            return
        packet = _packet(name)
        if packet in self._custom or packet in flop_registry:
            self._count(packet, args, kwargs, out, set(self.mod_tracker.parents))

    def _add(self, steps, parents):
        from flambeau import Size as size

        for name, shapes, out, further in steps:
            shapes = [size(s) if all(type(n) is int for n in s) else s for s in shapes]
            out = None if out is None else size(out)
            self._count(_packet(name), shapes, further, out, parents)

    def _count(self, packet, args, kwargs, out, parents):
        formula = self._custom.get(packet) or flop_registry[packet]
        if getattr(formula, "_get_raw", False):
            n = formula(*args, **kwargs, out_val=out)
        else:
            shape = _shapes(out)
            if packet in self._custom:
                kwargs = {k: v for k, v in kwargs.items() if k not in ("groups", "transposed")}
            n = formula(*_shapes(list(args)), **_shapes(kwargs), out_shape=shape)
        for parent in {*parents, "Global"}:
            counts = self.flop_counts.setdefault(parent, {})
            counts[packet] = counts.get(packet, 0) + n

    def get_total_flops(self):
        """All operations that were counted."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self):
        """{name of a module: {operator: operations}}; that of all is ``"Global"``."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as text, of modules up to a depth (default: that of the counter).

        >>> with FlopCounterMode(display=False) as counter:
        ...     x = flambeau.ones(2, 3) @ flambeau.ones(3, 5)
        >>> print(counter.get_table())
        Module       FLOP    % Total
        ---------  ------  ---------
        Global         60    100.00%
        - aten.mm      60    100.00%
        """
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        scale = min(max(0, (len(str(total)) - 2) // 3), 4)

        def row(name, n):
            number = f"{n / 1000**scale:.3f}{' KMBT'[scale]}" if scale else str(n)
            return name, number, f"{n / total:.2%}" if total else "0%"

        def block(name):
            counts = self.flop_counts[name]
            inner = [row(f"- {packet}", n) for packet, n in counts.items()]
            return [row(name, sum(counts.values())), *inner]

        names = sorted(n for n in self.flop_counts if n != "Global" and n.count(".") < depth)
        rows = [r for n in names for r in block(n)]
        if not any(sum(self.flop_counts[n].values()) >= total for n in names):
            rows = [*(block("Global") if "Global" in self.flop_counts else []), *rows]
        heads = ("Module", "FLOP", "% Total")
        least = (0, 2, 2)  # the columns of numbers are two wider than their heads
        widths = [max(len(heads[i]) + least[i], *(len(r[i]) for r in rows), 0) for i in range(3)]

        def line(cells):
            return f"{cells[0]:<{widths[0]}}  {cells[1]:>{widths[1]}}  {cells[2]:>{widths[2]}}"

        return "\n".join([line(heads), line(["-" * w for w in widths]), *map(line, rows)])


def _shapes(value):
    if isinstance(value, Tensor):
        return value.shape
    if type(value) in (list, tuple):
        return type(value)(_shapes(v) for v in value)
    if isinstance(value, dict):
        return {k: _shapes(v) for k, v in value.items()}
    return value


_built_in = len(flop_registry)
