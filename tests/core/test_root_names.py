"""Names of the root namespace from PyTorch's early days, and its global switches."""

from __future__ import annotations

import pytest

import flambeau


def test_tensor_types():
    assert flambeau.FloatTensor([1, 2]).dtype == flambeau.float32
    assert flambeau.LongTensor([1.5]).tolist() == [1]
    assert flambeau.IntTensor(2, 3).shape == (2, 3)
    assert flambeau.DoubleTensor().shape == (0,)
    x = flambeau.ones(2)
    assert flambeau.FloatTensor(x).data_ptr() == x.data_ptr()
    assert isinstance(x, flambeau.FloatTensor) and not isinstance(x, flambeau.LongTensor)
    assert x.type(flambeau.LongTensor).dtype == flambeau.int64
    with pytest.raises(TypeError, match="expected a tensor of dtype"):
        flambeau.LongTensor(x)


def test_default_tensor_type():
    flambeau.set_default_tensor_type("torch.DoubleTensor")
    assert flambeau.get_default_dtype() == flambeau.float64
    flambeau.set_default_tensor_type(flambeau.FloatTensor)
    assert flambeau.get_default_dtype() == flambeau.float32
    with pytest.raises(TypeError, match="floating-point types"):
        flambeau.set_default_tensor_type(flambeau.LongTensor)


def test_methods():
    x = flambeau.arange(4.0)
    assert x.new([1]).dtype == x.dtype and x.new(2, 2).shape == (2, 2)
    with pytest.warns(UserWarning, match="resize is deprecated"):
        assert x.resize(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.clone().map_(x, lambda a, b: a + 2 * b).tolist() == [0, 3, 6, 9]
    assert x.clone().map2_(x, x, lambda a, b, c: a + b * c).tolist() == [0, 2, 6, 12]
    assert x.is_set_to(x.view(4)) and not x.is_set_to(x.clone())
    assert x.double().float_power_(2).tolist() == [0, 1, 4, 9]
    with pytest.raises(RuntimeError, match="float_power_ has dtype"):
        x.float_power_(2)
    assert flambeau.ones(1).is_nonzero() and x.module_load(flambeau.ones(4)) is not x
    assert x.tolist() == [1] * 4


def test_functions_of_one_tensor():
    x = flambeau.ones(2)
    assert flambeau.is_signed(x) and not flambeau.is_conj(x) and not flambeau.is_neg(x)
    assert flambeau.is_same_size(x, x + 1) and flambeau.get_device(x) == -1
    assert flambeau.from_dlpack(flambeau.to_dlpack(x)).data_ptr() == x.data_ptr()
    assert flambeau.norm_except_dim(flambeau.ones(2, 4)).tolist() == [[2], [2]]


def test_mapped_files(tmp_path):
    path = str(tmp_path / "numbers")
    x = flambeau.from_file(path, shared=True, size=3, dtype=flambeau.int32)
    x.copy_(flambeau.tensor([1, 2, 3]))
    again = flambeau.from_file(path, size=3, dtype=flambeau.int32)
    assert again.tolist() == [1, 2, 3]
    again.zero_()
    assert x.tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="need 16"):
        flambeau.from_file(path, size=4, dtype=flambeau.int32)


@pytest.mark.parametrize(
    "name, value, bad",
    [
        ("float32_matmul_precision", "medium", "low"),
        ("deterministic_debug_mode", 1, 7),
        ("num_interop_threads", 3, 0),
    ],
)
def test_switches_remember(name, value, bad):
    read, write = getattr(flambeau, f"get_{name}"), getattr(flambeau, f"set_{name}")
    before = read()
    write(value)
    assert read() == value
    with pytest.raises(RuntimeError):
        write(bad)
    assert read() == value
    write(before)


@pytest.mark.parametrize("reduction, word", [(0, "none"), (1, "mean"), (2, "sum")])
def test_losses_with_numbers(reduction, word):
    f, a, b = flambeau.nn.functional, flambeau.randn(3), flambeau.randn(3)
    sign = flambeau.tensor([1.0, -1.0, 1.0])
    pairs = [
        (
            flambeau.hinge_embedding_loss(a, sign, 1.0, reduction),
            f.hinge_embedding_loss(a, sign, reduction=word),
        ),
        (
            flambeau.margin_ranking_loss(a, b, sign, 0.0, reduction),
            f.margin_ranking_loss(a, b, sign, reduction=word),
        ),
        (
            flambeau.poisson_nll_loss(a, b, True, False, 1e-8, reduction),
            f.poisson_nll_loss(a, b, reduction=word),
        ),
    ]
    assert all(flambeau.equal(got, want) for got, want in pairs)
    with pytest.raises(ValueError, match="reduction"):
        flambeau.hinge_embedding_loss(a, sign, 1.0, 3)


def test_vander():
    x = flambeau.tensor([1, 2, 3])
    assert flambeau.vander(x).tolist() == [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    assert flambeau.vander(x, 2, True).tolist() == [[1, 1], [1, 2], [1, 3]]
    assert flambeau.vander(x, 0).shape == (3, 0)
    with pytest.raises(RuntimeError, match="one-dimensional"):
        flambeau.vander(x.reshape(1, 3))
    with pytest.raises(RuntimeError, match="non-negative"):
        flambeau.vander(x, -1)


def test_functions_in_place():
    x = flambeau.tensor([-1.0, 4.0])
    assert flambeau.abs_(x) is x and flambeau.sqrt_(x).tolist() == [1, 2]


def test_disabled_torch_function():
    class Counted(flambeau.Tensor):
        calls = 0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls += 1
            return super().__torch_function__(func, types, args, kwargs)

    x = flambeau.ones(2).as_subclass(Counted)
    Counted.calls = 0
    with flambeau.DisableTorchFunctionSubclass():
        flambeau.add(x, 1)
    assert Counted.calls == 0
    flambeau.add(x, 1)
    assert Counted.calls == 1
