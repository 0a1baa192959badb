"""Models with inputs."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "TorchScript",
    functions=(
        "augment_model_with_bundled_inputs"
        " augment_many_model_functions_with_bundled_inputs bundle_inputs"
        " bundle_large_tensor bundle_randn get_model_info"
    ),
)
