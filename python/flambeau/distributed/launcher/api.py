"""Starting of several processes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "launching of several processes",
    classes="LaunchConfig elastic_launch",
    functions="launch_agent",
)
