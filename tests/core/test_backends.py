"""`torch.backends`: modules of switches."""

import importlib

import pytest

import flambeau

NAMES = ("cpu cuda cudnn cusparselt kleidiai mha mkl mkldnn mps nnpack openmp opt_einsum").split()


@pytest.mark.parametrize("name", NAMES)
def test_modules(name):
    module = importlib.import_module(f"flambeau.backends.{name}")
    assert getattr(flambeau.backends, name) is module
    if hasattr(module, "is_available"):
        assert module.is_available() is (name == "mkldnn")


def test_flags():
    cudnn = flambeau.backends.cudnn
    with cudnn.flags(benchmark=True, deterministic=True):
        assert (cudnn.benchmark, cudnn.deterministic, cudnn.enabled) == (True, True, True)
    assert (cudnn.benchmark, cudnn.deterministic) == (False, False)
    before = cudnn.set_flags(_benchmark=True)
    assert cudnn.benchmark and before[1] is False
    cudnn.set_flags(*before)
    assert not cudnn.benchmark
    with pytest.raises(TypeError, match="unexpected keyword argument 'benchmrk'"):
        cudnn.set_flags(benchmrk=True)


def test_capability():
    assert flambeau.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
