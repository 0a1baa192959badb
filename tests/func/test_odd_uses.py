"""Odd uses of transforms and custom functions: refused, or right."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import flambeau
from flambeau.autograd import forward_ad
from flambeau.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

A = flambeau.tensor([1.0, 2.0, 3.0])


def square(x):
    return (x * x).sum()


def test_transforms_in_inference_mode():
    with flambeau.inference_mode():
        inside = flambeau.tensor([1.0, 2.0, 3.0])
        for a in (A, inside):
            assert grad(square)(a).tolist() == [2, 4, 6]
            assert flambeau.equal(jacrev(flambeau.sin)(a), jacfwd(flambeau.sin)(a))
            assert vmap(grad(lambda x: x * x))(a).tolist() == [2, 4, 6]
            assert jvp(square, (a,), (flambeau.ones(3),))[1].item() == 12
            assert vjp(square, a)[1](flambeau.tensor(1.0))[0].tolist() == [2, 4, 6]
        assert hessian(square)(A).diagonal().tolist() == [2, 2, 2]
        assert flambeau.is_inference_mode_enabled() and not flambeau.is_grad_enabled()
        with pytest.raises(KeyError):
            grad(lambda x: {}[x])(A)
        assert flambeau.is_inference_mode_enabled()
    assert not flambeau.is_inference_mode_enabled() and flambeau.is_grad_enabled()


@pytest.mark.parametrize("transform", [vmap, lambda f: grad(lambda x: f(x).sum())])
def test_tensors_of_a_transform_are_not_saved(transform):
    def save(x):
        with pytest.raises(NotImplementedError, match="Cannot access storage"):
            pickle.dumps(x)
        with pytest.raises(NotImplementedError, match="Cannot access storage"):
            flambeau.save({"x": x}, io.BytesIO())
        return copy.deepcopy(x) * 2

    assert transform(save)(A).shape == (3,)


def test_duals_are_saved_without_their_tangent():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(A, flambeau.ones(3))
        assert pickle.loads(pickle.dumps(dual)).tolist() == A.tolist()
        assert forward_ad.unpack_dual(copy.deepcopy(dual)).tangent.tolist() == [1, 1, 1]


def test_arguments_by_name_have_gradients():
    class Double(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x, *, times=2):
            ctx.times = times
            return x * times

        @staticmethod
        def backward(ctx, g):
            return g * ctx.times

    x = flambeau.ones(2, requires_grad=True)
    Double.apply(x=x, times=3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(TypeError, match="missing a required argument"):
        Double.apply(y=x)


COMPLEX = flambeau.tensor([1 + 2j])
INTEGER = flambeau.arange(3)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: jacrev(abs)(COMPLEX), RuntimeError, "jacrev: Expected all inputs to be real"),
        (lambda: jacfwd(abs)(COMPLEX), RuntimeError, "jacfwd: Expected all inputs to be real"),
        (
            lambda: jacrev(lambda x: x * 1j)(A),
            RuntimeError,
            "jacrev: Expected all outputs to be re",
        ),
        (
            lambda: jacfwd(lambda x: x * 1j)(A),
            RuntimeError,
            "jacfwd: Expected all outputs to be re",
        ),
        (lambda: jvp(abs, (INTEGER,), (INTEGER,)), ValueError, "primal to be floating point or"),
        (lambda: jvp(abs, (A,), (INTEGER,)), ValueError, "tangent to be floating point or"),
        (lambda: vjp(lambda x: x.long(), A), RuntimeError, "must be floating-point or complex"),
        (lambda: vjp(lambda x: (), A), RuntimeError, "non-empty output"),
    ],
)
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
