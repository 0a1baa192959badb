"""`overrides`: modes, the default device, and that everything said to be overridable is."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading

import pytest

import flambeau
from flambeau import overrides


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked", func


def arguments(signature):
    """As many Ducks as the function needs."""
    required = [
        p
        for p in signature.parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return [Duck() for _ in required] or [Duck()]


def test_python_functions_are_overridden():
    checked = 0
    for function, stand_in in overrides.get_testing_overrides().items():
        if isinstance(function, flambeau._C._overridable):
            assert function(*arguments(inspect.signature(stand_in))) == ("asked", function)
            checked += 1
    assert checked > 150


def test_getters_are_overridden():
    class Asked(flambeau.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    x = flambeau._C._make_subclass(Asked, flambeau.ones(2), False)
    names = [n for n in overrides._overridable_functions()[1].values() if n.endswith(".__get__")]
    assert len(names) > 30
    for name in names:
        attribute = name.split(".")[2]
        assert getattr(x, attribute) == getattr(flambeau.Tensor, attribute).__get__


def test_functions_stay_functions():
    relu = flambeau.nn.functional.relu
    assert pickle.loads(pickle.dumps(relu)) is relu and copy.deepcopy(relu) is relu
    assert str(inspect.signature(relu)) == "(input, inplace=False)"
    assert relu.__name__ == "relu" and relu.__code__.co_name == "relu" and relu.__doc__
    assert flambeau.Tensor.numpy.__get__(flambeau.ones(1))().tolist() == [1.0]


def test_modes_nest_and_see_no_call_of_their_own():
    seen = []

    class Noted(overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    with Noted("outer"), Noted("inner") as inner:
        flambeau.add(1, flambeau.tensor(2)) if False else flambeau.exp(flambeau.zeros(1))
        assert overrides._get_current_function_mode() is inner
        with overrides._pop_mode_temporarily(), overrides.DisableTorchFunction():
            flambeau.zeros(1)
    assert seen == [(n, f) for f in ("zeros", "exp") for n in ("inner", "outer")]
    assert overrides._get_current_function_mode_stack() == []
    with pytest.raises(RuntimeError, match="no mode"):
        flambeau._C._pop_torch_function_stack()


def test_a_mode_that_fails_or_refuses():
    class Refuses(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    class Fails(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("no")

    with pytest.raises(TypeError, match="Multiple dispatch failed"), Refuses():
        flambeau.zeros(1)
    with Fails():
        for _ in range(2):
            with pytest.raises(KeyError):
                flambeau.zeros(1)
    assert flambeau.zeros(1).item() == 0.0
    with overrides.BaseTorchFunctionMode():
        assert flambeau.zeros(1).item() == 0.0


def test_modes_belong_to_a_thread():
    found = []
    with flambeau.device("meta"):
        thread = threading.Thread(target=lambda: found.append(flambeau.ones(1).device.type))
        thread.start()
        thread.join()
        assert flambeau.ones(1).is_meta
    assert found == ["cpu"]


def test_default_device():
    assert flambeau.get_default_device() == flambeau.device("cpu")
    try:
        flambeau.set_default_device("meta")
        assert flambeau.ones(1).is_meta and flambeau.get_default_device().type == "meta"
        with flambeau.device("cpu"):
            assert flambeau.nn.Linear(1, 1).weight.device.type == "cpu"
        assert flambeau.nn.Linear(1, 1).weight.is_meta
    finally:
        flambeau.set_default_device(None)
    assert not flambeau.ones(1).is_meta and flambeau._C._len_torch_function_stack() == 0

    @flambeau.device("meta")
    def make():
        return flambeau.zeros(2)

    assert make().is_meta and not flambeau.zeros(2).is_meta


def test_subclasses_keep_their_history():
    class Named(flambeau.Tensor):
        pass

    x = flambeau.ones(2, requires_grad=True)
    y = x.as_subclass(Named)
    z = (y * 2).max(0)
    assert type(z.values) is Named and type(z.indices) is Named
    assert y.grad_fn is not None and type(y[:, None].T) is Named
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
