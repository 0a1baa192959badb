"""Numeric checks of derivatives by central differences.

The analytic Jacobian (one backward per output element) is compared with the numeric one,
(f(x + eps) - f(x - eps)) / (2 eps). For complex inputs and outputs the conjugate convention holds:
backward gives the conjugate Wirtinger derivatives, checked along the real and imaginary axes.
"""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Tensor, ops


class GradcheckError(RuntimeError):
    """Numeric and analytic derivatives differ."""


def _outputs(result):
    items = result if isinstance(result, (tuple, list)) else (result,)
    return [t for t in items if isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())]


def _real_parts(t):
    """Elements as real numbers: complex ones give two each."""
    flat = ops.view_as_real(t.detach().contiguous()) if t.is_complex() else t.detach()
    return [float(v) for v in flat.reshape(-1).tolist()]


def _numeric(func, inputs, which, eps):
    """rows[i] = derivative of all real output parts along the i-th real input part."""
    x = inputs[which]
    # .data shares memory: perturbing it changes what func sees
    cells = ops.view_as_real(x.data) if x.is_complex() else x.data
    rows = []
    shape = list(cells.shape)
    total = 1
    for s in shape:
        total *= s
    for i in range(total):
        at, rest = [], i
        for s in reversed(shape):
            at.append(rest % s)
            rest //= s
        cell = cells[tuple(reversed(at))] if shape else cells
        before = cell.item()
        parts = []
        for step in (eps, -eps):
            cell.fill_(before + step)
            with _no_history():
                parts.append([v for t in _outputs(func(*inputs)) for v in _real_parts(t)])
        cell.fill_(before)
        rows.append([(a - b) / (2 * eps) for a, b in zip(*parts)])
    return rows


class _no_history:
    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.before)


def _analytic(func, inputs, which, check_undefined):
    """columns[j] = gradient of the j-th real output part over the real input parts."""
    outputs = _outputs(func(*inputs))
    columns = []
    for out in outputs:
        if not out.requires_grad:
            zero = [0.0] * len(_real_parts(inputs[which]))
            columns += [zero] * len(_real_parts(out))
            continue
        for i in range(out.numel()):
            for unit in (1.0, 1.0j) if out.is_complex() else (1.0,):
                seed = ops.zeros((out.numel(),), dtype=out.dtype)
                seed[i] = unit
                seed = seed.reshape(out.shape)
                (g,) = _C._run_backward([out], [seed], True, False, [inputs[which]], True, False)
                columns.append(
                    [0.0] * len(_real_parts(inputs[which])) if g is None else _real_parts(g)
                )
    return columns


def _forward(func, inputs, which):
    """As _numeric, by forward mode: one run for each real part of the input."""
    from . import forward_ad

    x = inputs[which]
    rows = []
    for i in range(x.numel()):
        for unit in (1.0, 1.0j) if x.is_complex() else (1.0,):
            tangent = ops.zeros((x.numel(),), dtype=x.dtype)
            tangent[i] = unit
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(x.detach(), tangent.reshape(x.shape))
                given = [dual if k == which else t for k, t in enumerate(inputs)]
                parts = []
                for out in _outputs(func(*given)):
                    primal, tangent_out = forward_ad.unpack_dual(out)
                    zero = ops.zeros_like(primal) if tangent_out is None else tangent_out
                    parts += _real_parts(zero)
                rows.append(parts)
    return rows


def _compare(numeric, found, which, atol, rtol, what):
    """``found[k][j]`` against the numeric derivative of output part j along input part k."""
    for k, row in enumerate(numeric):
        for j, want in enumerate(row):
            got = found(k, j)
            if not abs(got - want) <= atol + rtol * abs(want) and not (got != got and want != want):
                raise GradcheckError(
                    f"Jacobian {what}mismatch for output part {j} with respect to input {which} "
                    f"part {k}: numerical {want}, analytical {got}"
                )


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Whether the gradients of ``func`` at ``inputs`` agree with central differences.

    Inputs that require grad are checked; they should be float64 or complex128. Raises
    GradcheckError (or returns False) where they differ. ``check_forward_ad`` checks forward mode,
    too.
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    checked = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "them have requires_grad=True."
        )
    try:
        for i in checked:
            numeric = _numeric(func, inputs, i, eps)
            if check_forward_ad:
                rows = _forward(func, inputs, i)
                _compare(
                    numeric,
                    lambda k, j, rows=rows: rows[k][j],
                    i,
                    atol,
                    rtol,
                    "computed with forward mode ",
                )
            if not check_backward_ad:
                continue
            analytic = _analytic(func, inputs, i, check_undefined_grad)
            _compare(numeric, lambda k, j, rows=analytic: rows[j][k], i, atol, rtol, "")
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """gradcheck of the gradients themselves: second derivatives by central differences."""
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    outputs = [t for t in _outputs(func(*inputs)) if t.requires_grad]
    if grad_outputs is None:
        grads = []
        for k, out in enumerate(outputs):
            steps = ops.arange(0, out.numel(), dtype=_C.float64).reshape(out.shape)
            weight = ops.sin(steps * 1.7 + 0.5 + k).to(out.dtype)
            grads.append(
                (weight * (1 + 0.5j) if out.is_complex() else weight).detach().requires_grad_(True)
            )
    else:
        grads = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    positions = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    count = len(inputs)

    def first_derivative(*args):
        values, weights = args[:count], args[count:]
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(True)
        try:
            outs = [t for t in _outputs(func(*values)) if t.requires_grad]
            found = _C._run_backward(
                outs, list(weights), True, True, [values[i] for i in positions], True, False
            )
        finally:
            _C._set_grad_enabled(before)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_derivative,
        (*inputs, *grads),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
    )
