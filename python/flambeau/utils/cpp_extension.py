"""Operators in C++ and CUDA by users: not built yet. Questions about tools have true answers."""

from __future__ import annotations

import os
import shutil
from typing import Any

from flambeau._absent import declare, missing

_PART = "operators that users write in C++"
CUDA_HOME = None
ROCM_HOME = None
CUDNN_HOME = None
SYCL_HOME = None
IS_HIP_EXTENSION = False
IS_WINDOWS = False
IS_MACOS = False
IS_LINUX = True
COMMON_NVCC_FLAGS: list[str] = []
LIB_EXT = ".so"
EXEC_EXT = ""

declare(
    globals(),
    _PART,
    classes="BuildExtension",
    functions="CUDAExtension CppExtension SyclExtension load load_inline include_paths"
    " library_paths BuildExtension.with_options",
)


def is_ninja_available():
    """Whether the program ninja is there."""
    return shutil.which("ninja") is not None


def verify_ninja_availability():
    """Raises where the program ninja is not there."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def get_cxx_compiler():
    """The C++ compiler: CXX, or c++."""
    return os.environ.get("CXX", "c++")


def check_compiler_is_gcc(compiler):
    """Whether a compiler is GCC."""
    import subprocess

    try:
        text = subprocess.run([compiler, "-v"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return False
    return "gcc version" in text


def check_compiler_ok_for_platform(compiler):
    """Whether a compiler is the platform's."""
    return shutil.which(compiler) is not None and check_compiler_is_gcc(compiler)


def get_compiler_abi_compatibility_and_version(compiler):
    """Whether a compiler fits, and its version."""
    raise missing("torch.utils.cpp_extension.get_compiler_abi_compatibility_and_version", _PART)


def get_default_build_root():
    """The folder that extensions would be built in."""
    import tempfile

    return os.path.join(tempfile.gettempdir(), "torch_extensions")


def remove_extension_h_precompiler_headers():
    """Removes headers that were compiled: there are none."""


def _is_cuda_file(path: Any):
    return os.path.splitext(path)[1] in (".cu", ".cuh")
