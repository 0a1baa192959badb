"""Calls of functions in other processes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "remote calls",
    classes="RRef",
    functions=(
        "_all_gather _require_initialized _wait_all get_worker_info init_rpc remote"
        " rpc_async rpc_sync shutdown"
    ),
)
