"""Functions of TorchScript."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "TorchScript",
    functions="_find_builtin _register_builtin",
)
