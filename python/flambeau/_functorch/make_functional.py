"""Functions of modules, before `torch.func`."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the old functions of modules",
    classes="FunctionalModule FunctionalModuleWithBuffers",
    functions="combine_state_for_ensemble make_functional make_functional_with_buffers",
)
