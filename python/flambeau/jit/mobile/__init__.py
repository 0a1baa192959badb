"""TorchScript on phones."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "TorchScript",
    classes="LiteScriptModule",
    functions="_load_for_lite_interpreter",
)
