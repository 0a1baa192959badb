"""What libraries and devices this build has; switches are accepted and kept.

Each name is a module of its own under PyTorch, `torch.backends.cudnn` and the like, and can be
imported as one.
"""

from __future__ import annotations

import contextlib
import sys
import types
from importlib.machinery import ModuleSpec

from flambeau import _C
from flambeau import _attention_backends as _attention

fp32_precision = "none"
_NAME = __name__


class _Backend(types.ModuleType):
    """A library or device with an availability flag and free attributes."""

    def __init__(self, name, available, *functions, **attributes):
        super().__init__(f"{_NAME}.{name}", f"The library or device {name}: its switches.")
        self.__dict__.update(attributes)
        self.is_available = lambda: available
        if "is_built" in functions:
            self.is_built = lambda: available
        self.__package__ = _NAME
        self.__spec__ = ModuleSpec(self.__name__, None)
        sys.modules[self.__name__] = self
        self.__all__ = [n for n in self.__dict__ if not n.startswith("_")]


def _flags(module, *names):
    """`flags(enabled=…)`: a context in which switches have other values; and `set_flags`."""

    def set_flags(*args, **kwargs):
        given = {**dict(zip(names, args)), **{f"{k.lstrip('_')}": v for k, v in kwargs.items()}}
        before = tuple(getattr(module, n) for n in names)
        for name, value in given.items():
            if name not in names:
                raise TypeError(f"set_flags() got an unexpected keyword argument '{name}'")
            if value is not None:
                setattr(module, name, value)
        return before

    @contextlib.contextmanager
    def flags(*args, **kwargs):
        before = set_flags(*args, **kwargs)
        try:
            yield
        finally:
            for name, value in zip(names, before):
                setattr(module, name, value)

    module.flags, module.set_flags = flags, set_flags


def _unbuilt(name, what):
    def function(*args, **kwargs):
        raise RuntimeError(f"torch.backends.{name}: this build has no {what}")

    return function


cudnn = _Backend(
    "cudnn",
    False,
    enabled=True,
    benchmark=False,
    benchmark_limit=None,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    version=lambda: None,
    is_acceptable=lambda tensor: False,
)
_flags(cudnn, "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
cudnn.conv = types.SimpleNamespace(fp32_precision="none")
cudnn.rnn = types.SimpleNamespace(fp32_precision="none")


def _attention_switches():
    """``flash_sdp_enabled()``, ``enable_flash_sdp(True)`` and their like."""

    def pair(backend):
        def enabled():
            return backend in _attention.allowed

        def enable(enabled):
            (_attention.allowed.add if enabled else _attention.allowed.discard)(backend)

        return enabled, enable

    found = {}
    for name, backend in (
        ("flash", _attention.SDPBackend.FLASH_ATTENTION),
        ("mem_efficient", _attention.SDPBackend.EFFICIENT_ATTENTION),
        ("math", _attention.SDPBackend.MATH),
        ("cudnn", _attention.SDPBackend.CUDNN_ATTENTION),
    ):
        found[f"{name}_sdp_enabled"], found[f"enable_{name}_sdp"] = pair(backend)
    return found


@contextlib.contextmanager
def _sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Within it, attention may use only some implementations; there is one, used in any case."""
    names = ("flash", "math", "mem_efficient", "cudnn")
    before = [getattr(cuda, f"{name}_sdp_enabled")() for name in names]
    wanted = (enable_flash, enable_math, enable_mem_efficient, enable_cudnn)
    for name, value in zip(names, wanted):
        getattr(cuda, f"enable_{name}_sdp")(value)
    try:
        yield {}
    finally:
        for name, value in zip(names, before):
            getattr(cuda, f"enable_{name}_sdp")(value)


class _Choice:
    """`preferred_linalg_library()`: a choice that is kept and changes nothing."""

    def __init__(self, *names):
        self._names, self._value = names, names[0]

    def __call__(self, backend=None):
        if backend is not None:
            if backend not in self._names:
                raise RuntimeError(f"Unknown input value: {backend}; choose from {self._names}")
            self._value = backend
        return self._value


cuda = _Backend(
    "cuda",
    False,
    "is_built",
    matmul=types.SimpleNamespace(
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
        allow_fp16_accumulation=False,
        fp32_precision="none",
    ),
    cufft_plan_cache=types.SimpleNamespace(size=0, max_size=0, clear=lambda: None),
    preferred_linalg_library=_Choice("default", "cusolver", "magma"),
    preferred_blas_library=_Choice("default", "cublas", "cublaslt", "hipblaslt", "ck"),
    allow_fp16_bf16_reduction_math_sdp=lambda enabled: None,
    fp16_bf16_reduction_math_sdp_allowed=lambda: False,
    is_flash_attention_available=lambda: False,
    can_use_flash_attention=lambda params, debug=False: False,
    can_use_efficient_attention=lambda params, debug=False: False,
    can_use_cudnn_attention=lambda params, debug=False: False,
    sdp_kernel=_sdp_kernel,
    **_attention_switches(),
)
mps = _Backend(
    "mps",
    False,
    "is_built",
    is_macos_or_newer=_unbuilt("mps.is_macos_or_newer", "MPS backend"),
    is_macos13_or_newer=_unbuilt("mps.is_macos13_or_newer", "MPS backend"),
    get_name=_unbuilt("mps.get_name", "MPS backend"),
    get_core_count=_unbuilt("mps.get_core_count", "MPS backend"),
)


class _Verbose(contextlib.AbstractContextManager):
    """A library's talk: there is none to turn on."""

    def __init__(self, level=0):
        self.level = level

    def __exit__(self, *exc):
        return False


mkl = _Backend("mkl", False, VERBOSE_OFF=0, VERBOSE_ON=1, verbose=_Verbose)
mkldnn = _Backend(
    "mkldnn",
    True,
    enabled=True,
    deterministic=False,
    allow_tf32=None,
    fp32_precision="none",
    VERBOSE_OFF=0,
    VERBOSE_ON=1,
    VERBOSE_ON_CREATION=2,
    verbose=_Verbose,
    is_acl_available=lambda: False,
    matmul=types.SimpleNamespace(fp32_precision="none"),
    conv=types.SimpleNamespace(fp32_precision="none"),
    rnn=types.SimpleNamespace(fp32_precision="none"),
)
_flags(mkldnn, "enabled", "deterministic", "allow_tf32")
openmp = _Backend("openmp", False)
nnpack = _Backend("nnpack", False, enabled=False)
_flags(nnpack, "enabled")
xnnpack = _Backend("xnnpack", False, enabled=False)
kleidiai = _Backend("kleidiai", False)
cusparselt = _Backend("cusparselt", False, version=lambda: None, get_max_alg_id=lambda: None)
miopen = _Backend("miopen", False, immediate=False)
_flags(miopen, "immediate")
opt_einsum = _Backend(
    "opt_einsum",
    False,
    enabled=False,
    strategy=None,
    get_opt_einsum=lambda: None,
)
_flags(opt_einsum, "enabled", "strategy")
quantized = _Backend("quantized", False, engine="none", supported_engines=["none"])
_fastpath = {"enabled": True}
mha = _Backend(
    "mha",
    True,
    get_fastpath_enabled=lambda: _fastpath["enabled"],
    set_fastpath_enabled=lambda value: _fastpath.update(enabled=value),
)
cpu = _Backend("cpu", True, get_cpu_capability=lambda: str(_C._cpu_target()).upper())
_frozen = {"value": False}


def flags_frozen():
    """Whether `disable_global_flags` was called."""
    return _frozen["value"]


def disable_global_flags():
    """Accepted: switches stay as they are."""
    _frozen["value"] = True


__all__ = [
    "cpu", "cuda", "cudnn", "cusparselt", "disable_global_flags", "flags_frozen", "kleidiai", "mha",
    "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "quantized", "xnnpack",
]  # fmt: skip
