"""Directional derivatives of functions, in forward mode."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Tensor, ops
from flambeau.utils._pytree import tree_flatten, tree_map, tree_unflatten

from .forward import DualLevel
from .interpreter import leave_inference_mode, stripped


def unwrapped(level, tree):
    return tree_map(lambda t: stripped(t, level) if isinstance(t, Tensor) else t, tree)


def split_aux(result, has_aux, name):
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux "
            "is True"
        )
    return result


def unwrapped_aux(level, aux, has_aux):
    """Auxiliary data outside of ``level``: tensors only."""

    def outside(t):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(t)} (has_aux=True)")
        return stripped(t, level)

    return tree_map(outside, aux) if has_aux else None


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """``(func(*primals), J t)``: the derivative of ``func`` along ``tangents``, in forward mode.

    Args:
        primals, tangents: tuples of the same structure.
        strict: raises where an output does not depend on the inputs, instead of zeros.
        has_aux: ``func`` returns a pair of the output and auxiliary data, which come third.

    >>> flambeau.func.jvp(flambeau.sin, (flambeau.tensor(0.0),), (flambeau.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. It should be valid to "
            f"call f(*primals). Got {type(primals)}"
        )
    flat, spec = tree_flatten(primals)
    flat_tangents, tangents_spec = tree_flatten(tangents)
    if spec != tangents_spec:
        raise RuntimeError(
            f"jvp(f, primals, tangents): Expected primals and tangents to have the same python "
            "structure. For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {spec} and tangents with structure {tangents_spec}"
        )
    if not flat:
        raise RuntimeError("jvp(f, primals, tangents): Expected at least one Tensor in primals")
    for p, t in zip(flat, flat_tangents):
        check_tangent("jvp(f, primals, tangents)", p, t)
    with DualLevel() as level:
        duals = [level.wrap(_normal(p), _normal(t)) for p, t in zip(flat, flat_tangents)]
        output, aux = split_aux(func(*tree_unflatten(duals, spec)), has_aux, "jvp")
        outputs, out_spec = tree_flatten(output)
        derivatives = []
        for y in outputs:
            if not isinstance(y, Tensor):
                raise RuntimeError(
                    f"jvp(f, primals, tangents): Expected f to return tensors, got {type(y)}"
                )
            t = level.tangent(y)
            if t is None:
                if strict:
                    raise RuntimeError(
                        "jvp(f, primals, tangents, strict=True): The output of f is independent of "
                        "the inputs. This is not allowed with strict=True."
                    )
                t = ops.zeros_like(level.value(y))
            derivatives.append(t)
        result = unwrapped(level, output)
        aux = unwrapped_aux(level, aux, has_aux)
        derivative = tree_unflatten([stripped(t, level) for t in derivatives], out_spec)
    return (result, derivative, aux) if has_aux else (result, derivative)


def _normal(t):
    """``t``, or a copy where it was made in inference mode: derivatives keep their arguments."""
    return t.clone() if t.is_inference() else t


def check_tangent(name, p, t):
    if not isinstance(p, Tensor) or not isinstance(t, Tensor):
        raise RuntimeError(
            f"{name}: Expected primals and tangents to be Tensors, got {type(p)} and {type(t)}"
        )
    if tuple(p.shape) != tuple(t.shape):
        raise RuntimeError(
            f"{name}: Expected primal and tangent to have the same shape, got primal of shape "
            f"{tuple(p.shape)} and tangent of shape {tuple(t.shape)}"
        )
    for what, x in (("primal", p), ("tangent", t)):
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {x.dtype}")


def basis_of(tensors):
    """For each tensor, all unit vectors of all tensors together, with its shape."""
    inference = leave_inference_mode()  # what is made in it cannot be differentiated
    try:
        sizes = [t.numel() for t in tensors]
        total, out, at = sum(sizes), [], 0
        for t, n in zip(tensors, sizes):
            rows = ops.zeros((total, n), dtype=t.dtype, device=t.device)
            ops.fill_(ops.diagonal(rows, -at), 1)
            out.append(ops.reshape(rows, (total, *t.shape)))
            at += n
    finally:
        if inference:
            _C._set_inference_mode(True)
    return out
