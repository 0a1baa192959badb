"""What the cases share: the module under test (PyTorch where it records), arguments, outcomes."""

from __future__ import annotations

import importlib
import math
import warnings

import numpy

try:
    import flambeau as torch
except ImportError:
    import torch  # the reference

nn, F = torch.nn, torch.nn.functional
(
    functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize,
    stack_module_state, vjp, vmap,
) = (
    getattr(torch.func, name)
    for name in (
        "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
        "linearize", "stack_module_state", "vjp", "vmap",
    )
)  # fmt: skip
forward_ad = importlib.import_module(torch.__name__ + ".autograd.forward_ad")
R = numpy.random.RandomState
CASES = {}


def T(*shape, seed=0):
    return torch.tensor(R(seed).randn(*shape) if shape else float(R(seed).randn()))


def case(f):
    CASES[f.__name__] = f
    return f


def outcome(f):
    """What f returns, or the name of what it raises."""
    try:
        return f()
    except Exception as e:
        return type(e).__name__


def fill(model, scale=0.3):
    r = R(5)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(r.randn(*p.shape) * scale))
    return model


def plain(o):
    """Results as JSON has them."""
    if isinstance(o, torch.Tensor):
        o = torch.view_as_real(o) if o.is_complex() else o
        o = o.detach()
        if o.numel() > 48:  # shape, norm, and a sum that depends on each element's place
            flat = o.reshape(-1).to(torch.float64)
            weights = torch.cos(torch.arange(o.numel(), dtype=torch.float64))
            return [list(o.shape), *map(plain, (flat.norm(), (flat * weights).sum()))]
        return plain(o.tolist())
    if isinstance(o, dict):
        return {k: plain(v) for k, v in o.items()}
    if isinstance(o, (list, tuple)):
        return [plain(v) for v in o]
    if isinstance(o, float):
        return float(f"{o:.7g}") if math.isfinite(o) else str(o)
    return o


def run(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(CASES[name]())
