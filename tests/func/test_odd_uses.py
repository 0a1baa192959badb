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


def put_data(x):
    y = x * 2
    y.data = flambeau.zeros(3)
    return y.sum()


def put_into_data(x):
    y = flambeau.ones(3)
    y.data = x
    return y.sum()


TRANSFORMS = {
    "grad": lambda f: grad(f)(A),
    "vmap": lambda f: vmap(f)(flambeau.ones(2, 3)),
    "jvp": lambda f: jvp(f, (A,), (A,)),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize(
    "f, error, text",
    [
        (lambda x: x.requires_grad_().sum(), RuntimeError, "call Tensor.requires_grad_"),
        (lambda x: x.sum() + flambeau.ones(2).requires_grad_().sum(), RuntimeError, "call Tensor"),
        (
            lambda x: flambeau.autograd.functional.jacobian(flambeau.sin, x).sum(),
            RuntimeError,
            "call Tensor.requires_grad_",
        ),
        (put_data, RuntimeError, "mutating directly with `.data`"),
        (put_into_data, RuntimeError, "mutating directly with `.data`"),
        (lambda x: x.detach().apply_(lambda v: v + 1).sum(), RuntimeError, "apply_: Cannot access"),
        (lambda x: x.detach().map_(x.detach(), lambda v, w: v).sum(), RuntimeError, "map_: Cannot"),
        (lambda x: x.untyped_storage().nbytes(), NotImplementedError, "Cannot access storage"),
    ],
)
def test_what_would_lose_a_derivative_is_refused(transform, f, error, text):
    with pytest.raises(error, match=text):
        transform(f)


def test_requires_grad_works_again_after_a_transform():
    with pytest.raises(RuntimeError):
        grad(lambda x: x.requires_grad_())(A)
    assert flambeau.ones(2).requires_grad_().requires_grad
    with forward_ad.dual_level():
        assert forward_ad.make_dual(A, A).requires_grad_().requires_grad


@pytest.mark.parametrize(
    "cut",
    [lambda x: x.data, lambda x: (x * 1).detach_(), flambeau.nn.Parameter],
    ids=["data", "detach_", "Parameter"],
)
def test_what_is_detached_has_no_derivative(cut):
    assert jvp(lambda x: (cut(x) * x).sum(), (A,), (flambeau.ones(3),))[1].item() == 6
    assert grad(lambda x: (cut(x) * x).sum())(A).tolist() == [1, 2, 3]
    columns = vmap(lambda t: jvp(lambda x: cut(x) * x, (A,), (t,))[1])(flambeau.eye(3))
    assert columns.diagonal().tolist() == [1, 2, 3]


def test_tensors_that_outlive_their_level():
    kept = []
    for transform in (TRANSFORMS["grad"], TRANSFORMS["jvp"]):
        transform(lambda x: (kept.append(x * 2), x.sum())[1])
        escaped = kept.pop()
        assert (escaped.detach() + 1).tolist() == [3, 5, 7]
        assert flambeau.stack([escaped.detach(), A]).shape == (2, 3)
        assert escaped.sum().item() == 12
        assert grad(lambda x, e=escaped: (x * e.detach()).sum())(A).tolist() == [2, 4, 6]
    TRANSFORMS["vmap"](lambda x: (kept.append(x), x)[1])
    for use in (lambda x: x + 1, flambeau.sum, lambda x: x.mul_(2)):
        with pytest.raises(RuntimeError, match="escaped from inside a function being vmapped"):
            use(kept[0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(A, A) * 2
        changed = flambeau.zeros(3)
        changed.copy_(dual)
    for x in (dual, changed):
        assert (x + 1).tolist() == [3, 5, 7]
        with forward_ad.dual_level():
            assert forward_ad.unpack_dual(x).tangent is None


# ---- duals ---------------------------------------------------------------------------------------


def test_duals_of_duals_are_refused():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(A, A * 2)
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            forward_ad.make_dual(dual, A)
        with pytest.raises(RuntimeError, match="itself has a forward gradient"):
            forward_ad.make_dual(A, dual)
        again = forward_ad.make_dual(dual.detach(), A)  # detached: no tangent any more
        assert forward_ad.unpack_dual(again).tangent.tolist() == A.tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda d: flambeau.add(d, 1, out=flambeau.empty(3)),
        lambda d: flambeau.add(A, 1, out=d),
        lambda d: flambeau.sum(d, 0, out=flambeau.empty(())),
        lambda d: flambeau.sort(d, out=(flambeau.empty(3), flambeau.empty(3).long())),
        lambda d: flambeau.gt(d, 1, out=flambeau.empty(3, dtype=flambeau.bool)),
        lambda d: flambeau.floor(d, out=flambeau.empty(3)),
    ],
)
def test_out_of_duals_is_refused(call):
    message = "does not support it because it is an out= function"
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=message):
        call(forward_ad.make_dual(A.clone(), A))
    with pytest.raises(NotImplementedError, match=message):
        jvp(call, (A.clone(),), (A,))


def test_tangents_of_integers_and_of_flat_functions():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(A, A * 2)
        for call in (
            lambda d: d.int(),
            lambda d: d.bool(),
            lambda d: d > 1,
            lambda d: d.argmax(),
            lambda d: d.isnan(),
            lambda d: d.sort().indices,
            lambda d: d.detach(),
            lambda d: flambeau.zeros_like(d),
        ):
            assert forward_ad.unpack_dual(call(dual)).tangent is None
        for call in (flambeau.floor, flambeau.round, flambeau.sign, flambeau.trunc):
            assert forward_ad.unpack_dual(call(dual)).tangent.tolist() == [0.0] * 3
            assert forward_ad.unpack_dual(call(A)).tangent is None


def test_batch_norm_in_training_mode_on_duals():
    norm = flambeau.nn.BatchNorm1d(3)
    x, t = flambeau.arange(12.0).view(4, 3), flambeau.ones(4, 3).cumsum(0) ** 2
    with forward_ad.dual_level():
        out = forward_ad.unpack_dual(norm(forward_ad.make_dual(x, t)))
    assert flambeau.allclose(norm.running_mean, flambeau.tensor([0.45, 0.55, 0.65]))
    assert flambeau.allclose(norm.running_var, flambeau.full((3,), 2.4))
    assert norm.num_batches_tracked.item() == 1
    without = flambeau.nn.BatchNorm1d(3, track_running_stats=False)
    _, want = jvp(without, (x,), (t,))
    assert flambeau.equal(out.tangent, want) and abs(out.tangent[0, 0].item() - 0.2981) < 1e-4
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        jvp(norm, (x,), (t,))


def test_checkpoint_in_transforms():
    from flambeau.utils.checkpoint import checkpoint

    def run(x):
        return checkpoint(flambeau.sin, x, use_reentrant=False)

    assert flambeau.equal(vmap(run)(A), A.sin())
    value, tangent = jvp(run, (A,), (A,))
    assert flambeau.equal(value, A.sin()) and flambeau.allclose(tangent, A * A.cos())
    with forward_ad.dual_level():
        out = forward_ad.unpack_dual(run(forward_ad.make_dual(A, A)))
        assert flambeau.allclose(out.tangent, A * A.cos())
    with pytest.raises(RuntimeError, match="support saved tensor hooks"):
        grad(lambda x: run(x).sum())(A)


@pytest.mark.parametrize(
    "call",
    [
        lambda aux: grad(lambda x: (x.sum(), aux), has_aux=True)(A),
        lambda aux: vjp(lambda x: (x, aux), A, has_aux=True),
        lambda aux: jvp(lambda x: (x, aux), (A,), (A,), has_aux=True),
        lambda aux: jacrev(lambda x: (x, aux), has_aux=True)(A),
        lambda aux: jacfwd(lambda x: (x, aux), has_aux=True)(A),
    ],
)
def test_auxiliary_data_are_tensors(call):
    for aux, kind in ((3, "int"), ("text", "str"), (None, "NoneType"), ({"a": (A, 2.0)}, "float")):
        with pytest.raises(RuntimeError, match=f"unsupported type <class '{kind}'>"):
            call(aux)
    assert call({"a": (A, A)})[-1]["a"][1].tolist() == A.tolist()
