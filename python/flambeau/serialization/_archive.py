"""PyTorch's zip container: stored records under one folder, each aligned to 64 bytes.

`ArchiveWriter` pads with a local extra field as PyTorch does. `ArchiveReader` reads a record
straight into memory and verifies its length and CRC.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

ALIGNMENT = 64
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_ZIP64_FIELD = 20
_ZIP64_FROM = 0x7FFFFFFF
_PADDING_ID = 0x4246  # "FB", as PyTorch's


class ArchiveWriter:
    """Writes records to the binary file `file` (which need not seek)."""

    def __init__(self, file, folder: str) -> None:
        self._file = _CountingWriter(file)
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)
        self._folder = folder

    def write(self, name: str, data) -> None:
        """Writes the buffer `data` as the record `name`."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        name = f"{self._folder}/{name}"
        large = view.nbytes > _ZIP64_FROM
        info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
        # Sizes and CRC up front: a reader of the local header needs no data descriptor.
        header = _LOCAL_HEADER.size + len(name.encode()) + (_ZIP64_FIELD if large else 0)
        padding = -(self._file.tell() + header + 4) % ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING_ID, padding) + b"Z" * padding
        info.file_size = view.nbytes
        with self._zip.open(info, "w", force_zip64=large) as record:
            record.write(view)

    def close(self) -> None:
        self._zip.close()


class _CountingWriter(io.RawIOBase):
    """A write-only view of `file` whose positions start at 0."""

    def __init__(self, file) -> None:
        self._target = file
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data) -> int:
        self._target.write(data)
        count = memoryview(data).nbytes
        self._position += count
        return count

    def flush(self) -> None:
        if hasattr(self._target, "flush"):
            self._target.flush()


class ArchiveReader:
    """Reads records of the seekable binary file `file`; `label` names it in messages."""

    def __init__(self, file, label: str) -> None:
        self.label = label
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, struct.error, NotImplementedError) as e:
            raise self.error(
                f"failed finding central directory ({e}); the file is incomplete or damaged"
            ) from None
        names = [i.filename for i in self._zip.infolist()]
        folders = {n.split("/", 1)[0] for n in names}
        if not names or len(folders) != 1 or len(set(names)) != len(names):
            raise self.error("expected the records of one folder, each once")
        self._folder = folders.pop()

    def error(self, problem: str) -> RuntimeError:
        return RuntimeError(f"load: cannot read {self.label}: {problem}")

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(f"{self._folder}/{name}")
        except KeyError:
            raise self.error(f"the record '{name}' is missing") from None

    def __contains__(self, name: str) -> bool:
        return f"{self._folder}/{name}" in self._zip.NameToInfo

    def size(self, name: str) -> int:
        return self._info(name).file_size

    def locate(self, name: str) -> tuple[int, int]:
        """(position in the file, length) of a record that is stored uncompressed."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise self.error(f"the record '{name}' is compressed")
        if not 0 <= info.header_offset < self._zip.start_dir:
            raise self.error(f"the position of record '{name}' is damaged")
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
            raise self.error(f"the header of record '{name}' is damaged")
        name_length, extra_length = _LOCAL_HEADER.unpack(header)[-2:]
        start = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
        if start + info.file_size > self._zip.start_dir:
            raise self.error(f"the record '{name}' reaches past the end of the records")
        return start, info.file_size

    def read(self, name: str, limit: int = 1 << 32) -> bytes:
        info = self._info(name)
        if info.file_size > limit:
            raise self.error(f"the record '{name}' has {info.file_size} bytes, at most {limit}")
        if info.compress_type == zipfile.ZIP_STORED:
            data = bytearray(self.locate(name)[1])
            self.read_into(name, memoryview(data))
            return bytes(data)
        try:
            return self._zip.read(info)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError) as e:
            raise self.error(f"the record '{name}' is damaged: {e}") from None

    def read_into(self, name: str, target: memoryview) -> None:
        """Fills `target`, which has the record's length, and checks the CRC."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            data = self.read(name)
            if len(data) != target.nbytes:
                raise self.error(f"the record '{name}' has {len(data)} bytes")
            target[:] = data
            return
        start, length = self.locate(name)
        self._file.seek(start)
        done, crc = 0, 0
        while done < length:
            count = self._read_some(target[done : done + (1 << 22)])
            if not count:
                raise self.error(f"the record '{name}' ends after {done} of {length} bytes")
            crc = zlib.crc32(target[done : done + count], crc)
            done += count
        if crc != info.CRC:
            raise self.error(f"the record '{name}' is damaged: its CRC does not match")

    def _read_some(self, target: memoryview) -> int:
        if hasattr(self._file, "readinto"):
            return self._file.readinto(target)
        data = self._file.read(target.nbytes)
        target[: len(data)] = data
        return len(data)
