"""PyTorch's launcher."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "launching of several processes",
    functions=(
        "config_from_args determine_local_world_size elastic_launch get_args_parser"
        " get_rdzv_endpoint get_use_env main parse_args parse_min_max_nnodes run"
        " run_script_path"
    ),
)
