"""Options of `save` and `load`: locations, byte orders, mapping, environment, allow-lists."""

from __future__ import annotations

import collections
import copyreg
import io
import mmap
import os
import pickle
import struct
import zipfile

import pytest

import flambeau
from flambeau import serialization
from flambeau.serialization import LoadEndianness
from flambeau.utils.serialization import config


def saved(obj, **options):
    file = io.BytesIO()
    flambeau.save(obj, file, **options)
    file.seek(0)
    return file


def record(file, name):
    with zipfile.ZipFile(file) as archive:
        return archive.read(f"archive/{name}")


OLD = {"_use_new_zipfile_serialization": False}


@pytest.mark.parametrize("options", [{}, OLD])
def test_map_location(options):
    def load(where):
        return flambeau.load(saved(flambeau.ones(2), **options), map_location=where)

    seen = []

    def here(storage, location):
        seen.append((type(storage), location))
        return storage

    for where in ("cpu", flambeau.device("cpu"), {"cpu": "cpu"}, {}, here, lambda s, name: None):
        assert load(where).tolist() == [1, 1]
    assert seen == [(flambeau.UntypedStorage, "cpu")]
    for where in ("meta", flambeau.device("meta"), {"cpu": "meta"}):
        assert load(where).is_meta
    with pytest.raises(RuntimeError, match="don't know how to restore.*tagged with foo"):
        load("foo")
    with pytest.raises(RuntimeError, match=r"CUDA device but torch.cuda.is_available\(\) is False"):
        load("cuda:0")
    with pytest.raises(TypeError, match="must return a storage"):
        load(lambda storage, location: 3)
    with pytest.raises(TypeError, match="map_location must be"):
        load(3)


def test_register_package():
    before = list(serialization._location._registry)
    serialization.register_package(
        5,
        lambda s: "mine" if s.nbytes() == 12 else None,
        lambda s, name: s if name == "mine" else None,
    )
    try:
        file = saved([flambeau.ones(3), flambeau.ones(2)])
        assert b"mine" in record(file, "data.pkl")
        file.seek(0)
        assert flambeau.load(file)[0].tolist() == [1, 1, 1]
    finally:
        serialization._location._registry[:] = before
    file.seek(0)
    with pytest.raises(RuntimeError, match="tagged with mine"):
        flambeau.load(file)
    assert serialization.location_tag(flambeau.ones(1).untyped_storage()) == "cpu"
    assert serialization.normalize_storage_type(flambeau.FloatStorage) is flambeau.FloatStorage
    with pytest.raises(RuntimeError, match="CUDA"):
        serialization.validate_cuda_device("cuda:0")


def test_byte_orders():
    t = flambeau.tensor([1, 2, 3], dtype=flambeau.int32)
    c = flambeau.tensor([1 + 2j, 3 - 4j])
    source = zipfile.ZipFile(saved([t, c], _disable_byteorder_record=True))
    swapped = io.BytesIO()
    with zipfile.ZipFile(swapped, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if "/data/" in name:
                data = struct.pack(
                    f">{len(data) // 4}I", *struct.unpack(f"<{len(data) // 4}I", data)
                )
            target.writestr(name, data)

    def load():
        swapped.seek(0)
        return [x.tolist() for x in flambeau.load(swapped)]

    assert load() != [t.tolist(), c.tolist()]
    serialization.set_default_load_endianness(LoadEndianness.BIG)
    try:
        assert serialization.get_default_load_endianness() is LoadEndianness.BIG
        assert load() == [t.tolist(), c.tolist()]
        marked = saved([t, c])
        assert flambeau.load(marked)[0].tolist() == t.tolist()  # the file's own word counts
    finally:
        serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        serialization.set_default_load_endianness("big")


def test_crc():
    serialization.set_crc32_options(False)
    try:
        assert not serialization.get_crc32_options()
        file = saved(flambeau.ones(2))
    finally:
        serialization.set_crc32_options(True)
    assert {i.CRC for i in zipfile.ZipFile(file).infolist()} == {0}
    file.seek(0)
    assert flambeau.load(file).tolist() == [1, 1]


def test_alignment():
    with config.patch("save.storage_alignment", 4096):
        file = saved(flambeau.ones(3))
    assert record(file, ".storage_alignment") == b"4096"
    info = next(i for i in zipfile.ZipFile(file).infolist() if i.filename.endswith("data/0"))
    name, extra = struct.unpack("<HH", file.getvalue()[info.header_offset + 26 :][:4])
    assert (info.header_offset + 30 + name + extra) % 4096 == 0


def test_config():
    assert config.save.storage_alignment == 64 and config.load.mmap is False
    with config.patch({"load.mmap": True}, **{"save.compute_crc32": False}):
        assert config.load.mmap and not config.save.compute_crc32
    assert config.get_config_copy()["load.mmap"] is False and config.save.compute_crc32
    with pytest.raises(AttributeError, match="config.load.x does not exist"):
        config.load.x = 1
    with pytest.raises(AttributeError), config.patch("other.mmap", True):
        pass


def test_mmap(tmp_path):
    path = tmp_path / "a.pt"
    flambeau.save([flambeau.ones(4), flambeau.zeros(0)], path)
    t, empty = flambeau.load(path, mmap=True)
    t += 1
    assert t.tolist() == [2] * 4 and empty.shape == (0,)
    assert flambeau.load(path)[0].tolist() == [1] * 4
    with config.patch("load.mmap", True), serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert serialization.get_default_mmap_options() == mmap.MAP_SHARED
        flambeau.load(path)[0].add_(2)
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert flambeau.load(path, mmap=True)[0].tolist() == [3] * 4
    with pytest.raises(ValueError, match="file path"):
        flambeau.load(saved(1), mmap=True)
    flambeau.save(1, path, **OLD)
    with pytest.raises(RuntimeError, match="mmap can only be used with files in the zip format"):
        flambeau.load(path, mmap=True)
    with pytest.raises(ValueError, match="MAP_PRIVATE or mmap.MAP_SHARED"):
        serialization.set_default_mmap_options(77)


def test_mmap_of_data_at_odd_places(tmp_path):
    source, path = zipfile.ZipFile(saved(flambeau.arange(5.0))), tmp_path / "a.pt"
    with zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    t = flambeau.load(path, mmap=True)
    assert t.tolist() == [0, 1, 2, 3, 4] and t.data_ptr() % 4 == 0


def test_skip_data(tmp_path):
    with serialization.skip_data():
        file = saved(flambeau.ones(3))
        loaded = flambeau.load(saved(flambeau.ones(3)))
    assert flambeau.load(file).tolist() == [0, 0, 0] and loaded.shape == (3,)


@pytest.mark.parametrize("value", ["1", "y", "Yes", "TRUE"])
def test_environment(monkeypatch, value):
    restrict, trust = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
    module = flambeau.nn.ReLU()
    monkeypatch.setenv(restrict, value)
    with pytest.raises(pickle.UnpicklingError):
        flambeau.load(saved(module), weights_only=False)
    monkeypatch.setenv(trust, value)
    with pytest.raises(RuntimeError, match="Only one of"):
        flambeau.load(saved(module))
    monkeypatch.setenv(restrict, "0")
    assert isinstance(flambeau.load(saved(module)), flambeau.nn.ReLU)
    with pytest.raises(pickle.UnpicklingError):
        flambeau.load(saved(module), weights_only=True)


class Point:
    def __init__(self, x=0):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x


class Slotted:
    __slots__ = ("x",)


def scaled(x):
    p = Point()
    p.x = 2 * x
    return p


class Reduced(Point):
    def __reduce__(self):
        return scaled, (self.x,)


def test_safe_globals():
    file = saved([Point(flambeau.ones(2)), Reduced(3)])
    names = [f"{__name__}.Point", f"{__name__}.scaled"]
    assert [n for n in serialization.get_unsafe_globals_in_checkpoint(file)] == [
        "copy_reg._reconstructor", names[0], "__builtin__.object", names[1],
    ] or serialization.get_unsafe_globals_in_checkpoint(file) == names  # fmt: skip
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global.*Point"):
        flambeau.load(file)
    file.seek(0)
    with serialization.safe_globals([Point, (scaled, names[1])]):
        assert serialization.get_safe_globals() == [Point, (scaled, names[1])]
        a, b = flambeau.load(file)
        assert serialization.get_unsafe_globals_in_checkpoint(file) == []
    assert a.x.tolist() == [1, 1] and b.x == 6 and serialization.get_safe_globals() == []
    serialization.add_safe_globals([Point])
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_safe_globals_of_python_2_names():
    data = pickle.dumps([copyreg.__newobj__, range(3)], 2)
    assert b"__builtin__\nxrange" in data
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("archive/data.pkl", pickle.dumps(range(3), 2))
    file.seek(0)
    with serialization.safe_globals([range]):
        assert flambeau.load(file) == range(3)


def test_pickle_modules():
    class Module:
        Pickler, Unpickler = pickle._Pickler, pickle._Unpickler

    w = flambeau.arange(3.0)
    for options in ({}, OLD):
        file = saved([w, w[1:], Point(2)], pickle_module=Module, **options)
        a, b, p = flambeau.load(file, pickle_module=Module)
        assert a.tolist() == [0, 1, 2] and b.data_ptr() == a.data_ptr() + 4 and p.x == 2
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        flambeau.load(saved(1), pickle_module=pickle, weights_only=True)
    assert flambeau.load(saved(w), pickle_module=pickle).tolist() == [0, 1, 2]


def test_other_archives(tmp_path):
    def archive(*names):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as z:
            for name in names:
                z.writestr(f"a/{name}", b"x")
        file.seek(0)
        return file

    with pytest.raises(RuntimeError, match="TorchScript archive"):
        flambeau.load(archive("constants.pkl", "data.pkl"))
    with pytest.raises(RuntimeError, match="PackageImporter"):
        flambeau.load(archive(".data/extern_modules", ".data/version"))
    with pytest.raises(RuntimeError, match="'data.pkl' is missing"):
        flambeau.load(archive("x"))
    with pytest.raises(EOFError, match="empty"):
        flambeau.load(io.BytesIO())


def test_tar_archives_are_refused():
    import tarfile

    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        info = tarfile.TarInfo("sys_info")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"abc"))
    file.seek(0)
    with pytest.raises(RuntimeError, match="tar archive"):
        flambeau.load(file)


def old_file(obj_pickle, keys, storages, little=True):
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": little}]
    return io.BytesIO(
        b"".join(pickle.dumps(p, 2) for p in parts) + obj_pickle + pickle.dumps(keys, 2) + storages
    )


def test_views_of_storages_in_old_files():
    class Pickler(pickle._Pickler):
        def persistent_id(self, obj):
            return obj.id if isinstance(obj, Id) else None

        def save_global(self, obj, name=None):
            if obj is Kind:
                self.write(b"ctorch\nFloatStorage\n")
            else:
                super().save_global(obj, name)

        dispatch = {**pickle._Pickler.dispatch}

    class Kind:
        pass

    class Id:
        def __init__(self, *id):
            self.id = id

    Pickler.dispatch[type] = Pickler.save_global
    buffer = io.BytesIO()
    whole = Id("storage", Kind, "7", "cpu", 4, None)
    part = Id("storage", Kind, "7", "cpu", 4, ("8", 1, 2))
    Pickler(buffer, 2).dump([whole, part, part])
    data = struct.pack("<q4f", 4, 1, 2, 3, 4)
    a, b, c = flambeau.load(old_file(buffer.getvalue(), ["7"], data))
    assert a.tolist() == [1, 2, 3, 4] and b.tolist() == [2, 3] and b is c
    assert b.data_ptr() == a.data_ptr() + 4
    buffer = io.BytesIO()
    Pickler(buffer, 2).dump(Id("storage", Kind, "7", "cpu", 4, ("8", 3, 2)))
    with pytest.raises(pickle.UnpicklingError, match="bytes 12 to 20 of a storage of 16"):
        flambeau.load(old_file(buffer.getvalue(), ["7"], data))


def test_old_files_that_lack_storages():
    whole = saved([flambeau.ones(2), flambeau.ones(3)], **OLD).getvalue()
    for length in range(1, len(whole), 3):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            flambeau.load(io.BytesIO(whole[:length]))


def test_large_archives_have_wide_fields(tmp_path, monkeypatch):
    from flambeau.serialization import _archive

    monkeypatch.setattr(_archive, "_WIDE_FROM", 200)
    t = flambeau.arange(100)
    flambeau.save([t, t.clone()], tmp_path / "a.pt")
    monkeypatch.undo()
    with zipfile.ZipFile(tmp_path / "a.pt") as z:
        assert z.testzip() is None
    assert flambeau.load(tmp_path / "a.pt")[1].tolist() == t.tolist()


def test_raw_files(tmp_path):
    with open(tmp_path / "a.pt", "wb", buffering=0) as file:
        flambeau.save(flambeau.arange(1000), file)
        assert not file.closed
    assert os.path.getsize(tmp_path / "a.pt") > 8000
    assert flambeau.load(tmp_path / "a.pt").sum() == 499500


def test_defaults_of_dicts():
    d = collections.defaultdict(list, a=[1])
    assert flambeau.load(saved(d)) == d
