"""`torch.compile` without a compiler: arguments are checked, programs run as they are."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau
import flambeau._dynamo
import flambeau._inductor.config


def test_modules():
    model = flambeau.compile(flambeau.nn.Linear(2, 1))
    assert isinstance(model, flambeau._dynamo.OptimizedModule)
    assert list(model.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert model(flambeau.ones(2)).shape == (1,)
    assert not model.eval()._orig_mod.training
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.weight.equal(model.weight)


def test_functions():
    @flambeau.compile(mode="reduce-overhead")
    def double(x):
        return x * 2

    assert double.__name__ == "double" and double(flambeau.ones(1)).item() == 2
    with pytest.warns(UserWarning, match="never called"):
        flambeau.compile(double, backend=lambda graph, inputs: graph)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: flambeau.compile(3), AssertionError, "callable function is expected"),
        (lambda: flambeau.compile(len, mode="x"), RuntimeError, "Unrecognized mode=x"),
        (lambda: flambeau.compile(len, mode="default", options={}), RuntimeError, "both"),
        (lambda: flambeau.compile(len, backend="x"), RuntimeError, "Invalid backend: 'x'"),
        (lambda: flambeau.fx.symbolic_trace(len), NotImplementedError, "torch.fx.symbolic_trace"),
        (lambda: flambeau._dynamo.config.nothing, AttributeError, "nothing does not exist"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_settings():
    config = flambeau._dynamo.config
    with config.patch(cache_size_limit=3):
        assert config.cache_size_limit == 3
    assert config.cache_size_limit == 8
    flambeau._inductor.config.triton.cudagraphs = False
    assert flambeau._inductor.config.triton.cudagraphs is False
    assert not flambeau.compiler.is_compiling() and not flambeau._dynamo.is_compiling()
