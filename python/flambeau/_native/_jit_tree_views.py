"""`torch._C._jit_tree_views`: for programs that name its classes."""

from __future__ import annotations

from flambeau._absent import declare

declare(globals(), "TorchScript and ONNX", classes="ClassDef Def Decl")
