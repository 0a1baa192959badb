"""DLPack's numbers; loaded when somebody asks for them."""

from __future__ import annotations

from enum import IntEnum


class DLDeviceType(IntEnum):
    """DLPack's numbers of device types.

    >>> flambeau.ones(1).__dlpack_device__()
    (<DLDeviceType.kDLCPU: 1>, 0)
    """

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
