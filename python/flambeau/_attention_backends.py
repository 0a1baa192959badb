"""Which implementations of attention may be used; `nn.attention.sdpa_kernel` and
`backends.cuda` change it.

There is one implementation, which computes whatever is allowed; the choice is only remembered.
"""

from __future__ import annotations

import enum


class SDPBackend(enum.Enum):
    """The implementations of attention that programs choose among.

    >>> SDPBackend.MATH
    <SDPBackend.MATH: 0>
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value

    def __index__(self):
        return self.value


# In the order in which the current choice is listed.
ALL = (
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
)
allowed = set(ALL)
priority = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.OVERRIDEABLE,
]
