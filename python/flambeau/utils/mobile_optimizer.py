"""Models for phones: not built yet."""

from __future__ import annotations

import enum

from flambeau._absent import declare


class MobileOptimizerType(enum.Enum):
    """Changes to a model."""

    CONV_BN_FUSION = 0
    INSERT_FOLD_PREPACK_OPS = 1
    REMOVE_DROPOUT = 2
    FUSE_ADD_RELU = 3
    HOIST_CONV_PACKED_PARAMS = 4


class LintCode(enum.Enum):
    """Remarks about a model."""

    BUNDLED_INPUT = 1
    REQUIRES_GRAD = 2
    DROPOUT = 3
    BATCHNORM = 4


__all__ = ["LintCode", "MobileOptimizerType"]

declare(
    globals(),
    "models for phones",
    functions="generate_mobile_module_lints optimize_for_mobile",
)
