"""Exchange of tensors with other libraries by DLPack."""

from __future__ import annotations

import enum

from flambeau._factory import from_dlpack
from flambeau._functional import to_dlpack


class DLDeviceType(enum.IntEnum):
    """Types of devices, by DLPack's numbers."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
