"""The stack of function transforms."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "access to the stack of function transforms",
    classes="FuncTorchInterpreter",
    functions=(
        "retrieve_current_functorch_interpreter temporarily_clear_interpreter_stack"
        " temporarily_pop_interpreter_stack"
    ),
)
