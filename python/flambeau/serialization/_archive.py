"""PyTorch's zip container: stored records under one folder, each aligned to 64 bytes.

`ArchiveWriter` pads with a local extra field as PyTorch does, and writes from front to back.
`ArchiveReader` reads a record straight into memory and verifies its length and CRC.
"""

from __future__ import annotations

import struct
import zipfile
import zlib

ALIGNMENT = 64
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_CENTRAL_HEADER = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_FULL = 0xFFFFFFFF  # in a narrow field: look at the wide one
_WIDE_FROM = _FULL
# Deflate makes at most about 1032 bytes of one.
_MAX_RATIO = 1100
_PADDING_ID = 0x4246  # "FB", as PyTorch's
_UTF_8 = 0x800
_DATE = (1 << 5) | 1  # the first of January 1980


class ArchiveWriter:
    """Writes records to the binary file `file` (which need not seek).

    Args:
        folder: what all names begin with.
        alignment: of the data of each record, in bytes.
        crc: False leaves zeros in place of the CRCs.
    """

    def __init__(self, file, folder: str, alignment: int = ALIGNMENT, crc: bool = True) -> None:
        self._file = file
        self._folder = folder
        self._alignment = alignment
        self._crc = crc
        self._position = 0
        self._entries: list[tuple[bytes, int, int, int]] = []  # name, CRC, length, position

    def _put(self, data) -> None:
        # A raw file may take a part only.
        view = memoryview(data)
        while view.nbytes:
            count = self._file.write(view)
            if not isinstance(count, int) or count >= view.nbytes:
                break
            view = view[count:]
        self._position += memoryview(data).nbytes

    def write(self, name: str, data) -> None:
        """Writes the buffer `data` as the record `name`."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        encoded, length, start = f"{self._folder}/{name}".encode(), view.nbytes, self._position
        crc = zlib.crc32(view) if self._crc else 0
        extra = struct.pack("<2H2Q", 1, 16, length, length) if length >= _WIDE_FROM else b""
        header = _LOCAL_HEADER.size + len(encoded) + len(extra)
        padding = -(start + header + 4) % self._alignment
        extra += struct.pack("<HH", _PADDING_ID, padding) + b"Z" * padding
        shown = _shown(length)
        version, flags = _version_and_flags(encoded, length >= _WIDE_FROM)
        self._put(
            _LOCAL_HEADER.pack(
                b"PK\x03\x04", version, flags, 0, 0, _DATE, crc, shown, shown, len(encoded),
                len(extra),
            )
            + encoded + extra
        )  # fmt: skip
        self._put(view)
        self._entries.append((encoded, crc, length, start))

    def close(self) -> None:
        """Writes the directory."""
        start = self._position
        for name, crc, length, position in self._entries:
            large = []
            if length >= _WIDE_FROM:
                large += [length, length]
            if position >= _WIDE_FROM:
                large.append(position)
            extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
            version, flags = _version_and_flags(name, bool(large))
            shown = _shown(length)
            self._put(
                _CENTRAL_HEADER.pack(
                    b"PK\x01\x02", version, version, flags, 0, 0, _DATE, crc, shown, shown,
                    len(name), len(extra), 0, 0, 0, 0, _shown(position),
                )
                + name + extra
            )  # fmt: skip
        end, count = self._position, len(self._entries)
        if end >= _WIDE_FROM or count >= 0xFFFF:
            self._put(
                _END_64.pack(b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, end - start, start)
                + _LOCATOR_64.pack(b"PK\x06\x07", 0, end, 1)
            )
        shown = min(count, 0xFFFF)
        self._put(
            _END.pack(b"PK\x05\x06", 0, 0, shown, shown, _shown(end - start), _shown(start), 0)
        )
        if hasattr(self._file, "flush"):
            self._file.flush()


def _shown(number: int) -> int:
    return number if number < _WIDE_FROM else _FULL


def _version_and_flags(name: bytes, large: bool) -> tuple[int, int]:
    return 45 if large else 20, 0 if name.isascii() else _UTF_8


class ArchiveReader:
    """Reads records of the seekable binary file `file`; `label` names it in messages."""

    def __init__(self, file, label: str) -> None:
        self.label = label
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except MemoryError:
            raise
        except Exception as e:  # of many kinds: zipfile expects sound files
            raise self.error(
                f"failed finding central directory ({e!s:.200}); the file is incomplete or damaged"
            ) from None
        infos = self._zip.infolist()
        names = [i.filename for i in infos]
        folders = {n.split("/", 1)[0] for n in names}
        if not names or len(folders) != 1 or len(set(names)) != len(names):
            raise self.error("expected the records of one folder, each once")
        # Records that lie on each other would let a small file ask for a lot of memory.
        if sum(i.compress_size for i in infos) > self._zip.start_dir:
            raise self.error("its records are together longer than the file")
        self._folder = folders.pop()

    def error(self, problem: str) -> RuntimeError:
        return RuntimeError(f"load: cannot read {self.label}: {problem}")

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            info = self._zip.getinfo(f"{self._folder}/{name}")
        except KeyError:
            raise self.error(f"the record '{name[:80]}' is missing") from None
        if info.file_size > info.compress_size * _MAX_RATIO:
            raise self.error(f"the record '{name[:80]}' is damaged: its lengths do not match")
        return info

    def __contains__(self, name: str) -> bool:
        return f"{self._folder}/{name}" in self._zip.NameToInfo

    def names(self) -> list[str]:
        """Names of the records, without the folder."""
        start = len(self._folder) + 1
        return [name[start:] for name in self._zip.namelist()]

    def size(self, name: str) -> int:
        return self._info(name).file_size

    def is_stored(self, name: str) -> bool:
        return self._info(name).compress_type == zipfile.ZIP_STORED

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
        except MemoryError:
            raise
        except Exception as e:  # of the decompressors, and of zipfile
            raise self.error(f"the record '{name}' is damaged: {e!s:.200}") from None

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
        # Files written without CRCs have zeros in their place.
        if info.CRC and crc != info.CRC:
            raise self.error(f"the record '{name}' is damaged: its CRC does not match")

    def _read_some(self, target: memoryview) -> int:
        if hasattr(self._file, "readinto"):
            return self._file.readinto(target)
        data = self._file.read(target.nbytes)
        target[: len(data)] = data
        return len(data)
