"""`SyncBatchNorm`, `DataParallel`, `nn.attention`, `nn.grad`, and names within `nn`."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
import types
import typing
import warnings

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import attention, common_types, parallel
from flambeau.nn import functional as F
from flambeau.nn.attention import SDPBackend, bias, sdpa_kernel


def rows(*shape):
    return flambeau.arange(float(flambeau.Size(shape).numel())).sin().reshape(shape)


# SyncBatchNorm ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False}])
@pytest.mark.parametrize("shape, plain", [((5, 3), nn.BatchNorm1d), ((2, 3, 4, 5), nn.BatchNorm2d)])
def test_sync_batch_norm_of_one_process(options, shape, plain):
    x = rows(*shape)
    sync, other = nn.SyncBatchNorm(3, **options), plain(3, **options)
    for _ in range(2):
        assert flambeau.equal(sync(x), other(x))
    assert flambeau.equal(sync.eval()(x), other.eval()(x))
    assert list(sync.state_dict()) == list(other.state_dict())


def test_sync_batch_norm_errors(monkeypatch):
    with pytest.raises(ValueError, match="expected at least 2D input"):
        nn.SyncBatchNorm(2)(flambeau.ones(2))
    with pytest.raises(ValueError, match="channels should be non-zero"):
        nn.SyncBatchNorm(2)(flambeau.ones(2, 0))
    two = types.SimpleNamespace(is_initialized=lambda: True, get_world_size=lambda group: 2)
    monkeypatch.setitem(sys.modules, "flambeau.distributed", two)
    norm = nn.SyncBatchNorm(2)
    with pytest.raises(ValueError, match="expected input tensor to be on GPU"):
        norm(rows(3, 2))
    assert norm.eval()(rows(3, 2)).shape == (3, 2)


def test_convert_sync_batchnorm():
    net = nn.Sequential(nn.BatchNorm2d(2, affine=False, eps=0.5), nn.Sequential(nn.BatchNorm1d(3)))
    before = net[1][0]
    net.eval()
    assert nn.SyncBatchNorm.convert_sync_batchnorm(net, "group") is net
    assert type(net[0]) is type(net[1][0]) is nn.SyncBatchNorm
    assert net[0].eps == 0.5 and net[0].weight is None and net[0].process_group == "group"
    after = net[1][0]
    assert after.weight is before.weight and after.running_var is before.running_var
    assert after.num_batches_tracked is before.num_batches_tracked and not after.training
    single = nn.BatchNorm1d(2, track_running_stats=False)
    assert nn.SyncBatchNorm.convert_sync_batchnorm(single).running_mean is None
    relu = nn.ReLU()
    assert nn.SyncBatchNorm.convert_sync_batchnorm(relu) is relu


# DataParallel -----------------------------------------------------------------------------------


def test_data_parallel_runs_the_module():
    layer = nn.Bilinear(2, 2, 3)
    net = nn.DataParallel(layer, device_ids=[0, 1])
    x = rows(4, 2)
    assert flambeau.equal(net(x, input2=x), layer(x, x))
    assert list(net.state_dict()) == ["module.weight", "module.bias"] and net.device_ids == []
    assert net.module is layer and nn.parallel.DataParallel is nn.DataParallel
    assert flambeau.equal(parallel.data_parallel(layer, (x, x)), layer(x, x))
    assert parallel.data_parallel(nn.Identity(), x) is x


def test_functions_over_devices():
    results = parallel.parallel_apply([nn.Identity(), nn.Bilinear(2, 2, 1)], [3, (rows(1, 2),) * 2])
    assert results[0] == 3 and results[1].shape == (1, 1)
    with pytest.raises(AssertionError, match="number of modules 1"):
        parallel.parallel_apply([nn.Identity()], [1, 2])
    with pytest.raises(ValueError, match="non cpu device"):
        parallel.replicate(nn.Identity(), ["cpu"])
    with pytest.raises(ValueError, match="non cpu device"):
        parallel.scatter(rows(2), ["cpu"])
    with pytest.raises(AssertionError, match="CPU tensors"):
        parallel.gather([rows(2)], "cpu")
    kwargs = importlib.import_module("flambeau.nn.parallel.scatter_gather").scatter_kwargs
    assert kwargs((1,), {"a": 2}, [0, 1]) == (((1,), (1,)), ({"a": 2}, {"a": 2}))


# Attention --------------------------------------------------------------------------------------


def test_backends():
    cuda = flambeau.backends.cuda
    names = ("flash", "mem_efficient", "math", "cudnn")

    def enabled():
        return [getattr(cuda, f"{name}_sdp_enabled")() for name in names]

    assert enabled() == [True] * 4
    with sdpa_kernel(SDPBackend.MATH):
        assert enabled() == [False, False, True, False]
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            assert enabled() == [True, False, True, False]
        assert attention._cur_sdpa_kernel_backends() == [SDPBackend.MATH]
        cuda.enable_flash_sdp(True)
        cuda.enable_math_sdp(False)
        assert enabled() == [True, False, False, False]
    assert enabled() == [True] * 4
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        first = attention._cur_sdpa_kernel_backends(with_priority=True)
        assert first == [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
    assert attention._cur_sdpa_kernel_backends(with_priority=True)[0] is SDPBackend.FLASH_ATTENTION
    assert int(SDPBackend.ERROR) == -1 and repr(SDPBackend.MATH) == "<SDPBackend.MATH: 0>"
    assert attention._backend_from_string("MATH") is SDPBackend.MATH


def test_choice_of_no_consequence():
    x = rows(1, 2, 3)

    @sdpa_kernel(SDPBackend.CUDNN_ATTENTION)
    def attend():
        return F.scaled_dot_product_attention(x, x, x)

    for _ in range(2):
        assert flambeau.equal(attend(), F.scaled_dot_product_attention(x, x, x))
    with pytest.raises(AssertionError, match="got int"):
        sdpa_kernel(3).__enter__()


@pytest.mark.parametrize("make", [bias.causal_upper_left, bias.causal_lower_right])
@pytest.mark.parametrize("sizes", [(4, 6), (4, 4), (3, 6), (6, 4)])
def test_causal_bias(make, sizes):
    q, k = rows(1, 2, sizes[0], 3), rows(1, 2, sizes[1], 3)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        mask = make(*sizes)
    assert bool(seen) == (make is bias.causal_lower_right and sizes[0] > sizes[1])
    shift = sizes[1] - sizes[0] if make is bias.causal_lower_right else 0
    plain = flambeau.ones(*sizes, dtype=flambeau.bool).tril(shift)
    assert isinstance(mask, flambeau.Tensor) and mask.shape == sizes and mask.dtype == plain.dtype
    assert flambeau.equal(mask & True, plain) and repr(mask) == repr(plain)
    out = F.scaled_dot_product_attention(q, k, k, attn_mask=mask)
    expected = F.scaled_dot_product_attention(q, k, k, attn_mask=plain)
    flambeau.testing.assert_close(out, expected)


def test_causal_bias_in_use():
    mask = bias.causal_lower_right(2, 3)
    assert mask.variant == bias.CausalVariant.LOWER_RIGHT
    assert (mask.seq_len_q, mask.seq_len_kv) == (2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for again in (pickle.loads(pickle.dumps(mask)), copy.deepcopy(mask)):
            assert repr(again) == repr(mask)
    x = rows(1, 2, 2)
    with pytest.raises((RuntimeError, ValueError), match="causal=True"):
        F.scaled_dot_product_attention(x, x, x, bias.causal_upper_left(2, 2), is_causal=True)
    with pytest.raises(AssertionError, match="got int"):
        bias.CausalBias(1, 2, 3)
    with pytest.raises(AssertionError, match="2D"):
        bias.causal_upper_left(2)


# Gradients of convolutions ------------------------------------------------------------------------

OPTIONS = [
    {},
    {"stride": 2},
    {"stride": 3, "padding": 1},
    {"dilation": 2},
    {"groups": 2, "stride": 2, "padding": 2},
]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("options", OPTIONS)
def test_gradients_of_convolutions(n, options):
    conv, grad = getattr(F, f"conv{n}d"), nn.grad
    groups = options.get("groups", 1)
    x = rows(2, 4, *[7, 8, 6][:n]).double().requires_grad_()
    w = rows(2, 4 // groups, *[3, 2, 3][:n]).double().requires_grad_()
    out = conv(x, w, None, **options)
    g = rows(*out.shape).double()
    of_x, of_w = flambeau.autograd.grad(out, (x, w), g)
    with flambeau.no_grad():
        flambeau.testing.assert_close(
            getattr(grad, f"conv{n}d_input")(x.shape, w, g, **options), of_x
        )
        flambeau.testing.assert_close(
            getattr(grad, f"conv{n}d_weight")(x, w.shape, g, **options), of_w
        )
    g.requires_grad_()
    again = getattr(grad, f"conv{n}d_weight")(x, w.shape, g, **options)
    assert flambeau.autograd.grad(again.sum(), g)[0].shape == g.shape


def test_size_that_no_convolution_has():
    with pytest.raises(RuntimeError):
        nn.grad.conv1d_input((1, 1, 9), flambeau.ones(1, 1, 2), flambeau.ones(1, 1, 3))


# Paths ------------------------------------------------------------------------------------------


def test_types():
    assert typing.get_args(common_types._size_2_t) == (int, tuple[int, int])
    assert typing.get_args(common_types._ratio_any_t) == (float, tuple[float, ...])


@pytest.mark.parametrize(
    "path",
    """
    nn.modules.batchnorm._BatchNorm nn.modules.batchnorm._NormBase nn.modules.conv._ConvNd
    nn.modules.conv._ConvTransposeNd nn.modules.utils._pair nn.modules.utils._ntuple
    nn.modules.instancenorm._InstanceNorm nn.modules.dropout._DropoutNd nn.modules.loss._Loss
    nn.modules.loss._WeightedLoss nn.modules.pooling._MaxPoolNd nn.modules.padding._ReflectionPadNd
    nn.modules.linear.NonDynamicallyQuantizableLinear nn.modules.module._IncompatibleKeys
    nn.modules.lazy.LazyModuleMixin nn.modules.container.OrderedDict nn.parameter.is_lazy
    nn.functional._canonical_mask nn.functional._in_projection_packed nn.functional._Reduction
    nn.functional._verify_batch_size nn.init._no_grad_uniform_ nn.init._no_grad_trunc_normal_
    nn.init._calculate_correct_fan nn._reduction.get_enum nn.utils.weight_norm.WeightNorm
    nn.utils.spectral_norm.SpectralNorm nn.parallel.data_parallel.DataParallel
    nn.parallel.scatter_gather.scatter_kwargs nn.attention.bias.CausalBias
    """.split(),
)
def test_names_that_programs_import(path):
    module, _, name = path.rpartition(".")
    assert hasattr(importlib.import_module(f"flambeau.{module}"), name)
