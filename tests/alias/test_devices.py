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
