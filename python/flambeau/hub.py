"""Models from a folder with a ``hubconf.py``, and weights from the cache of downloads.

Nothing is downloaded: repositories are read from local folders, weights from files that are in the
cache already.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import sys
from typing import Any
from urllib.error import HTTPError as HTTPError
from urllib.parse import urlparse

ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
READ_DATA_CHUNK = 128 * 1024
_hub_dir: str | None = None


def _get_torch_home():
    """The folder of PyTorch's files: TORCH_HOME, or ``torch`` in that of caches."""
    caches = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(caches, "torch")))


def get_dir():
    """The folder of downloads.

    Example:
        >>> get_dir().endswith("hub")
        True
    """
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d):
    """Sets the folder of downloads."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _no_network(what):
    return RuntimeError(
        f"flambeau does not download {what}: put it there by other means, or give a local folder"
    )


@contextlib.contextmanager
def _on_path(folder):
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _entry_module(folder):
    path = os.path.join(folder, MODULE_HUBCONF)
    if not os.path.exists(path):
        raise FileNotFoundError(f"[Errno 2] No such file or directory: {path!r}")
    with _on_path(folder):
        spec: Any = importlib.util.spec_from_file_location(MODULE_HUBCONF, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    lacking = [
        name
        for name in getattr(module, VAR_DEPENDENCY, None) or ()
        if importlib.util.find_spec(name) is None
    ]
    if lacking:
        raise RuntimeError(f"Missing dependencies: {', '.join(lacking)}")
    return module


def _folder(repo, source, force_reload):
    """A local folder: the one given, or that of an earlier download."""
    if source == "local":
        return os.path.expanduser(repo)
    if source != "github":
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    name, _, ref = repo.partition(":")
    owner, _, project = name.partition("/")
    if not project:
        raise ValueError(f"expected a repository 'owner/name[:ref]', got {repo!r}")
    for branch in [ref] if ref else ["main", "master"]:
        path = os.path.join(get_dir(), f"{owner}_{project}_{branch.replace('/', '_')}")
        if os.path.isdir(path) and not force_reload:
            return path
    raise _no_network(f"the repository {repo!r} into {get_dir()}")


def _entry(module, name):
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True):
    """The names of a repository's models."""
    folder = github if os.path.isdir(github) else _folder(github, "github", force_reload)
    module = _entry_module(folder)
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check"):
    """The docstring of a repository's model."""
    folder = github if os.path.isdir(github) else _folder(github, "github", force_reload)
    return _entry(_entry_module(folder), model).__doc__


def load(
    repo_or_dir, model, *args, source="github", trust_repo="check", force_reload=False,
    verbose=True, skip_validation=False, **kwargs,
):  # fmt: skip
    """A model that the ``hubconf.py`` of a folder, or of a downloaded repository, makes."""
    folder = _folder(repo_or_dir, source, force_reload)
    with _on_path(folder):
        return _entry(_entry_module(folder), model)(*args, **kwargs)


def _load_local(hubconf_dir, model, *args, **kwargs):
    return load(hubconf_dir, model, *args, source="local", **kwargs)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Copies the file of a ``file:`` address; others are not downloaded."""
    parts = urlparse(url)
    if parts.scheme != "file":
        raise _no_network(f"{url} to {dst}")
    import hashlib
    import shutil
    from urllib.request import url2pathname

    source = url2pathname(parts.path)
    if hash_prefix is not None:
        with open(source, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        if digest[: len(hash_prefix)] != hash_prefix:
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    shutil.copyfile(source, os.path.expanduser(dst))


def load_state_dict_from_url(
    url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None,
    weights_only=False,
):  # fmt: skip
    """The object in a file of the cache that has the name of an address.

    Raises:
        RuntimeError: the file is not there; it is not downloaded.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    from flambeau.serialization import load as load_file

    return load_file(path, map_location=map_location, weights_only=weights_only)


__all__ = [
    "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
    "set_dir",
]  # fmt: skip
