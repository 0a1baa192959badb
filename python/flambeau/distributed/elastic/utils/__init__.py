"""Helpers of launchers."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "launching of several processes",
    functions="get_env_variable_or_raise get_socket_with_port macros",
)
