"""The capture of functions: not built yet."""

from __future__ import annotations

from flambeau._absent import declare

declare(globals(), "the compiler", functions="convert_frame convert_frame_assert replay")
