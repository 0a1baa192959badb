"""Calls of functions in other processes."""

from __future__ import annotations

import functools

from flambeau._absent import declare

declare(
    globals(),
    "remote calls",
    classes="RRef",
    functions=("_all_gather _wait_all get_worker_info init_rpc remote rpc_async rpc_sync shutdown"),
)


def _require_initialized(func):
    """A function that raises where no agent of remote calls runs, as none ever does."""

    @functools.wraps(func)
    def checked(*args, **kwargs):
        raise RuntimeError(
            "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."
        )

    return checked
