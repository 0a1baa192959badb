"""Graphs of what tensors do."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "graphs of programs (torch.fx)",
    classes="ProxyTorchDispatchMode PythonKeyTracer",
    functions="dispatch_trace make_fx",
)


def get_proxy_mode():
    """The mode that records: None, as none does."""
    return


def maybe_disable_fake_tensor_mode():
    """Context without fake tensors, of which there are none."""
    import contextlib

    return contextlib.nullcontext()


disable_proxy_modes_tracing = maybe_disable_fake_tensor_mode
