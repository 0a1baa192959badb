"""Libraries for remote calls."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "remote calls",
    classes="BackendType",
    functions=("backend_registered construct_rpc_backend_options init_backend register_backend"),
)
