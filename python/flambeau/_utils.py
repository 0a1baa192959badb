"""Functions that PyTorch's pickles name (`torch._utils._rebuild_…`), for `pickle.load`.

`flambeau.load` has no need of this module; plain pickles of tensors and parameters, which PyTorch
wrote and a program reads under ``flambeau run``, look their functions up here. `ExceptionWrapper`
has its PyTorch name here.
"""

from __future__ import annotations

from ._exception_wrapper import ExceptionWrapper as ExceptionWrapper
from ._exception_wrapper import KeyErrorMessage as KeyErrorMessage
from .serialization._rebuild import REBUILD

for _name, _reference in REBUILD.items():
    if _name.startswith("torch._utils."):
        globals()[_name.rpartition(".")[2]] = _reference.call
