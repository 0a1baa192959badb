"""Models with integers: not built yet."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    classes=(
        "DeQuantStub FakeQuantize FakeQuantizeBase FusedMovingAvgObsFakeQuantize"
        " HistogramObserver MinMaxObserver MovingAverageMinMaxObserver"
        " MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase"
        " PerChannelMinMaxObserver PlaceholderObserver QConfig QConfigMapping QuantStub"
        " QuantType QuantWrapper RecordingObserver"
    ),
    functions=(
        "add_quant_dequant convert default_eval_fn fuse_modules fuse_modules_qat"
        " get_default_qat_qconfig get_default_qconfig get_default_qconfig_mapping"
        " get_default_qat_qconfig_mapping prepare prepare_qat propagate_qconfig_"
        " quantize quantize_dynamic quantize_jit quantize_dynamic_jit quantize_qat"
        " swap_module"
    ),
)

_MODULES = {
    "fake_quantize",
    "fuse_modules",
    "observer",
    "qconfig",
    "qconfig_mapping",
    "quantize",
    "quantize_fx",
    "stubs",
    "utils",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
