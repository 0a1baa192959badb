"""`PyTorchFileReader`: the records of a checkpoint file one by one, as some packages read them."""

from __future__ import annotations

import os
from typing import Any

from ._archive import ArchiveReader

_MOST = 1 << 62  # a record of any length: the caller asked for this one


class PyTorchFileReader:
    """Reads records of a checkpoint in the zip format.

    Args:
        file: a path, or a seekable binary file.

    Raises:
        RuntimeError: the file is no such checkpoint, or lacks the record.
    """

    def __init__(self, file: Any) -> None:
        if isinstance(file, str | bytes | os.PathLike):
            self._archive = ArchiveReader(open(file, "rb"), repr(os.fspath(file)))
        else:
            self._archive = ArchiveReader(file, "the file")

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return name in self._archive

    def get_all_records(self) -> list[str]:
        """Names of all records."""
        return self._archive.names()

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._archive.read(name, _MOST)

    def get_record_offset(self, name: str) -> int:
        """Where the bytes of a record begin in the file."""
        return self._archive.locate(name)[0]

    def get_record_size(self, name: str) -> int:
        """The length of a record in bytes."""
        return self._archive.size(name)

    def get_storage_from_record(self, name: str, numel: int, dtype: Any):
        """The first elements of a record as a tensor of one dimension."""
        import flambeau

        data = bytearray(self.get_record(name))
        if not numel:
            return flambeau.empty(0, dtype=dtype)
        return flambeau.frombuffer(data, dtype=dtype, count=numel)

    def serialization_id(self) -> str:
        """What identifies the file's content; empty where it was not written."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""
