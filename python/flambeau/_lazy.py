"""Modules and names of the package that load on first use, beside those that `__init__` lists."""

from __future__ import annotations

MODULES = {
    "__config__", "__future__", "_dynamo", "_functorch", "_guards", "_higher_order_ops",
    "_inductor", "_jit_internal", "_logging", "_ops", "_prims_common", "_subclasses", "_utils",
    "accelerator", "ao", "compiler", "distributed", "export", "functional", "futures", "fx", "hub",
    "library", "monitor", "mps", "mtia", "nested", "numa", "onnx", "ops", "profiler",
    "quantization", "quasirandom", "return_types", "torch_version", "xpu",
}  # fmt: skip
NAMES = {
    name: module
    for module, names in {
        "_dynamo.eval_frame": "compile",
        "_checks": "_assert _assert_async _check _check_index _check_is_size _check_not_implemented"
        " _check_tensor_all _check_tensor_all_with _check_type _check_value _check_with"
        " _test_check",
        "_streams": "Stream Event get_device_module",
        "_symbolic": "SymBool SymFloat SymInt sym_constrain_range sym_constrain_range_for_size"
        " sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum cond"
        " while_loop",
        "_removed": "eig lstsq matrix_rank solve symeig",
        "_traits": "Tag classproperty compiled_with_cxx11_abi get_file_path has_lapack has_mkl"
        " has_openmp has_spectral is_distributed is_vulkan_available AcceleratorError"
        " _softmax_backward_data _log_softmax_backward_data _shape_as_tensor",
        "futures": "Future",
        "serialization._reader": "PyTorchFileReader",
        "jit": "ScriptModule ScriptFunction fork wait CompilationUnit",
    }.items()
    for name in names.split()
}
# Each also with an underscore, in place.
_FOREACH = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10"
    " log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc add"
    " sub mul div clamp_max clamp_min maximum minimum pow addcmul addcdiv lerp"
)
NAMES.update(
    (f"_foreach_{name}{mark}", "_foreach") for name in _FOREACH.split() for mark in ("", "_")
)
NAMES.update(
    (f"_foreach_{name}", "_foreach") for name in "clone copy_ max mm norm powsum zero_".split()
)
