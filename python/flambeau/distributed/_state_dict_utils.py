"""State dicts of spread tensors."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "sharded training",
    functions=(
        "_broadcast_state_dict _copy_state_dict _create_cpu_state_dict"
        " _gather_state_dict _offload_state_dict_to_cpu"
    ),
)
