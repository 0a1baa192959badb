"""`nn.utils`: parametrizations, weight and spectral norm, pruning, fusion.

`data/nn_utils.json` holds what PyTorch 2.13 gives for CASES; run this file where it is installed
to write it anew.
"""

from __future__ import annotations

import copy
import importlib
import json
import math
import pathlib
import pickle
import warnings

import pytest

DATA = pathlib.Path(__file__).parent / "data" / "nn_utils.json"

if __name__ == "__main__":
    flambeau = importlib.import_module("torch")
else:
    flambeau = importlib.import_module("flambeau")
nn, U = flambeau.nn, flambeau.nn.utils
for _name in ("prune", "stateless"):
    importlib.import_module(f"{flambeau.__name__}.nn.utils.{_name}")
P, Q, R = U.parametrize, U.parametrizations, U.prune

X = flambeau.linspace(-1, 1, 6).reshape(2, 3)
X1 = flambeau.arange(15.0).reshape(1, 3, 5) / 9
X2 = flambeau.arange(20.0).reshape(1, 4, 5) / 9


def floats(t):
    t = flambeau.view_as_real(t.detach().resolve_conj()) if t.is_complex() else t.detach()
    return [float(f"{v:.6g}") for v in t.double().reshape(-1).tolist()]


def state(m):
    return {key: floats(t) for key, t in m.state_dict().items()}


def trained(m, *inputs):
    """Result, gradients and state of each of several calls, and the text of the module."""
    seen = []
    for x in inputs:
        m.zero_grad()
        y = m(x)
        y.abs().square().sum().backward()
        grads = {n: floats(p.grad) for n, p in m.named_parameters() if p.grad is not None}
        seen.append([floats(y), grads, state(m)])
    return [*seen, repr(m)]


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


class Halves(nn.Module):
    def forward(self, x, y):
        return x + y

    def right_inverse(self, x):
        return x / 2, x / 2


def assigned(orthogonal_map, trivial, shape):
    layer = nn.Linear(*shape)
    m = Q.orthogonal(layer, orthogonal_map=orthogonal_map, use_trivialization=trivial)
    tall = (max(shape), min(shape))
    values = (flambeau.arange(1.0, 1 + tall[0] * tall[1]) ** 2).cos().reshape(tall)
    q, _ = flambeau.linalg.qr(values)
    m.weight = q.reshape(m.weight.shape) if q.shape == m.weight.shape else q.mT
    return floats(m.weight), state(m)


def pruned(prune):
    m = nn.Conv1d(4, 6, 2)
    prune(m)
    return trained(m, X2, X2), [n for n, _ in m.named_parameters()]


def pruned_globally():
    net = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3))
    parameters = [(m, name) for m in net for name in ("weight", "bias")]
    for amount in (0.4, 5):
        R.global_unstructured(parameters, pruning_method=R.L1Unstructured, amount=amount)
    return state(net), R.is_pruned(net)


def norm_of(features, kind):
    bn = kind(features)
    bn.running_mean.copy_(flambeau.arange(float(features)))
    bn.running_var.copy_(flambeau.arange(1.0, 1 + features))
    bn.weight.data.uniform_()
    return bn.eval()


def transferred(parametrized):
    target = nn.Linear(3, 3)
    P.transfer_parametrizations_and_params(parametrized, target)
    return trained(target, X)


def removed(m, name="weight", **kwargs):
    P.remove_parametrizations(m, name, **kwargs)
    return repr(m), state(m), [n for n, _ in m.named_parameters()]


def old_weight_norm(m):
    m.load_state_dict(U.weight_norm(nn.Linear(3, 2)).state_dict())
    return state(m)


SYMMETRIC = lambda: P.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())  # noqa: E731
HALVES = lambda: P.register_parametrization(nn.Linear(3, 3), "weight", Halves())  # noqa: E731
CASES = {
    "symmetric": lambda: trained(SYMMETRIC(), X),
    "symmetric tanh": lambda: trained(
        P.register_parametrization(SYMMETRIC(), "weight", nn.Tanh()), X
    ),
    "two originals": lambda: trained(HALVES(), X),
    "transfer": lambda: transferred(SYMMETRIC()),
    "transfer two": lambda: transferred(HALVES()),
    "remove": lambda: removed(SYMMETRIC()),
    "remove original": lambda: removed(SYMMETRIC(), leave_parametrized=False),
    "remove two": lambda: removed(HALVES()),
    "remove buffer": lambda: removed(
        P.register_parametrization(nn.BatchNorm1d(3), "running_var", nn.Tanh()), "running_var"
    ),
    "orthogonal conv": lambda: trained(Q.orthogonal(nn.Conv1d(3, 2, 3)), X1),
    "orthogonal complex": lambda: trained(
        Q.orthogonal(nn.Linear(3, 3, dtype=flambeau.complex64)), X + 0j
    ),
    "weight norm removed": lambda: removed(Q.weight_norm(nn.Linear(3, 2))),
    "weight norm hook removed": lambda: state(U.remove_weight_norm(U.weight_norm(nn.Linear(3, 2)))),
    "weight norm of old state": lambda: old_weight_norm(Q.weight_norm(nn.Linear(3, 2))),
    "spectral norm removed": lambda: removed(Q.spectral_norm(nn.Linear(3, 4)).eval()),
    "spectral norm hook removed": lambda: state(
        U.remove_spectral_norm(U.spectral_norm(nn.Linear(3, 4)))
    ),
    "spectral norm metadata": lambda: dict(U.spectral_norm(nn.Linear(3, 2)).state_dict()._metadata),
    "prune random": lambda: pruned(lambda m: R.random_unstructured(m, "weight", 0.3)),
    "prune none": lambda: pruned(lambda m: R.l1_unstructured(m, "weight", 0)),
    "prune l1": lambda: pruned(lambda m: R.l1_unstructured(m, "weight", 10)),
    "prune scores": lambda: pruned(
        lambda m: R.l1_unstructured(
            m, "weight", 10, importance_scores=flambeau.arange(48.0).reshape(6, 4, 2)
        )
    ),
    "prune unstructured after structured": lambda: pruned(
        lambda m: R.l1_unstructured(R.ln_structured(m, "weight", 0.4, 1, 0), "weight", 0.5)
    ),
    "prune three times": lambda: pruned(
        lambda m: R.random_structured(
            R.ln_structured(R.ln_structured(m, "weight", 0.4, 1, 0), "weight", 0.5, 1, 1),
            "weight", 1, 0,
        )
    ),
    "prune masks": lambda: pruned(
        lambda m: R.custom_from_mask(
            R.custom_from_mask(m, "bias", flambeau.tensor([0, 1, 1, 1, 1, 0])),
            "bias", flambeau.tensor([0, 1, 0, 1, 1, 0]),
        )
    ),
    "prune identity": lambda: pruned(lambda m: R.identity(m, "bias")),
    "prune removed": lambda: pruned(
        lambda m: R.remove(R.l1_unstructured(m, "weight", 9), "weight")
    ),
    "prune globally": pruned_globally,
    "fuse conv": lambda: state(
        U.fuse_conv_bn_eval(nn.Conv2d(3, 2, 2).eval(), norm_of(2, nn.BatchNorm2d))
    ),
    "fuse conv without bias": lambda: state(
        U.fuse_conv_bn_eval(nn.Conv2d(3, 2, 2, bias=False).eval(), norm_of(2, nn.BatchNorm2d))
    ),
    "fuse transposed": lambda: state(
        U.fuse_conv_bn_eval(
            nn.ConvTranspose2d(3, 2, 2).eval(), norm_of(2, nn.BatchNorm2d), transpose=True
        )
    ),
    "fuse linear": lambda: state(
        U.fuse_linear_bn_eval(nn.Linear(3, 4).eval(), norm_of(4, nn.BatchNorm1d))
    ),
    "fuse linear without bias": lambda: state(
        U.fuse_linear_bn_eval(nn.Linear(3, 4, bias=False).eval(), norm_of(4, nn.BatchNorm1d))
    ),
}  # fmt: skip
for _map in ("matrix_exp", "cayley", "householder"):
    for _trivial in (True, False):
        for _shape in ((3, 3), (3, 5), (3, 2)):
            _args = (_map, _trivial, _shape)
            CASES[f"orthogonal {_args}"] = lambda a=_args: trained(
                Q.orthogonal(nn.Linear(*a[2]), orthogonal_map=a[0], use_trivialization=a[1]), X
            )
            if _trivial or _map == "householder":
                CASES[f"orthogonal assigned {_args}"] = lambda a=_args: assigned(*a)
for _dim in (0, 1, -1, 2):
    CASES[f"prune random channels {_dim}"] = lambda d=_dim: pruned(
        lambda m: R.random_structured(m, "weight", 0.4, d)
    )
    for _n, _amount in ((2, 1), (float("-inf"), 0.4)):
        CASES[f"prune channels {_dim} {_n}"] = lambda d=_dim, n=_n, a=_amount: pruned(
            lambda m: R.ln_structured(m, "weight", a, n, d)
        )
for _kind, _of in (("parametrization", Q), ("hook", U)):
    for _dim in (0, 1, None, -1):
        CASES[f"weight norm {_kind} {_dim}"] = lambda of=_of, d=_dim: trained(
            of.weight_norm(nn.Linear(3, 4), dim=d), X
        )
    CASES[f"weight norm {_kind} conv"] = lambda of=_of: trained(
        of.weight_norm(nn.Conv1d(3, 2, 3)), X1
    )
    CASES[f"weight norm {_kind} bias"] = lambda of=_of: trained(
        of.weight_norm(nn.Linear(3, 2), "bias"), X
    )
    CASES[f"spectral norm {_kind}"] = lambda of=_of: trained(
        of.spectral_norm(nn.Linear(3, 4)), X, X
    )
    CASES[f"spectral norm {_kind} dim"] = lambda of=_of: trained(
        of.spectral_norm(nn.Linear(3, 4), dim=1), X
    )
    CASES[f"spectral norm {_kind} eval"] = lambda of=_of: trained(
        of.spectral_norm(nn.Linear(3, 4)).eval(), X, X
    )
    CASES[f"spectral norm {_kind} transposed"] = lambda of=_of: trained(
        of.spectral_norm(nn.ConvTranspose1d(3, 2, 3), n_power_iterations=2), X1
    )

ERRORS = {
    "no such tensor": (ValueError, lambda: P.register_parametrization(SYMMETRIC(), "w", nn.ReLU())),
    "not parametrized": (ValueError, lambda: P.remove_parametrizations(SYMMETRIC(), "bias")),
    "two originals left": (
        ValueError, lambda: P.remove_parametrizations(HALVES(), "weight", leave_parametrized=False),
    ),
    "no right inverse": (
        RuntimeError,
        lambda: setattr(
            P.register_parametrization(SYMMETRIC(), "bias", nn.ReLU()), "bias", flambeau.ones(3)
        ),
    ),
    "parameter assigned": (
        KeyError, lambda: setattr(SYMMETRIC(), "weight", nn.Parameter(flambeau.ones(3, 3))),
    ),
    "other shape": (
        ValueError, lambda: P.register_parametrization(nn.Linear(2, 2), "weight", nn.Flatten(0)),
    ),
    "no map": (ValueError, lambda: Q.orthogonal(nn.Linear(3, 3), orthogonal_map="q")),
    "vector": (ValueError, lambda: Q.orthogonal(nn.Linear(3, 3), "bias")),
    "complex reflections": (
        ValueError,
        lambda: Q.orthogonal(
            nn.Linear(3, 3, dtype=flambeau.complex64), orthogonal_map="householder"
        ),
    ),
    "orthogonal shape": (
        ValueError, lambda: setattr(Q.orthogonal(nn.Linear(3, 3)), "weight", flambeau.eye(2)),
    ),
    "map without inverse": (
        NotImplementedError,
        lambda: setattr(
            Q.orthogonal(nn.Linear(3, 3), use_trivialization=False), "weight", flambeau.eye(3)
        ),
    ),
    "iterations": (ValueError, lambda: Q.spectral_norm(nn.Linear(3, 3), n_power_iterations=0)),
    "hook iterations": (ValueError, lambda: U.spectral_norm(nn.Linear(3, 3), n_power_iterations=0)),
    "dim": (IndexError, lambda: Q.spectral_norm(nn.Linear(3, 3), dim=2)),
    "two hooks": (RuntimeError, lambda: U.spectral_norm(U.spectral_norm(nn.Linear(3, 3)))),
    "two weight norms": (RuntimeError, lambda: U.weight_norm(U.weight_norm(nn.Linear(3, 3)))),
    "no weight norm": (ValueError, lambda: U.remove_weight_norm(nn.Linear(3, 3))),
    "no spectral norm": (ValueError, lambda: U.remove_spectral_norm(nn.Linear(3, 3))),
    "lazy": (ValueError, lambda: U.weight_norm(nn.LazyLinear(3))),
    "lazy spectral": (ValueError, lambda: U.spectral_norm(nn.LazyLinear(3))),
    "no parameter": (ValueError, lambda: U.spectral_norm(nn.Linear(3, 2, bias=False), "bias")),
    "fraction": (ValueError, lambda: R.l1_unstructured(nn.Linear(3, 3), "weight", 1.5)),
    "negative": (ValueError, lambda: R.l1_unstructured(nn.Linear(3, 3), "weight", -1)),
    "no number": (TypeError, lambda: R.l1_unstructured(nn.Linear(3, 3), "weight", "a")),
    "too many": (ValueError, lambda: R.l1_unstructured(nn.Linear(3, 3), "weight", 10)),
    "no channels": (ValueError, lambda: R.ln_structured(nn.Linear(3, 3), "bias", 1, 1, 0)),
    "no such dim": (IndexError, lambda: R.ln_structured(nn.Linear(3, 3), "weight", 1, 1, 5)),
    "no such parameter": (AttributeError, lambda: R.identity(nn.Linear(3, 3), "w")),
    "scores": (
        AssertionError,
        lambda: R.l1_unstructured(nn.Linear(3, 3), "weight", 1, importance_scores=flambeau.ones(2)),
    ),
    "not pruned": (ValueError, lambda: R.remove(nn.Linear(3, 3), "weight")),
    "structured globally": (
        TypeError,
        lambda: R.global_unstructured(
            [(nn.Linear(2, 2), "weight")], pruning_method=R.LnStructured, amount=1, n=1
        ),
    ),
    "no method": (AttributeError, lambda: R.PruningContainer(3)),
    "fused in training": (
        AssertionError, lambda: U.fuse_linear_bn_eval(nn.Linear(3, 4), nn.BatchNorm1d(4)),
    ),
    "fused of other size": (
        AssertionError,
        lambda: U.fuse_linear_bn_eval(nn.Linear(3, 4).eval(), norm_of(3, nn.BatchNorm1d)),
    ),
    "skip_init": (RuntimeError, lambda: U.skip_init(nn.ReLU)),
    "skip_init of no module": (RuntimeError, lambda: U.skip_init(int)),
}  # fmt: skip


def record(name):
    flambeau.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return CASES[name]()


def near(actual, expected, where):
    if isinstance(expected, dict):
        assert list(actual) == list(expected), where
        for key in expected:
            near(actual[key], expected[key], f"{where}/{key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), where
        for i, value in enumerate(expected):
            near(actual[i], value, f"{where}/{i}")
    elif isinstance(expected, float):
        assert math.isclose(actual, expected, rel_tol=1e-4, abs_tol=2e-5), where
    else:
        assert actual == expected, where


@pytest.fixture(scope="module")
def recorded():
    return json.loads(DATA.read_text())


@pytest.mark.parametrize("name", CASES)
def test_as_recorded(name, recorded):
    near(record(name), recorded[name], name)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    kind, call = ERRORS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        with pytest.raises(kind) as caught:
            call()
    assert type(caught.value) is kind


# What values do not show ----------------------------------------------------------------------


def test_original_stays_the_same_parameter():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    P.register_parametrization(layer, "weight", Symmetric())
    assert layer.parametrizations.weight.original is weight
    P.remove_parametrizations(layer, "weight")
    assert layer.weight is weight and type(layer) is nn.Linear
    assert not hasattr(layer, "parametrizations") and not P.is_parametrized(layer)


def test_class_is_of_this_module_alone():
    layer = SYMMETRIC()
    assert isinstance(layer, nn.Linear) and type(layer).__name__ == "ParametrizedLinear"
    assert P.type_before_parametrizations(layer) is nn.Linear
    assert P.is_parametrized(layer, "weight") and not P.is_parametrized(layer, "bias")
    twin = copy.deepcopy(layer)
    assert floats(twin.weight) == floats(layer.weight)
    P.remove_parametrizations(twin, "weight")
    assert type(twin) is nn.Linear and P.is_parametrized(layer) and layer.weight.shape == (3, 3)


def test_pickling_says_what_to_do():
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(SYMMETRIC())
    assert isinstance(pickle.loads(pickle.dumps(P.remove_parametrizations(SYMMETRIC(), "weight"))),
                      nn.Linear)  # fmt: skip


def test_cache():
    layer = SYMMETRIC()
    assert layer.weight is not layer.weight
    with P.cached():
        first = layer.weight
        with P.cached():
            assert layer.weight is first
        assert layer.weight is first
    assert layer.weight is not first


def test_gradients_reach_the_original_twice():
    layer = SYMMETRIC().double()
    x = flambeau.ones(1, 3, dtype=flambeau.float64)

    def loss(original):
        tensors = {"parametrizations.weight.original": original}
        return U.stateless._functional_call(layer, tensors, x).square().sum()

    original = layer.parametrizations.weight.original.detach().requires_grad_()
    assert flambeau.autograd.gradcheck(loss, (original,))
    assert flambeau.autograd.gradgradcheck(loss, (original,))


def test_old_norms_after_two_calls():
    layer = U.spectral_norm(nn.Linear(3, 4))
    (layer(X).sum() + layer(X).sum()).backward()  # the buffers changed in between
    assert layer.weight_orig.grad is not None


def test_spectral_norm_loads_states_without_v():
    layer = U.spectral_norm(nn.Linear(3, 4).double())
    layer(X.double())
    saved = layer.state_dict()
    v = saved.pop("weight_v")
    saved["weight"] = layer.weight.detach()
    saved._metadata[""] = {"version": 1}
    other = U.spectral_norm(nn.Linear(3, 4).double())
    other.load_state_dict(saved)
    assert other.weight_v.shape == v.shape
    other.eval(), layer.eval()
    other(X.double())
    assert floats(other.weight) == pytest.approx(floats(saved["weight"]))
    with pytest.raises(RuntimeError, match="weight_u"):
        other.load_state_dict({k: t for k, t in layer.state_dict().items() if k != "weight_u"})


def test_failed_pruning_changes_nothing():
    layer = nn.Linear(3, 3)
    with pytest.raises(ValueError):
        R.l1_unstructured(layer, "weight", 100)
    assert sorted(layer._parameters) == ["bias", "weight"] and not R.is_pruned(layer)
    R.l1_unstructured(layer, "weight", 4)
    before = layer.weight_mask
    with pytest.raises(ValueError):
        R.ln_structured(layer, "weight", 100, 1, 0)
    assert layer.weight_mask is before and len(layer._forward_pre_hooks) == 1
    R.l1_unstructured(layer, "weight", 1)
    assert layer.weight_mask.sum() == 4


def test_pruned_modules_pickle():
    layer = pickle.loads(pickle.dumps(R.remove(R.identity(nn.Linear(2, 2), "weight"), "weight")))
    assert [n for n, _ in layer.named_parameters()] == ["bias", "weight"]


def test_skip_init():
    layer = U.skip_init(nn.Linear, 4, 3, dtype=flambeau.float64)
    assert layer.weight.shape == (3, 4) and layer.weight.dtype == flambeau.float64
    assert not layer.weight.is_meta
    assert U.skip_init(nn.Linear, 4, 3, device="meta").weight.is_meta


def test_memory_format():
    net = nn.Sequential(nn.Conv2d(3, 2, 2), nn.ConvTranspose2d(2, 3, 2), nn.Linear(2, 2))
    assert U.convert_conv2d_weight_memory_format(net, flambeau.channels_last) is net
    assert net[0].weight.stride() == (12, 1, 6, 3) and net[1].weight.stride() == (12, 1, 6, 3)
    conv = U.convert_conv3d_weight_memory_format(nn.Conv3d(3, 2, 2), flambeau.channels_last_3d)
    assert conv.weight.stride() == (24, 1, 12, 6, 3)


# Calls with other parameters --------------------------------------------------------------------


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(flambeau.ones(()))
        self.b = self.a
        self.register_buffer("count", flambeau.zeros(()))
        self.number = 3

    def forward(self, x):
        self.count = self.count + 1
        return x + self.a + self.b


def test_functional_call():
    call = flambeau.func.functional_call
    m, zero, x = Tied(), flambeau.zeros(()), flambeau.zeros(1)
    assert call(m, {"a": zero}, x).item() == 0
    assert call(m, {"a": zero}, x, tie_weights=False).item() == 1
    assert call(m, {"b": zero}, (x,)).item() == 0
    assert call(m, ({"a": zero}, {}), None, {"x": x}).item() == 0
    assert m(x).item() == 2 and m.a is m.b
    tensors = {"a": zero, "count": flambeau.tensor(7.0)}
    call(m, tensors, x)
    assert tensors["count"].item() == 8 and m.count.item() == 5
    call(m, {"unknown": zero}, x)
    assert not hasattr(m, "unknown")
    gone = nn.Linear(3, 2)
    with pytest.raises(RuntimeError):  # the call fails; the parameters are back all the same
        call(gone, {"weight": flambeau.ones(2, 9)}, X)
    assert gone.weight.shape == (2, 3)


FUNCTIONAL_ERRORS = [
    (RuntimeError, r"Missing key\(s\): 'count'", ({"a": X},), {"strict": True}),
    (ValueError, "multiple values", ({"a": flambeau.zeros(()), "b": flambeau.ones(())},), {}),
    (ValueError, "multiple dictionaries", (({"a": X}, {"a": X}),), {}),
    (ValueError, "to be a dict", (3,), {}),
    (ValueError, "to be dictionaries", ((3,),), {}),
    (TypeError, "not an instance of torch.Tensor", ({"a": 3},), {}),
    (TypeError, "attribute `number`: 3", ({"number": X},), {}),
    (AttributeError, "no attribute `c`", ({"c.d": X},), {}),
    (KeyError, "empty string", ({"": X},), {}),
]  # fmt: skip


@pytest.mark.parametrize("kind, match, args, kwargs", FUNCTIONAL_ERRORS)
def test_functional_call_errors(kind, match, args, kwargs):
    m = Tied()
    with pytest.raises(kind, match=match):
        flambeau.func.functional_call(m, *args, X, tie_weights="tie" not in kwargs, **kwargs)
    assert m(flambeau.zeros(1)).item() == 2


def test_stacked_states():
    nets = [nn.BatchNorm1d(3) for _ in range(2)]
    parameters, buffers = flambeau.func.stack_module_state(nets)
    assert parameters["weight"].shape == (2, 3) and parameters["weight"].requires_grad
    assert parameters["weight"].is_leaf and buffers["num_batches_tracked"].shape == (2,)
    with pytest.raises(RuntimeError, match="at least one"):
        flambeau.func.stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        flambeau.func.stack_module_state([nn.ReLU(), nn.Tanh()])
    with pytest.raises(RuntimeError, match="mode"):
        flambeau.func.stack_module_state([nn.ReLU(), nn.ReLU().eval()])
    net = flambeau.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(3)))
    assert net[0].running_mean is None and not net[0].track_running_stats


if __name__ == "__main__":
    for name in ERRORS:
        test_errors(name)
    values = {name: record(name) for name in CASES}
    DATA.write_text(json.dumps(values, separators=(",", ":")) + "\n")
