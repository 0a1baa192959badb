"""Anomaly mode: where a failing node was made, and NaN in backward."""

from __future__ import annotations

import warnings

import pytest

import flambeau
from flambeau.autograd import Function, detect_anomaly, set_detect_anomaly

pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")


def zero():
    return flambeau.zeros(2, requires_grad=True)


def root_of(x):
    return x.sqrt()  # the line to be named


def failing(context):
    with context:
        x = zero()
        (root_of(x) * 0).sum().backward()


def test_nan_names_the_node_and_its_line():
    with pytest.raises(RuntimeError, match=r"'SqrtBackward0' returned nan values in its 0th out"):
        with pytest.warns(UserWarning, match=r"(?s)Error detected in SqrtBackward0.*line to be na"):
            failing(detect_anomaly())
    x = zero()
    (root_of(x) * 0).sum().backward()
    assert x.grad.isnan().all() and not flambeau.is_anomaly_enabled()


def test_without_check_nan():
    failing(detect_anomaly(check_nan=False))
    with detect_anomaly(check_nan=False):
        assert flambeau.is_anomaly_enabled() and not flambeau.is_anomaly_check_nan_enabled()


class Broken(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise KeyError("broken")


def test_errors_of_backward_name_the_forward_line():
    with detect_anomaly():
        y = Broken.apply(zero())  # made here
    with pytest.warns(UserWarning, match=r"(?s)Error detected in BrokenBackward.*made here"):
        with pytest.raises(KeyError, match="broken"), detect_anomaly():
            y.sum().backward()


def test_a_graph_made_before():
    y = root_of(zero()) * 0
    with pytest.warns(UserWarning, match="SqrtBackward0. No forward pass information available"):
        with pytest.raises(RuntimeError, match="nan values"), detect_anomaly():
            y.sum().backward()


def test_double_backward_names_both_lines():
    with detect_anomaly():
        x = flambeau.zeros(1, requires_grad=True)
        y = x**1.5  # outer line
        (g,) = flambeau.autograd.grad(y.sum(), x, create_graph=True)
        with pytest.warns(UserWarning, match="(?s)Previous calculation was induced by PowBackward"):
            with pytest.raises(RuntimeError, match="nan values"):
                flambeau.autograd.grad((g * 0).sum(), x)


def test_a_saved_tensor_that_changed():
    with detect_anomaly():
        a = zero() * 1
        b = a.exp()  # saves its result
        b.add_(1)  # changes it
    with pytest.warns(UserWarning, match=r"(?s)ExpBackward0.*saves its result"):
        with pytest.raises(RuntimeError, match=r"modified by an inplace.*'add_' \(.*test_anomaly"):
            with detect_anomaly():
                b.sum().backward()


def test_set_detect_anomaly():
    set_detect_anomaly(True)
    try:
        assert flambeau.is_anomaly_enabled()
        with set_detect_anomaly(False):
            assert not flambeau.is_anomaly_enabled()
        assert flambeau.is_anomaly_enabled()
    finally:
        set_detect_anomaly(False)
    flambeau.set_anomaly_enabled(True, False)
    assert flambeau.is_anomaly_enabled() and not flambeau.is_anomaly_check_nan_enabled()
    flambeau.set_anomaly_enabled(False)


def test_as_decorator():
    @detect_anomaly()
    def run():
        assert flambeau.is_anomaly_enabled()
        return (root_of(zero()) * 0).sum().backward()

    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="nan values"):
        run()
    assert not flambeau.is_anomaly_enabled()

    @set_detect_anomaly(True)
    def on():
        return flambeau.is_anomaly_enabled()

    assert not flambeau.is_anomaly_enabled() and on() and not flambeau.is_anomaly_enabled()


def test_nothing_is_kept_when_off():
    assert zero().exp().grad_fn.metadata == {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zero().exp().sum().backward()


def test_it_warns_that_it_is_slow():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        detect_anomaly()
