"""A lock that is a file."""

from __future__ import annotations

import os
import time


class FileBaton:
    """A lock that a process holds by making a file."""

    def __init__(self, lock_file_path, wait_seconds=0.1, warn_after_seconds=None):
        self.lock_file_path, self.wait_seconds = lock_file_path, wait_seconds
        self.fd = None

    def try_acquire(self):
        """Makes the file; False where it is there."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self):
        """Waits until the file is gone."""
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)

    def release(self):
        """Removes the file."""
        if self.fd is not None:
            os.close(self.fd)
        os.remove(self.lock_file_path)
