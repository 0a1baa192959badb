"""Modules of devices that this build has not: questions, and PyTorch's errors."""

from __future__ import annotations

import pytest

import flambeau

NO_CUDA = "Torch not compiled with CUDA enabled"
NO_XPU = "Torch not compiled with XPU enabled"
NONE = "Cannot access accelerator device when none is available."


def test_questions_have_answers():
    cuda, xpu = flambeau.cuda, flambeau.xpu
    assert (cuda.is_available(), cuda.device_count(), cuda.memory_allocated()) == (False, 0, 0)
    assert (xpu.is_available(), xpu.device_count(), xpu.get_rng_state_all()) == (False, 0, [])
    assert not flambeau.mps.is_available() and not flambeau.mtia.is_available()
    assert flambeau.accelerator.current_accelerator() is None
    assert flambeau.get_device_module() is flambeau.cpu
    assert flambeau.get_device_module("cuda:1") is cuda
    cuda.manual_seed_all(1), cuda.empty_cache(), xpu.empty_cache()
    with cuda.device(-1), cuda.device_of(flambeau.ones(1)), cuda.stream(None):
        pass


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: flambeau.cuda.current_device(), AssertionError, NO_CUDA),
        (lambda: flambeau.cuda.get_device_properties(0), AssertionError, NO_CUDA),
        (lambda: flambeau.cuda.Stream(), RuntimeError, "torch.cuda.Stream requires CUDA support"),
        (lambda: flambeau.cuda.Event(), RuntimeError, "dummy base class Event"),
        (lambda: flambeau.cuda.FloatTensor(1), TypeError, "torch.cuda.FloatTensor not available"),
        (lambda: flambeau.cuda.nvtx.range_push("a"), RuntimeError, "NVTX functions not installed"),
        (lambda: flambeau.cuda.device(0).__enter__(), RuntimeError, "without CUDA support"),
        (lambda: flambeau.ones(1).cuda(), AssertionError, NO_CUDA),
        (lambda: flambeau.ones(1).xpu(), AssertionError, NO_XPU),
        (lambda: flambeau.xpu.synchronize(), AssertionError, NO_XPU),
        (lambda: flambeau.mps.empty_cache(), RuntimeError, "emptyCache\\(\\) without MPS backend"),
        (lambda: flambeau.mtia.synchronize(), RuntimeError, "without MTIA backend"),
        (lambda: flambeau.accelerator.synchronize(), RuntimeError, NONE),
        (lambda: flambeau.Stream("cuda"), RuntimeError, "not linked with support for cuda"),
        (lambda: flambeau.get_device_module("nope"), RuntimeError, "Expected one of cpu, cuda"),
        (lambda: flambeau.backends.mps.get_name(), RuntimeError, "no MPS backend"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_nothing_is_a_tensor_of_a_device():
    assert not isinstance(flambeau.ones(1), flambeau.cuda.FloatTensor)


def test_switches_of_backends():
    cudnn = flambeau.backends.cudnn
    with cudnn.flags(enabled=False, deterministic=True):
        assert (cudnn.enabled, cudnn.deterministic) == (False, True)
    assert (cudnn.enabled, cudnn.deterministic) == (True, False)
    with pytest.raises(TypeError, match="nothing"):
        cudnn.set_flags(nothing=1)


# ---- tensors of devices that are not built -------------------------------------------------------

MAKERS = [
    lambda d: flambeau.zeros(2, device=d),
    lambda d: flambeau.full((2,), 1.0, device=d),
    lambda d: flambeau.arange(3, device=d),
    lambda d: flambeau.linspace(0, 1, 3, device=d),
    lambda d: flambeau.ones_like(flambeau.ones(2), device=d),
    lambda d: flambeau.rand(2, device=d),
    lambda d: flambeau.randperm(3, device=d),
    lambda d: flambeau.ones(1).new_zeros(2, device=d),
    lambda d: flambeau.nn.Linear(2, 2, device=d),
]
MOVES = [
    lambda d: flambeau.ones(2).to(d),
    lambda d: flambeau.ones(2).to(device=f"{d}:0", dtype=flambeau.float64),
    lambda d: flambeau.tensor([1.0], device=d),
    lambda d: flambeau.as_tensor([1.0], device=d),
    lambda d: flambeau.nn.Linear(2, 2).to(d),
    lambda d: flambeau.ones(2, device="meta").to(d),
]


@pytest.mark.parametrize(
    ("device", "error", "message"),
    [
        ("cuda", AssertionError, NO_CUDA),
        ("xpu", AssertionError, NO_XPU),
        ("mtia", AssertionError, "Torch not compiled with MTIA enabled"),
        ("hpu", ModuleNotFoundError, "No module named 'torch.hpu'"),
    ],
)
@pytest.mark.parametrize("call", MAKERS + MOVES)
def test_devices_with_a_module(device, error, message, call):
    with pytest.raises(error, match=message):
        call(device)


@pytest.mark.parametrize("device", ["mps", "xla", "vulkan", "hip"])
def test_devices_without_a_module(device):
    for call in MAKERS[:8]:
        with pytest.raises(NotImplementedError, match=device):
            call(device)
    for call in MOVES[:5]:
        with pytest.raises(RuntimeError, match=f"not linked with support for {device} devices"):
            call(device)


def test_numbers_of_devices():
    for call in (
        lambda: flambeau.device(0),
        lambda: flambeau.zeros(2, device=0),
        lambda: flambeau.ones(2).to(0),
        lambda: flambeau.ones(2).cuda(0),
    ):
        with pytest.raises(RuntimeError, match=NONE):
            call()
    with pytest.raises(RuntimeError, match="must be cuda device"):
        flambeau.ones(2).cuda("cpu")
    layer = flambeau.nn.Linear(2, 2)
    for move, text in ((layer.cuda, NO_CUDA), (layer.xpu, NO_XPU), (layer.mtia, "MTIA")):
        with pytest.raises(AssertionError, match=text):
            move()
