"""Where in the program something is."""

from __future__ import annotations

import traceback


def get_cpp_backtrace(frames_to_skip=0, maximum_number_of_frames=64):
    """The frames of the C++ code: they are not collected."""
    return "<C++ frames are not collected>"


class CapturedTraceback:
    """The frames of a program at a point."""

    def __init__(self, summary):
        self._summary = summary

    @classmethod
    def extract(cls, *, script=False, cpp=False, skip=0):
        """The frames at this point."""
        return cls(traceback.extract_stack()[: -1 - skip])

    def summary(self):
        """The frames."""
        return self._summary

    def format(self):
        """The frames as text."""
        return traceback.format_list(self._summary)
