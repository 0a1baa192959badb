"""Models in the ONNX format: not built yet."""

from __future__ import annotations

import importlib
from enum import Enum

from flambeau._absent import declare

from .errors import OnnxExporterError

producer_name, producer_version = "flambeau", "2.13.0"


class TrainingMode(Enum):
    """The mode that a model has while it is written."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(Enum):
    """What becomes of operators that ONNX has not."""

    ONNX = 0
    ONNX_ATEN = 2
    ONNX_ATEN_FALLBACK = 3
    ONNX_FALLTHROUGH = 1


def is_in_onnx_export():
    """Whether a model is being written: never.

    Example:
        >>> is_in_onnx_export()
        False
    """
    return False


__all__ = ["OnnxExporterError", "OperatorExportTypes", "TrainingMode", "is_in_onnx_export"]

declare(
    globals(),
    "export to ONNX",
    classes="ExportableModule InputObserver JitScalarType ONNXProgram",
    functions=(
        "export register_custom_op_symbolic select_model_mode_for_export"
        " unregister_custom_op_symbolic"
    ),
)

_MODULES = {
    "errors",
    "operators",
    "ops",
    "symbolic_helper",
    "symbolic_opset10",
    "symbolic_opset11",
    "symbolic_opset9",
    "utils",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
