"""Exchange of tensors with other libraries by DLPack."""

from flambeau._dlpack import DLDeviceType
from flambeau._factory import from_dlpack
from flambeau._functional import to_dlpack as to_dlpack

__all__ = ["DLDeviceType", "from_dlpack"]
