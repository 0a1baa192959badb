"""The folder of compiled code."""

from __future__ import annotations

import os


def cache_dir():
    """The folder that compiled code would lie in: TORCHINDUCTOR_CACHE_DIR, or one of the user's."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if folder is None:
        import getpass
        import re
        import tempfile

        user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
        folder = os.path.join(tempfile.gettempdir(), "torchinductor_" + user)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.makedirs(folder, exist_ok=True)
    return folder
