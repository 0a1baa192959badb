"""GradScaler: a recorded run, its parts, misuse; the operators beneath it."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau
from flambeau.amp import GradScaler
from flambeau.amp.grad_scaler import OptState

INF, NAN = float("inf"), float("nan")

# What PyTorch 2.13 gives: scale, growth tracker, the parameters after each iteration.
RUN = [
    [256.0, 1, 0.4, -0.8, 0.2, 2.9],
    [768.0, 0, -0.372, 0.744, -0.186, 2.822074],
    [192.0, 0, -0.372, 0.744, -0.186, 2.753736],
    [48.0, 0, -0.861922, 1.723844, -0.430961, 2.753736],
    [48.0, 1, -0.828151, 1.656301, -0.414075, 2.674278],
    [144.0, 0, -0.354815, 0.709631, -0.177408, 2.589221],
    [144.0, 1, 0.254925, -0.509851, 0.127463, 2.511631],
    [36.0, 0, 0.254925, -0.509851, 0.127463, 2.441657],
    [36.0, 1, 0.679204, -1.358408, 0.339602, 2.3778],
    [108.0, 0, 0.738052, -1.476105, 0.369026, 2.308913],
]


def scaler(**options):
    return GradScaler("cpu", **options)


def sgd(*values):
    p = flambeau.nn.Parameter(flambeau.tensor(values or [1.0, 1.0]))
    return p, flambeau.optim.SGD([p], lr=0.5)


def started():
    """A scaler and an optimizer with scaled gradients."""
    s, (p, opt) = scaler(init_scale=4.0), sgd()
    s.scale((p * 2).sum()).backward()
    return s, p, opt


# ---- iterations ----------------------------------------------------------------------------------


def test_recorded_run():
    w = flambeau.nn.Parameter(flambeau.tensor([1.0, -2.0, 0.5]))
    v = flambeau.nn.Parameter(flambeau.tensor([3.0]))
    a = flambeau.optim.SGD([w], lr=0.1, momentum=0.9)
    b = flambeau.optim.Adam([v], lr=0.1)
    s = scaler(init_scale=256.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
    for step, want in enumerate(RUN):
        a.zero_grad()
        b.zero_grad()
        s.scale((w * w).sum() * v.sum()).backward()
        if step in (2, 3, 7):
            (v if step == 3 else w).grad[0] = NAN if step == 7 else INF
        s.unscale_(a)
        s.step(a)
        s.step(b)
        s.update()
        got = [s.get_scale(), s._get_growth_tracker(), *w.tolist(), *v.tolist()]
        assert got == pytest.approx(want, abs=2e-6), step
    assert s.state_dict() == {
        "scale": 108.0,
        "growth_factor": 3.0,
        "backoff_factor": 0.25,
        "growth_interval": 2,
        "_growth_tracker": 0,
    }


def test_step_returns_what_the_optimizer_does():
    s, p, opt = started()
    opt.step = lambda *args, **kwargs: (args, kwargs)
    assert s.step(opt, 1, k=2) == ((1,), {"k": 2})
    assert p.grad.tolist() == [2.0, 2.0]


def test_skipped_step():
    s, p, opt = started()
    p.grad[1] = NAN
    assert s.step(opt) is None and p.tolist() == [1.0, 1.0]
    s.update()
    assert s.get_scale() == 2.0 and s._get_growth_tracker() == 0


def test_unscaled_gradients_may_change_before_the_step():
    s, p, opt = started()
    s.unscale_(opt)
    assert p.grad.tolist() == [2.0, 2.0]
    flambeau.nn.utils.clip_grad_value_([p], 1.0)
    s.step(opt)
    s.update()
    assert p.tolist() == [0.5, 0.5]


def test_scale_of_collections():
    s = scaler(init_scale=2.0)
    one = flambeau.ones(())
    nested = s.scale([one, (one, [one])])
    assert nested == [2.0, (2.0, [2.0])] and type(nested[1]) is tuple
    assert [t.item() for t in s.scale(t for t in (one, one))] == [2.0, 2.0]
    assert s.scale(one.to(flambeau.bfloat16)).dtype == flambeau.float32
    for wrong in (3, None):
        with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
            s.scale(wrong)


def test_update_with_a_given_scale():
    s, _, _ = started()
    s.update(new_scale=3.0)
    assert s.get_scale() == 3.0
    s.update(new_scale=flambeau.tensor(5.0, dtype=flambeau.float64))
    assert s.get_scale() == 5.0
    for wrong in (3, flambeau.ones(2), flambeau.ones((), requires_grad=True) * 1):
        with pytest.raises(AssertionError, match="new_scale should be a float or a 1-element"):
            s.update(new_scale=wrong)


def test_numbers():
    s = scaler()
    assert s.get_scale() == 65536.0 and s.get_growth_factor() == 2.0 and s.is_enabled()
    assert s.get_backoff_factor() == 0.5 and s.get_growth_interval() == 2000
    s.set_growth_factor(3.0)
    s.set_backoff_factor(0.1)
    s.set_growth_interval(7)
    numbers = {"growth_factor": 3.0, "backoff_factor": 0.1, "growth_interval": 7}
    assert s.state_dict() == {"scale": 65536.0, **numbers, "_growth_tracker": 0}
    with pytest.raises(AssertionError, match="The growth factor must be > 1.0"):
        scaler(growth_factor=1.0)
    with pytest.raises(AssertionError, match="The backoff factor must be < 1.0"):
        scaler(backoff_factor=1.0)


# ---- misuse --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["unscale_", "step", "update"])
def test_without_scale(name):
    args = [] if name == "update" else [sgd()[1]]
    with pytest.raises(AssertionError, match=f"Attempted {name} but _scale is None.  This may ind"):
        getattr(scaler(), name)(*args)


def test_twice():
    s, _, opt = started()
    s.unscale_(opt)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called on this optim"):
        s.unscale_(opt)
    s.step(opt)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since the last upd"):
        s.step(opt)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        s.unscale_(opt)
    s.update()
    s.unscale_(opt)


def test_nothing_to_look_at():
    s, _, opt = started()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        s.update()
    opt.zero_grad()
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        s.step(opt)


def test_half_gradients_and_closures():
    p = flambeau.nn.Parameter(flambeau.ones(2, dtype=flambeau.float16))
    opt, s = flambeau.optim.SGD([p], lr=0.5), scaler(init_scale=4.0)
    s.scale((p * 2).sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        s.unscale_(opt)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        s.step(opt, closure=lambda: 1)


# ---- disabled, saved -----------------------------------------------------------------------------


def test_disabled():
    s, (p, opt) = scaler(enabled=False), sgd()
    assert s.scale("anything") == "anything"
    p.sum().backward()
    s.unscale_(opt)
    s.step(opt)
    s.update()
    assert p.tolist() == [0.5, 0.5]
    assert not s.is_enabled() and s.state_dict() == {} and s.get_scale() == 1.0
    s.load_state_dict({})


def test_devices_that_are_not_there():
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available"):
        assert not GradScaler().is_enabled()
    with pytest.warns(FutureWarning, match=r"torch.cuda.amp.GradScaler\(args...\)` is deprecated"):
        assert not flambeau.cuda.amp.GradScaler(enabled=False).is_enabled()
    with pytest.warns(FutureWarning, match=r"torch.amp.GradScaler\('cpu', args...\)"):
        assert flambeau.cpu.amp.GradScaler().is_enabled()
    assert flambeau.GradScaler is GradScaler


def test_saved_and_loaded():
    s, _, opt = started()
    s.step(opt)
    s.update()
    other = scaler()
    other.load_state_dict(s.state_dict())
    assert other.state_dict() == s.state_dict() and other._get_growth_tracker() == 1
    other.scale(flambeau.ones(()))
    other.load_state_dict({**s.state_dict(), "scale": 9.0})
    assert other._scale.item() == 9.0
    again = pickle.loads(pickle.dumps(s))
    assert again.state_dict() == s.state_dict() and again._scale is None
    assert copy.deepcopy(s).state_dict() == s.state_dict()
    with pytest.raises(RuntimeError, match="The source state dict is empty, possibly because"):
        other.load_state_dict({})
    s, _, opt = started()
    s.unscale_(opt)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iterat"):
        pickle.dumps(s)


# ---- optimizers that divide by the scale themselves ----------------------------------------------


class OwnScale(flambeau.optim.SGD):
    _step_supports_amp_scaling = True

    def step(self, closure=None):
        return float(self.grad_scale) if self.grad_scale is not None else None, float(
            self.found_inf
        )


class TakesScaler(flambeau.optim.SGD):
    _step_supports_amp_scaling = True

    def step(self, closure=None, grad_scaler=None):
        return grad_scaler


def test_optimizer_with_its_own_scaling():
    p = flambeau.nn.Parameter(flambeau.ones(2))
    s, opt = scaler(init_scale=4.0), OwnScale([p], lr=0.5)
    s.scale((p * 2).sum()).backward()
    assert s.step(opt) == (4.0, 0.0) and p.grad.tolist() == [8.0, 8.0]
    assert not hasattr(opt, "grad_scale") and not hasattr(opt, "found_inf")
    s.update()
    p.grad[0] = INF
    s.unscale_(opt)
    assert s.step(opt) == (None, 1.0)
    s.update()
    assert s.get_scale() == 2.0
    with pytest.warns(FutureWarning, match="GradScaler is going to stop passing itself"):
        assert s.step(TakesScaler([p], lr=0.5)) is s


def test_check_without_unscaling():
    s, p, opt = started()
    p.grad[0] = INF
    found = s._check_inf_per_device(opt)
    assert [t.item() for t in found.values()] == [1.0] and p.grad[1] == 8.0
    assert s._found_inf_per_device(opt) == found
    assert s._per_optimizer_states[id(opt)]["stage"] is OptState.READY


# ---- operators -----------------------------------------------------------------------------------


def unscale(grads, factor=0.5):
    found = flambeau.zeros(1)
    flambeau._amp_foreach_non_finite_check_and_unscale_(grads, found, flambeau.tensor(factor))
    return found.item()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("count", [1, 7, 1000, 40000])
def test_unscale_dtypes_and_sizes(dtype, count):
    dtype = getattr(flambeau, dtype)
    for bad in (None, INF, -INF, NAN):
        for at in {0, count // 2, count - 1}:
            grads = [
                flambeau.full((3,), 2.0, dtype=dtype),
                flambeau.full((count,), 4.0, dtype=dtype),
            ]
            want = flambeau.full((count,), 2.0, dtype=dtype)
            if bad is not None:
                grads[1][at] = want[at] = bad
            assert unscale(grads) == (bad is not None)
            assert grads[0].tolist() == [1.0] * 3
            flambeau.testing.assert_close(grads[1], want, rtol=0, atol=0, equal_nan=True)


def test_unscale_layouts():
    base = flambeau.ones(4, 6)
    grads = [base[:, ::2], flambeau.ones(3, 2).t(), flambeau.ones(0), flambeau.ones(())]
    assert unscale(grads) == 0
    assert base[0].tolist() == [0.5, 1.0] * 3 and grads[1].tolist() == [[0.5] * 3] * 2
    assert grads[3].item() == 0.5
    assert unscale([]) == 0
    before = grads[1]._version
    unscale(grads)
    assert grads[1]._version == before + 1


def test_unscale_overflow_is_not_found():
    # the elements are looked at before they are multiplied
    grads = [flambeau.full((2,), 3e38)]
    assert unscale(grads, 10.0) == 0 and grads[0].tolist() == [INF, INF]


def test_unscale_errors():
    op, one = flambeau._amp_foreach_non_finite_check_and_unscale_, flambeau.ones(1)
    with pytest.raises(RuntimeError, match="found_inf must be a 1-element tensor"):
        op([one], flambeau.zeros(2), one)
    with pytest.raises(RuntimeError, match="inv_scale must be a 1-element tensor"):
        op([one], flambeau.zeros(1), flambeau.ones(2))
    with pytest.raises(RuntimeError, match="found_inf must be a float tensor"):
        op([one], flambeau.zeros(1, dtype=flambeau.float64), one)
    with pytest.raises(RuntimeError, match="inv_scale must be a float tensor"):
        op([one], flambeau.zeros(1), flambeau.ones(1, dtype=flambeau.float64))
    for dtype in (flambeau.int32, flambeau.complex64):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            op([one.to(dtype)], flambeau.zeros(1), one)


def test_update_scale():
    scale, steps = flambeau.tensor(8.0), flambeau.tensor(0, dtype=flambeau.int32)
    seen = []
    for found in (0.0, 0.0, 0.0, 1.0, 0.0):
        out = flambeau._amp_update_scale_(scale, steps, flambeau.tensor(found), 2.0, 0.5, 2)
        assert out is scale
        seen.append((scale.item(), steps.item()))
    assert seen == [(8.0, 1), (16.0, 0), (16.0, 1), (8.0, 0), (8.0, 1)]
    large = flambeau.tensor([3e38])
    one = flambeau.zeros(1, dtype=flambeau.int32)
    flambeau._amp_update_scale_(large, one, flambeau.zeros(1), 2.0, 0.5, 1)
    assert large.item() == flambeau.tensor(3e38).item()


def test_update_scale_errors():
    op, one = flambeau._amp_update_scale_, flambeau.ones(1)
    steps, none = flambeau.zeros(1, dtype=flambeau.int32), flambeau.zeros(1)
    for args, text in (
        ((flambeau.ones(2), steps, none), "current_scale must be a 1-element tensor"),
        (
            (one, flambeau.zeros(2, dtype=flambeau.int32), none),
            "growth_tracker must be a 1-element",
        ),
        ((one, none, none), "growth_tracker must be an int tensor"),
        ((one, steps, none.double()), "found_inf must be a float tensor"),
        ((one.double(), steps, none), "current_scale must be a float tensor"),
    ):
        with pytest.raises(RuntimeError, match=text):
            op(*args, 2.0, 0.5, 1)


# ---- sparse gradients ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [flambeau.optim.SGD, flambeau.optim.SparseAdam])
@pytest.mark.parametrize("bad", [False, True])
def test_sparse_gradients(make, bad):
    layer = flambeau.nn.Embedding(4, 2, sparse=True)
    optimizer, scaler = make(list(layer.parameters()), lr=0.5), GradScaler("cpu", init_scale=8.0)
    before = layer.weight.detach().clone()
    loss = layer(flambeau.tensor([1, 1, 2])).sum() * (INF if bad else 1)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    assert layer.weight.grad.is_sparse
    if not bad:
        assert layer.weight.grad.to_dense().tolist() == [[0.0] * 2, [2.0] * 2, [1.0] * 2, [0.0] * 2]
    scaler.step(optimizer)
    scaler.update()
    changed = (layer.weight != before).any(1).tolist()
    assert changed == [False] * 4 if bad else changed == [False, True, True, False]
    assert scaler.get_scale() == (4.0 if bad else 8.0)
