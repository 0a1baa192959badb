"""Modules below `torch._C`, found by its `__path__`."""
