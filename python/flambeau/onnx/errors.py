"""Errors of the export to ONNX."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """The export has failed."""


class UnsupportedOperatorError(OnnxExporterError):
    """ONNX has no such operator."""


class SymbolicValueError(OnnxExporterError):
    """A value cannot be written."""


__all__ = ["OnnxExporterError", "SymbolicValueError", "UnsupportedOperatorError"]
