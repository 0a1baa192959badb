"""Errors of the compiler, for programs that catch them; only `InvalidBackend` is raised yet."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """The base of the compiler's errors."""


class InvalidBackend(TorchDynamoException):
    """A backend of `torch.compile` is not known."""

    def __init__(self, name):
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )


class ResetRequired(TorchDynamoException):
    """What was compiled must be forgotten first."""


class InternalTorchDynamoError(TorchDynamoException):
    """The compiler has failed."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend has failed."""


class Unsupported(TorchDynamoException):
    """The program does something that cannot be compiled."""


class UserError(Unsupported):
    """The program uses the compiler wrongly."""


class TorchRuntimeError(TorchDynamoException):
    """An operator has failed while a program was captured."""


class RecompileError(TorchDynamoException):
    """A function was compiled again, which is not allowed."""


class RecompileLimitExceeded(Unsupported):
    """A function was compiled too often."""


class FailOnRecompileLimitHit(Exception):
    """A function was compiled too often, which is an error by a setting."""


class SkipFrame(TorchDynamoException):
    """A function is left as it is."""


class RestartAnalysis(TorchDynamoException):
    """A capture starts again."""


class TensorifyScalarRestartAnalysis(RestartAnalysis):
    """A capture starts again with numbers as tensors."""


class SpeculationRestartAnalysis(RestartAnalysis):
    """A capture starts again with a break."""


class UnspecializeRestartAnalysis(RestartAnalysis):
    """A capture starts again with values that may change."""


class UncapturedHigherOrderOpError(Unsupported):
    """A function given to a control operator cannot be captured."""
