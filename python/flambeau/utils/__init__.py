"""Helpers beside the tensor library: data loading, checkpoints, pytrees and hook handles.

The modules load on first use, so that `import flambeau` does not pay for them.
"""

import importlib

_LAZY_MODULES = {
    "_contextlib", "_cxx_pytree", "_device", "_foreach_utils", "_import_utils", "_mode_utils",
    "_ordered_set", "_python_dispatch", "_pytree", "_stats", "_triton", "_typing_utils",
    "_traceback", "backcompat", "benchmark", "bundled_inputs", "checkpoint",
    "collect_env", "cpp_extension", "data", "deterministic", "dlpack", "file_baton",
    "flop_counter", "hipify", "hooks", "mkldnn", "mobile_optimizer", "model_zoo", "module_tracker",
    "pytree", "serialization", "tensorboard", "throughput_benchmark", "weak",
}  # fmt: skip
_NAMES = {"swap_tensors": "_swap", "ThroughputBenchmark": "throughput_benchmark",
          "set_module": "_swap", "get_cpp_backtrace": "_traceback",
          "rename_privateuse1_backend": "_swap",
          "generate_methods_for_privateuse1_backend": "_swap"}  # fmt: skip


def __getattr__(name):
    if name in _LAZY_MODULES:
        return importlib.import_module("." + name, __name__)
    if name in _NAMES:
        return getattr(importlib.import_module("." + _NAMES[name], __name__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
