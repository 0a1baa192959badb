"""What a capture knows of values: not built yet."""

from __future__ import annotations

from flambeau._absent import declare

declare(globals(), "the compiler", classes="ConstantVariable TensorVariable VariableTracker")
