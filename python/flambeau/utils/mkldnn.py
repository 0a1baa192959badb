"""Models in the layout of oneDNN: tensors have one layout here."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "tensors in the layout of oneDNN",
    classes=("MkldnnBatchNorm MkldnnConv1d MkldnnConv2d MkldnnConv3d MkldnnLinear MkldnnPrelu"),
    functions="to_mkldnn",
)
