"""Types of sparse tensors on CUDA devices: nothing is an instance."""

from __future__ import annotations

import flambeau.cuda as _cuda

for _name in _cuda._TYPES:
    globals()[_name] = _cuda._TensorType(
        _name, (), {"__module__": "torch.cuda.sparse", "is_cuda": True, "is_sparse": True}
    )
__all__ = list(_cuda._TYPES)
