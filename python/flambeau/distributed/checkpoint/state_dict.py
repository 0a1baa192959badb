"""State dicts of models and optimizers on several processes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "checkpoints of several processes",
    classes="StateDictOptions",
    functions=(
        "get_model_state_dict get_optimizer_state_dict get_state_dict"
        " set_model_state_dict set_optimizer_state_dict set_state_dict"
    ),
)
