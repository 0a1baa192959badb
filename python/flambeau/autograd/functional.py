"""Jacobians, Hessians and their products with vectors, of functions of tensors.

A product from the right, J v, comes from differentiating twice: the product from the left, wᵀ J, is
linear in w, and its derivative with respect to w along v is J v. This holds for any w, so that
zeros serve; they must only be on record. ``strategy="forward-mode"`` alone uses forward mode
(`func.jvp`).

Functions run with recording on, also within no_grad. Without ``create_graph`` they see inputs that
are cut off from their history, and the results have none; with it the history goes on through
inputs and ``v``. Lists are refused where tuples are expected.
"""

from __future__ import annotations

from flambeau._C import Tensor, ops

from . import grad
from .grad_mode import enable_grad


def _tensors(value, fn, what):
    """Whether ``value`` is a tuple, and the tensors it consists of."""
    many = isinstance(value, tuple)
    items = tuple(value) if many else (value,)
    for i, item in enumerate(items):
        if not isinstance(item, Tensor):
            place = f" at index {i}" if many else ""
            raise TypeError(
                f"{fn}: {what} must be a Tensor or a tuple of Tensors, got "
                f"{type(item).__name__}{place}"
            )
    return many, items


def _inputs(value, fn, create_graph):
    """As _tensors, of tensors that require grad: never those of the caller, to be left alone."""
    many, given = _tensors(value, fn, "inputs")
    return many, tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in given
    )


def _outputs(fn, func, inputs, strict, single=False):
    many, outputs = _tensors(func(*inputs), fn, "the result of func")
    if not inputs:
        raise RuntimeError(f"{fn}: inputs is an empty tuple; give at least one Tensor")
    if single:
        if many:
            raise RuntimeError(f"{fn}: func must return one Tensor, got a tuple; pick one of it")
        if outputs[0].numel() != 1:
            raise RuntimeError(
                f"{fn}: func must return one element, got shape {tuple(outputs[0].shape)}; "
                "reduce it, for example with sum()"
            )
    if strict:
        for i, out in enumerate(outputs):
            if not out.requires_grad:
                raise RuntimeError(
                    f"{fn}: output {i} of func does not require grad, so no input can change it: "
                    "strict=True refuses that, strict=False gives zeros"
                )
    return many, outputs


def _vector(v, fn, like, what):
    """The tensors of ``v``, of the shapes of ``like``; None stands for a one."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{fn}: without v the {what} must be one element; give v")
        return (None,)
    _, tensors = _tensors(v, fn, "v")
    if len(tensors) != len(like):
        raise RuntimeError(
            f"{fn}: v must have as many Tensors as there are {what}, {len(like)}, "
            f"got {len(tensors)}"
        )
    for i, (have, want) in enumerate(zip(tensors, like)):
        if have.shape != want.shape:
            raise RuntimeError(
                f"{fn}: v at index {i} must have the shape of the {what} there, "
                f"{tuple(want.shape)}, got {tuple(have.shape)}"
            )
    return tensors


def _pull(outputs, inputs, weights, create_graph, retain=None):
    """Sum of weightᵀ d(output)/d(input) for each input, None where nothing connects them."""
    pairs = [(o, w) for o, w in zip(outputs, weights) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    live, weights = zip(*pairs)
    return grad(live, inputs, weights, retain, create_graph, allow_unused=True)


def _push(outputs, inputs, v, fn, strict, create_graph):
    """Sum of d(output)/d(input) v for each output, by differentiating _pull by its weights."""
    weights = tuple(ops.zeros_like(o).requires_grad_() for o in outputs)
    pulled = _pull(outputs, inputs, weights, True)
    if strict:
        _connected(pulled, fn, "the output of func", "input")
    return _pull(pulled, weights, v, create_graph)


def _connected(grads, fn, what, other):
    for i, g in enumerate(grads):
        if g is None:
            raise RuntimeError(
                f"{fn}: {what} does not depend on {other} {i}: strict=True refuses that, "
                "strict=False gives zeros"
            )


def _on_record(grads, fn):
    for i, g in enumerate(grads):
        if not g.requires_grad:
            raise RuntimeError(
                f"{fn}: derivative {i} of func is constant and cannot be differentiated again: "
                "strict=True refuses that, strict=False gives zeros"
            )


def _filled(grads, like):
    return tuple(ops.zeros_like(t) if g is None else g for g, t in zip(grads, like))


def _result(many, tensors, create_graph):
    if not create_graph:
        tensors = tuple(t.detach() for t in tensors)
    return tensors if many else tensors[0]


@enable_grad()
def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """Returns ``(func(*inputs), vᵀ J)``: the vector ``v`` times the Jacobian of ``func``.

    ``v`` has the structure and shapes of the outputs and may be left out where they are a single
    element; the product has the structure and shapes of ``inputs``. An input that no output depends
    on gets zeros.

    Raises TypeError for anything but tensors and tuples of them; RuntimeError for a ``v`` of other
    sizes and, with ``strict``, for an input or output without connection or (with
    ``create_graph``) a product that does not depend on the inputs.

    >>> x = flambeau.tensor([1.0, 2.0])
    >>> flambeau.autograd.functional.vjp(lambda x: x * x, x, flambeau.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    many, inputs = _inputs(inputs, "vjp", create_graph)
    several, outputs = _outputs("vjp", func, inputs, strict)
    v = _vector(v, "vjp", outputs, "outputs")
    product = _pull(outputs, inputs, v, create_graph)
    if strict:
        _connected(product, "vjp", "the output of func", "input")
        if create_graph:
            _on_record(product, "vjp")
    product = _filled(product, inputs)
    return _result(several, outputs, create_graph), _result(many, product, create_graph)


@enable_grad()
def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """Returns ``(func(*inputs), J v)``: the Jacobian of ``func`` times the vector ``v``.

    ``v`` has the structure and shapes of ``inputs`` and may be left out where they are a single
    element; the product has the structure and shapes of the outputs. It costs two backward passes,
    vjp only one. Raises the errors of vjp, and RuntimeError for outputs of integers.

    >>> x = flambeau.tensor([1.0, 2.0])
    >>> flambeau.autograd.functional.jvp(lambda x: x.sum() * x, x, flambeau.tensor([1.0, 0.0]))
    (tensor([3., 6.]), tensor([4., 2.]))
    """
    _, inputs = _inputs(inputs, "jvp", create_graph)
    v = _vector(v, "jvp", inputs, "inputs")
    several, outputs = _outputs("jvp", func, inputs, strict)
    product = _push(outputs, inputs, v, "jvp", strict, create_graph)
    if strict:
        _connected(product, "jvp", "the product with v", "output")
        if create_graph:
            _on_record(product, "jvp")
    product = _filled(product, outputs)
    return _result(several, outputs, create_graph), _result(several, product, create_graph)


def _sweep(y, inputs, create_graph):
    """The gradients of each element of ``y``: for each of them a tuple as long as ``inputs``."""
    rows = []
    for k in range(y.numel()):
        # a new one each time: with create_graph the graph may keep it
        seed = y.new_zeros(y.numel())
        seed[k] = 1
        rows.append(_pull((y,), inputs, (seed.view(y.shape),), create_graph, True))
    return rows


def _rows(outputs, inputs, fn, create_graph, strict):
    """blocks[i][j] of shape outputs[i].shape + inputs[j].shape, one backward pass per row."""
    blocks = []
    for i, out in enumerate(outputs):
        if out.is_complex() and out.requires_grad:
            # a row would be the derivative of the real part alone
            raise RuntimeError(
                f"{fn}: output {i} is complex ({out.dtype}), rows are for real outputs; "
                "pass view_as_real of it, or vectorize=True for the products with ones"
            )
        rows = _sweep(out, inputs, create_graph) if out.requires_grad else []
        for row in rows if strict else ():
            _connected(row, fn, f"output {i} of func", "input")
            if create_graph:
                _on_record(row, fn)
        if not rows:  # no history, or no elements: nothing to stack
            blocks.append([x.new_zeros(out.shape + x.shape) for x in inputs])
            continue
        blocks.append(
            [
                ops.stack(_filled(column, [x] * len(rows))).reshape(out.shape + x.shape)
                for x, column in zip(inputs, zip(*rows))
            ]
        )
    return blocks


def _batched_rows(outputs, inputs, create_graph):
    """As _rows, all rows of an output in one backward pass under vmap."""
    blocks = []
    for out in outputs:
        n = out.numel()
        if not (out.requires_grad and n):
            blocks.append([x.new_zeros(out.shape + x.shape) for x in inputs])
            continue
        seeds = ops.reshape(ops.eye(n, dtype=out.dtype, device=out.device), (n, *out.shape))
        found = grad(
            (out,), inputs, (seeds,), True, create_graph, allow_unused=True, is_grads_batched=True
        )
        blocks.append(
            [
                x.new_zeros(out.shape + x.shape) if g is None else g.reshape(out.shape + x.shape)
                for x, g in zip(inputs, found)
            ]
        )
    return blocks


def _columns(func, outputs, inputs):
    """As _rows, by forward mode: all columns in one call under vmap; dtypes are the outputs'."""
    from flambeau._transforms.directional import basis_of, jvp
    from flambeau._transforms.interpreter import tracked
    from flambeau._transforms.vmap import vmap

    inputs = tuple(x.detach() for x in inputs)

    def called(*values):
        result = func(*map(tracked, values))  # func may take gradients itself
        return result if isinstance(result, tuple) else (result,)

    def along(*tangents):
        return jvp(called, inputs, tangents)[1]

    columns = vmap(along, randomness="different")(*basis_of(inputs))
    blocks = []
    for out, c in zip(outputs, columns):
        parts = ops.split(ops.movedim(c, 0, -1), [x.numel() for x in inputs], -1)
        blocks.append([p.reshape(out.shape + x.shape) for p, x in zip(parts, inputs)])
    return blocks


def _jacobian(fn, func, inputs, create_graph, strict, vectorize, strategy):
    if strategy not in ("forward-mode", "reverse-mode"):
        # the type is PyTorch's
        raise AssertionError(
            f'{fn}: the strategy must be "forward-mode" or "reverse-mode", got {strategy!r}'
        )
    forward = strategy == "forward-mode"
    if forward and create_graph:
        raise NotImplementedError(
            f'{fn}: create_graph=True is not supported with "forward-mode"; use "reverse-mode"'
        )
    if forward and strict:
        raise RuntimeError(
            f'{fn}: strict=True is not supported with "forward-mode"; use "reverse-mode"'
        )
    many, inputs = _inputs(inputs, fn, create_graph)
    if forward and not vectorize:
        raise NotImplementedError(f'{fn}: "forward-mode" is only there for vectorize=True')
    if strict and vectorize:
        raise RuntimeError(f"{fn}: strict=True needs vectorize=False, got vectorize=True")
    several, outputs = _outputs(fn, func, inputs, strict)
    if forward:
        blocks = _columns(func, outputs, inputs)
    elif vectorize:
        blocks = _batched_rows(outputs, inputs, create_graph)
    else:
        blocks = _rows(outputs, inputs, fn, create_graph, strict)
    rows = tuple(_result(many, tuple(row), create_graph) for row in blocks)
    return rows if several else rows[0]


@enable_grad()
def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """Derivatives of each element of the outputs with respect to each element of the inputs.

    For one input and one output a tensor of shape ``output.shape + input.shape`` and of the input's
    dtype. A tuple of inputs gives a tuple of them, a tuple of outputs a tuple over the outputs (the
    outer one) of such results. Blocks of inputs and outputs without connection are zeros; a block
    of no elements is an empty tensor of that shape.

    ``vectorize`` computes all rows of an output in one backward pass under `vmap` instead of one
    pass each. ``strategy="forward-mode"`` gives the same numbers column by column, by forward
    mode, in the output's dtype: cheaper where there are more outputs than inputs.

    Raises AssertionError for another strategy; NotImplementedError for forward mode with
    ``create_graph`` or without ``vectorize``; RuntimeError for ``strict`` with forward mode or
    ``vectorize``, for complex outputs (rows without ``vectorize``) and otherwise as vjp does, with
    ``strict`` for each pair of an output and an input.

    >>> x = flambeau.tensor([1.0, 2.0])
    >>> flambeau.autograd.functional.jacobian(lambda x: x.sum() * x, x)
    tensor([[4., 1.],
            [2., 5.]])
    """
    return _jacobian("jacobian", func, inputs, create_graph, strict, vectorize, strategy)


def _gradient(fn, func, inputs, strict):
    """The single output of ``func`` and its gradients, on record."""
    _, outputs = _outputs(fn, func, inputs, strict, single=True)
    first = _pull(outputs, inputs, (None,), True)
    if strict:
        _connected(first, fn, "the output of func", "input")
        _on_record(first, fn)
    return outputs, _filled(first, inputs)


@enable_grad()
def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """Second derivatives of ``func``, which returns a single element.

    For one input a tensor of shape ``input.shape + input.shape``; for a tuple of inputs a tuple of
    tuples, [i][j] of shape ``inputs[i].shape + inputs[j].shape``. It is the jacobian of the
    gradient: ``vectorize`` and ``outer_jacobian_strategy`` mean what they mean there.

    Raises the errors of jacobian; RuntimeError also for a tuple of outputs, for an output of more
    than one element and, with ``strict``, for a gradient that does not depend on the inputs.

    >>> x = flambeau.tensor([1.0, 2.0])
    >>> flambeau.autograd.functional.hessian(lambda x: x[0] * x[1] ** 2, x)
    tensor([[0., 4.],
            [4., 2.]])
    """
    many, _ = _tensors(inputs, "hessian", "inputs")

    def gradient(*inner):
        _, first = _gradient("hessian", func, inner, strict)
        return first if many else first[0]

    return _jacobian(
        "hessian", gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy
    )


def _hessian_product(fn, func, inputs, v, create_graph, strict):
    many, inputs = _inputs(inputs, fn, create_graph)
    v = _vector(v, fn, inputs, "inputs")
    outputs, first = _gradient(fn, func, inputs, strict)
    if fn == "vhp":
        product = _pull(first, inputs, v, create_graph)
    else:
        product = _push(first, inputs, v, fn, strict, create_graph)
    if strict:
        _connected(product, fn, "the gradient of func", "input")
        if create_graph:
            _on_record(product, fn)
    product = _filled(product, inputs)
    return _result(False, outputs, create_graph), _result(many, product, create_graph)


@enable_grad()
def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Returns ``(func(*inputs), vᵀ H)``: the vector ``v`` times the Hessian of ``func``.

    ``v`` and the product have the structure and shapes of ``inputs``; ``v`` may be left out for a
    single element. ``func`` returns one element. Raises the errors of vjp and, with ``strict``,
    RuntimeError for a gradient that does not depend on the inputs.

    >>> x = flambeau.tensor([1.0, 2.0])
    >>> flambeau.autograd.functional.vhp(lambda x: (x**3).sum(), x, flambeau.tensor([1.0, 0.5]))
    (tensor(9.), tensor([6., 6.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


@enable_grad()
def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Returns ``(func(*inputs), H v)``: the Hessian of ``func`` times the vector ``v``.

    As vhp, also in its errors; the Hessian is symmetric wherever second derivatives are continuous,
    and vhp costs one backward pass less.

    >>> x = flambeau.tensor([1.0, 2.0])
    >>> flambeau.autograd.functional.hvp(lambda x: (x**3).sum(), x, flambeau.tensor([1.0, 0.5]))
    (tensor(9.), tensor([6., 6.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]
