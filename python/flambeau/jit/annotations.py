"""Types in TorchScript."""

from __future__ import annotations

# ruff: noqa: F401, UP035 - programs take the names of types from here
from typing import Any, Dict, List, Optional, Tuple, Union

from flambeau._absent import declare

declare(
    globals(),
    "TorchScript",
    functions="ann_to_type get_signature try_ann_to_type",
)
