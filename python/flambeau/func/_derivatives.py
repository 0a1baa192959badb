"""Derivatives of functions: grad, vjp, jvp, linearize, Jacobians and Hessians."""

from __future__ import annotations

import functools

from flambeau import _C
from flambeau._C import Tensor, ops
from flambeau._transforms.directional import (
    basis_of,
    check_tangent,
    jvp,
    split_aux,
    unwrapped,
    unwrapped_aux,
)
from flambeau._transforms.interpreter import GradLevel, lifted, stripped, tracked
from flambeau._transforms.vmap import vmap
from flambeau.autograd.grad_mode import enable_grad
from flambeau.utils._pytree import tree_flatten, tree_map, tree_unflatten


def _tracked(level, tree):
    """The tree with its tensors on record at the level, and these tensors."""
    flat, spec = tree_flatten(tree)
    inside = [level.wrap(t) if isinstance(t, Tensor) else t for t in flat]
    for t in inside:
        if isinstance(t, Tensor):
            tracked(t)
    return tree_unflatten(inside, spec), inside, spec


def _wrapped(level, tree):
    return tree_map(lambda t: level.wrap(t) if isinstance(t, Tensor) else t, tree)


def _gradients(level, outputs, weights, inputs, retain=True):
    """Gradients of tensors of a level; zeros where there is no way."""
    roots, given = [], []
    for y, w in zip(outputs, weights):
        if isinstance(y, Tensor) and y.requires_grad:
            roots.append(y)
            given.append(w)
    if roots:
        with level.reopened():
            found = _C._run_backward(roots, given, retain, True, inputs, True, False)
    else:
        found = [None] * len(inputs)
    return [ops.zeros_like(x) if g is None else g for x, g in zip(inputs, found)]


def _chosen(argnums, args):
    """The arguments that argnums name, each once."""
    many = isinstance(argnums, tuple)
    if not many and not isinstance(argnums, int):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if many and not argnums:
        raise RuntimeError("argnums must be non-empty")
    numbers = []
    for n in argnums if many else (argnums,):
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
        numbers.append(n % len(args))
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return many, numbers


def _of_chosen(func, numbers, args, kwargs):
    """``func`` as a function of the arguments at ``numbers``, the others as they are."""

    def partial(*chosen):
        filled = list(args)
        for n, a in zip(numbers, chosen):
            filled[n] = a
        return func(*filled, **kwargs)

    return partial


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns the gradient of ``func``, and what ``func`` returns.

    As `grad`; with ``has_aux`` the value is a pair of the output and the auxiliary data.

    >>> flambeau.func.grad_and_value(lambda x: (x**2).sum())(flambeau.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func)
    def computed(*args, **kwargs):
        many, numbers = _chosen(argnums, args)
        with GradLevel() as level, enable_grad():
            inside = list(_wrapped(level, args))
            named = _wrapped(level, kwargs)
            inputs, specs = [], []
            for n in numbers:
                inside[n], flat, spec = _tracked(level, args[n])
                for t in flat:
                    if not isinstance(t, Tensor):
                        raise RuntimeError(
                            "grad: expected the argument to differentiate with respect to to "
                            f"consist of Tensors, got {type(t)}"
                        )
                inputs += flat
                specs.append((spec, len(flat)))
            output, aux = split_aux(func(*inside, **named), has_aux, "grad_and_value")
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                    f"{type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got "
                    f"tensor with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev "
                    "APIs instead?"
                )
            grads = _gradients(level, [output], [None], inputs)
            trees, at = [], 0
            for spec, count in specs:
                trees.append(tree_unflatten(grads[at : at + count], spec))
                at += count
            result = tuple(trees) if many else trees[0]
            result, output, aux = (
                unwrapped(level, result),
                unwrapped(level, output),
                unwrapped_aux(level, aux, has_aux),
            )
        return (result, (output, aux)) if has_aux else (result, output)

    return computed


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of ``func``, which returns one number.

    Args:
        argnums: the argument, or a tuple of arguments, to differentiate with respect to; each may
        be
            a structure of tensors.
        has_aux: ``func`` returns a pair of the number and auxiliary data, and so does the result.

    >>> flambeau.func.grad(flambeau.sin)(flambeau.tensor(0.0))
    tensor(1.)
    """

    @functools.wraps(func)
    def gradient(*args, **kwargs):
        found, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(func, *primals, has_aux=False):
    """``(func(*primals), f)``: f takes weights of the outputs to weighted gradients of the inputs.

    The gradients are a tuple, one structure for each of ``primals``. With ``has_aux`` ``func``
    returns a pair and the auxiliary data come third.

    >>> y, f = flambeau.func.vjp(flambeau.sin, flambeau.tensor([0.0, 1.0]))
    >>> f(flambeau.tensor([1.0, 0.0]))
    (tensor([1., 0.]),)
    """
    with GradLevel() as level, enable_grad():
        inside, inputs, spec = _tracked(level, primals)
        output, aux = split_aux(func(*inside), has_aux, "vjp")
        outputs, out_spec = tree_flatten(output)
        for y in outputs:
            if not isinstance(y, Tensor):
                raise RuntimeError(
                    f"vjp(f, *primals): Expected f to be a function that has tensors as "
                    f"outputs, got "
                    f"an output of type {type(y)}"
                )
            if not (y.is_floating_point() or y.is_complex()):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {y.dtype}"
                )
        if not outputs:
            raise RuntimeError(
                "vjp(f, *primals): Expected f to be a function that has non-empty output (got "
                "output = [])"
            )
        result = unwrapped(level, output)
        aux = unwrapped_aux(level, aux, has_aux)

    def pulled(cotangents, retain_graph=True, create_graph=None):
        flat, given_spec = tree_flatten(cotangents)
        if len(flat) != len(outputs) or (
            given_spec != out_spec and not (len(flat) == 1 and isinstance(cotangents, Tensor))
        ):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {given_spec}, primal output: {out_spec}"
            )
        before, level.below = level.below, _C.is_grad_enabled()
        try:
            weights = [lifted(t, level) for t in flat]
            grads = _gradients(level, outputs, weights, inputs, retain_graph)
        finally:
            level.below = before
        return tree_unflatten([stripped(g, level) for g in grads], spec)

    return (result, pulled, aux) if has_aux else (result, pulled)


def linearize(func, *primals):
    """``(func(*primals), f)``: f takes tangents of the inputs to J t, without calling ``func``
    again.

    >>> y, f = flambeau.func.linearize(flambeau.sin, flambeau.tensor(0.0))
    >>> f(flambeau.tensor(2.0))
    tensor(2.)
    """
    # J t is the gradient, along t, of w -> J^T w, which is linear: any w serves
    with GradLevel() as outer, enable_grad(), GradLevel() as inner:
        lower, spec = tree_flatten(primals)
        inputs = [tracked(inner.wrap(outer.wrap(p))) for p in lower]
        output = func(*tree_unflatten(inputs, spec))
        outputs, out_spec = tree_flatten(output)
        weights = [outer.wrap(ops.ones_like(stripped(stripped(y, inner), outer))) for y in outputs]
        for w in weights:
            tracked(w)
        found = _gradients(inner, outputs, [inner.wrap(w) for w in weights], inputs)
        grads = [stripped(g, inner) for g in found]
        result = unwrapped(outer, unwrapped(inner, output))

    def pushed(*tangents):
        flat, given_spec = tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(
                f"linearize: Expected tangents of the structure of primals, {spec}, got "
                f"{given_spec}"
            )
        for p, t in zip(lower, flat):
            check_tangent("linearize", p, t)
        before, outer.below = outer.below, _C.is_grad_enabled()
        try:
            out = _gradients(outer, grads, [lifted(t, outer) for t in flat], weights)
        finally:
            outer.below = before
        return tree_unflatten([stripped(g, outer) for g in out], out_spec)

    return result, pushed


# ---- Jacobians -----------------------------------------------------------------------------------


def _parted(t, tensors):
    """The first dimension, that of a basis, cut into those of the tensors."""
    sizes = [x.numel() for x in tensors]
    return [ops.reshape(p, (*x.shape, *p.shape[1:])) for p, x in zip(ops.split(t, sizes), tensors)]


def _check_real(name, flat, what):
    for i, t in enumerate(flat):
        if isinstance(t, Tensor) and t.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {i}"
            )


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of ``func``, by one backward pass for each output
    element.

    The passes run together under `vmap`, ``chunk_size`` at a time. The result has the structure of
    the output, in each place that of the argument (or a tuple for several ``argnums``), and shape
    ``output.shape + input.shape``.

    >>> flambeau.func.jacrev(flambeau.sin)(flambeau.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        many, numbers = _chosen(argnums, args)

        partial = _of_chosen(func, numbers, args, kwargs)
        primals = tuple([args[n] for n in numbers])
        for p in tree_flatten(primals)[0]:
            if not isinstance(p, Tensor):
                raise ValueError(
                    f"jacrev: expected arguments that consist of Tensors, got {type(p)}"
                )
        _check_real("jacrev", tree_flatten(primals)[0], "inputs")
        found = vjp(partial, *primals, has_aux=has_aux)
        output, pull = found[:2]
        outputs, out_spec = tree_flatten(output)
        _check_real("jacrev", outputs, "outputs")
        inputs, in_spec = tree_flatten(primals)
        if not outputs:
            raise RuntimeError("jacrev: Expected at least one Tensor as output")
        basis = tree_unflatten(basis_of(outputs), out_spec)
        rows = vmap(pull, chunk_size=chunk_size)(basis)
        flat_rows = tree_flatten(rows)[0]
        by_input = [_parted(r, outputs) for r in flat_rows]
        per_output = []
        for k in range(len(outputs)):
            tree = tree_unflatten([parts[k] for parts in by_input], in_spec)
            per_output.append(tree if many else tree[0])
        result = tree_unflatten(per_output, out_spec)
        return (result, found[2]) if has_aux else result

    return jacobian


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian of ``func``, by a forward derivative for each input
    element.

    As `jacrev`, which is quicker where there are fewer outputs than inputs.

    >>> flambeau.func.jacfwd(flambeau.sin)(flambeau.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        many, numbers = _chosen(argnums, args)

        partial = _of_chosen(func, numbers, args, kwargs)
        primals = tuple([args[n] for n in numbers])
        inputs, in_spec = tree_flatten(primals)
        _check_real("jacfwd", inputs, "inputs")
        basis = tree_unflatten(basis_of(inputs), in_spec)

        def along(*tangents):
            found = jvp(partial, primals, tangents, has_aux=has_aux)
            if has_aux:
                return found[1], found[2]
            return found[1]

        columns = vmap(along, randomness=randomness)(*basis)
        aux = None
        if has_aux:
            columns, aux = columns
            aux = tree_map(lambda t: t[0] if isinstance(t, Tensor) else t, aux)
        flat, out_spec = tree_flatten(columns)
        _check_real("jacfwd", flat, "outputs")
        per_output = []
        for c in flat:
            parts = []
            sizes = [x.numel() for x in inputs]
            last = ops.movedim(c, 0, -1)
            for p, x in zip(ops.split(last, sizes, -1), inputs):
                parts.append(ops.reshape(p, (*p.shape[:-1], *x.shape)))
            tree = tree_unflatten(parts, in_spec)
            per_output.append(tree if many else tree[0])
        result = tree_unflatten(per_output, out_spec)
        return (result, aux) if has_aux else result

    return jacobian


def hessian(func, argnums=0):
    """A function that returns the Hessian of ``func``: forward over reverse mode.

    >>> flambeau.func.hessian(lambda x: (x**3).sum())(flambeau.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
