"""Differentiable changes of variables with their inverses and log determinants.

>>> import flambeau
>>> t = ExpTransform()
>>> x = flambeau.tensor([0.0, 1.0])
>>> t(x), t.inv(t(x)), t.log_abs_det_jacobian(x, t(x))
(tensor([1.0000, 2.7183]), tensor([0., 1.]), tensor([0., 1.]))
"""

from __future__ import annotations

from ._transform import (
    ComposeTransform,
    IndependentTransform,
    Transform,
    identity_transform,
)
from ._transform import _InverseTransform as _InverseTransform
from ._transforms_event import (
    CatTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)
from ._transforms_pointwise import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from ._transforms_pointwise import _clipped_sigmoid as _clipped_sigmoid

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "Transform",
    "identity_transform",
]
