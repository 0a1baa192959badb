"""flambeau: a deep-learning framework with PyTorch's API, small and quick to start.

``import flambeau as torch`` is meant literally.
"""

from __future__ import annotations

import builtins as _builtins
import importlib as _importlib
import sys as _sys

from . import _C
from ._C import (
    Generator,
    Tensor,
    bfloat16,
    can_cast,
    channels_last,
    channels_last_3d,
    complex32,
    complex64,
    complex128,
    contiguous_format,
    default_generator,
    device,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    get_default_dtype,
    get_num_threads,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    is_inference_mode_enabled,
    layout,
    memory_format,
    preserve_format,
    promote_types,
    set_default_dtype,
    set_num_threads,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._C import UntypedStorage as UntypedStorage
from ._C import bool as bool
from ._errors import FatalError, OutOfMemoryError
from ._errors import LinAlgError as _LinAlgError
from ._factory import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, tensor
from ._size import Size
from ._version import __version__

_C._LinAlgError = _LinAlgError
# Operators pickle by the name of their module.
_sys.modules["flambeau._C.ops"] = _C.ops  # type: ignore[assignment]
# Names of PyTorch's own extension module; `torch._C._nn` and its like are modules of a folder.
_C.__path__ = [__path__[0] + "/_native"]

# every public operator of the table
for _name in _C._public:
    globals()[_name] = getattr(_C.ops, _name)
for _module, _name, _target in _C._aliases:
    if _module == "Tensor":
        setattr(Tensor, _name, getattr(Tensor, _target))

from . import _c_names as _c_names  # noqa: E402
from . import _contract as _contract  # noqa: E402
from . import _functional as _functional  # noqa: E402
from . import _lazy as _lazy  # noqa: E402
from . import _lowrank as _lowrank  # noqa: E402
from . import _pickle as _pickle  # noqa: E402
from . import _tensor as _tensor  # noqa: E402
from . import _tensor_elsewhere as _tensor_elsewhere  # noqa: E402
from . import _untyped as _untyped  # noqa: E402
from . import autograd as autograd  # noqa: E402
from ._contract import *  # noqa: E402
from ._functional import *  # noqa: E402
from ._legacy import TYPES as _TYPES  # noqa: E402
from ._lowrank import *  # noqa: E402
from ._switches import *  # noqa: E402
from ._unique import unique, unique_consecutive  # noqa: E402
from .autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402

Tensor.unique, Tensor.unique_consecutive = unique, unique_consecutive
Tensor.lu = _lowrank.lu
globals().update(_TYPES)

float = float32
double = float64
half = float16
short = int16
int = int32
long = int64
chalf = complex32
cfloat = complex64
cdouble = complex128

dsmm = spmm = _C.ops.mm
hsmm = _C.ops.hspmm
saddmm = _C.ops.sspaddmm

inf = _builtins.float("inf")
nan = _builtins.float("nan")
pi = 3.141592653589793
e = 2.718281828459045
newaxis = None

# loaded on first use
_LAZY_MODULES = {
    "_VF", "amp", "backends", "cpu", "cuda", "distributions", "fft", "func", "jit", "linalg",
    "masked", "multiprocessing", "nn", "optim", "overrides", "package", "random", "serialization",
    "signal", "sparse", "special", "storage", "testing", "types", "utils", "version",
}  # fmt: skip
_LAZY_NAMES = {
    "save": "serialization",
    "load": "serialization",
    "set_printoptions": "_tensor_str",
    "get_printoptions": "_tensor_str",
    "finfo": "_dtype_info",
    "iinfo": "_dtype_info",
    "GradScaler": "amp",
    "autocast": "amp",
    "sparse_coo_tensor": "_sparse.construct",
    "sparse_compressed_tensor": "_sparse.construct",
    "sparse_csr_tensor": "_sparse.construct",
    "sparse_csc_tensor": "_sparse.construct",
    "sparse_bsr_tensor": "_sparse.construct",
    "sparse_bsc_tensor": "_sparse.construct",
    "_sparse_coo_tensor_unsafe": "_sparse.construct",
    "DisableTorchFunction": "overrides",
    "DisableTorchFunctionSubclass": "overrides",
    "vmap": "func",
    "gradient": "_statistics",
    "histogram": "_statistics",
    "histogramdd": "_statistics",
    "unravel_index": "_statistics",
    "affine_grid_generator": "_sampling",
    "grid_sampler": "_sampling",
    "grid_sampler_2d": "_sampling",
    "grid_sampler_3d": "_sampling",
}
for _module, _names in (
    (
        "_storage",
        "TypedStorage",
    ),
    (
        "storage",
        "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage"
        " ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage"
        " ShortStorage",
    ),
    (
        "nn.functional",
        "bilinear channel_shuffle cosine_similarity native_channel_shuffle pairwise_distance pdist"
        " pixel_shuffle pixel_unshuffle",
    ),
    (
        "nn._functional_raw",
        "cosine_embedding_loss embedding_bag hinge_embedding_loss margin_ranking_loss"
        " norm_except_dim poisson_nll_loss triplet_margin_loss",
    ),
):
    _LAZY_NAMES.update(dict.fromkeys(_names.split(), _module))
_C.__getattr__ = _c_names.lookup
_LAZY_MODULES |= _lazy.MODULES
_LAZY_NAMES |= _lazy.NAMES


def __getattr__(name):
    if name in _LAZY_MODULES:
        return _importlib.import_module("." + name, __package__)
    if name in _LAZY_NAMES:
        value = getattr(_importlib.import_module("." + _LAZY_NAMES[name], __package__), name)
        globals()[name] = value
        return value
    if name == "torch":  # `torch.torch`, by which some packages reach names
        return _sys.modules[__package__]
    raise AttributeError(f"module 'torch' has no attribute '{name}' (flambeau {__version__})")


def __dir__():
    return sorted({*globals(), *_LAZY_MODULES, *_LAZY_NAMES})
