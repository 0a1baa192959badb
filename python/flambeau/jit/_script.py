"""TorchScript."""

from __future__ import annotations

import flambeau.jit as _jit
from flambeau.jit import script

CompilationUnit = _jit.CompilationUnit  # type: ignore[attr-defined]
RecursiveScriptModule = _jit.RecursiveScriptModule  # type: ignore[attr-defined]
ScriptFunction = _jit.ScriptFunction  # type: ignore[attr-defined]
ScriptModule = _jit.ScriptModule  # type: ignore[attr-defined]

__all__ = ["CompilationUnit", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "script"]
