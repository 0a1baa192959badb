"""`torch._C._onnx`: for programs that name its classes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "TorchScript and ONNX",
    classes="OperatorExportTypes TensorProtoDataType TrainingMode",
)
