"""Files of `save` and of PyTorch (data/*.pt, written by it), sound, damaged and hostile."""

import collections
import copy
import io
import os
import pickle
import struct
import zipfile

import pytest

import flambeau
from flambeau import serialization

DATA = os.path.join(os.path.dirname(__file__), "data")
DTYPES = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool"
pytestmark = pytest.mark.quick


def golden(name, **options):
    return flambeau.load(os.path.join(DATA, name), **options)


def saved(obj, **options):
    file = io.BytesIO()
    flambeau.save(obj, file, **options)
    file.seek(0)
    return file


def round_trip(obj, **options):
    return flambeau.load(saved(obj), **options)


def address(t):
    return t.untyped_storage().data_ptr()


def check_state(state):
    assert type(state) is collections.OrderedDict
    assert state["w"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert state["row"].tolist() == [3.0, 4.0, 5.0] and state["row"].storage_offset() == 3
    assert state["tr"].stride() == (1, 3)
    assert address(state["w"]) == address(state["row"]) == address(state["tr"])


# ---- files of PyTorch ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"mmap": True}, {"weights_only": False}])
def test_golden_zip(options):
    got = golden("zip.pt", **options)
    check_state(got["state"])
    assert got["state"]._metadata == {"": {"version": 1}}
    for name in DTYPES.split():
        expected = [False, True, True] if name == "bool" else [0, 1, 2]
        assert got["dtypes"][name].dtype is getattr(flambeau, name)
        assert got["dtypes"][name].tolist() == expected
    assert type(got["size"]) is flambeau.Size and got["size"] == (2, 3)
    assert got["dtype"] is flambeau.bfloat16 and got["device"] == flambeau.device("cpu")
    assert got["leaf"].requires_grad and got["leaf"].is_leaf
    assert got["empty"].shape == (0, 3) and got["scalar"].item() == 2.5
    assert got["meta"].is_meta and got["conj"].tolist() == [1 - 2j]
    assert type(got["parameter"]) is flambeau.nn.Parameter and got["parameter"].requires_grad
    assert got["plain"] == [1, 2.5, None, True, "é", (1, 2), {3}, b"by", 2**70, -5]
    assert got["counter"] == {"a": 2, "b": 1} and got["default"].default_factory is list


def test_golden_optimizer():
    got = golden("adam.pt")
    assert sorted(got["state"][0]) == ["exp_avg", "exp_avg_sq", "step"]
    assert got["param_groups"][0]["lr"] == 0.1


def test_golden_before_zip():
    got = golden("legacy.pt")
    check_state(got["state"])
    assert got["half"].dtype is flambeau.float16 and got["half"].tolist() == [1.0, 1.0, 1.0]


def test_a_module_needs_trust():
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global.*torch.nn.modules"):
        golden("module.pt")
    unsafe = serialization.get_unsafe_globals_in_checkpoint(os.path.join(DATA, "module.pt"))
    assert unsafe == ["torch.nn.modules.linear.Linear"]


# ---- our files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES.split())
def test_dtypes(name):
    t = flambeau.tensor([0, 1, 2]).to(getattr(flambeau, name))
    got = round_trip(t)
    assert got.dtype is t.dtype and got.tolist() == t.tolist()


def test_structure():
    w = flambeau.arange(6, dtype=flambeau.float32).reshape(2, 3)
    state = collections.OrderedDict(w=w, row=w[1], tr=w.t())
    state._metadata = {"": {"version": 1}}
    got = round_trip(
        {"state": state, "leaf": flambeau.ones(2, requires_grad=True), "shape": w.shape}
    )
    check_state(got["state"])
    assert got["state"]._metadata == {"": {"version": 1}}
    assert got["leaf"].requires_grad and type(got["shape"]) is flambeau.Size
    expanded = round_trip(flambeau.ones(1).expand(3, 4))
    assert expanded.stride() == (0, 0) and expanded.tolist() == [[1.0] * 4] * 3


def test_parameters_keep_type_and_attributes():
    parameter = flambeau.nn.Parameter(flambeau.ones(2), requires_grad=False)
    parameter.note = "tied"
    got = round_trip([parameter, parameter])
    assert got[0] is got[1] and type(got[0]) is flambeau.nn.Parameter
    assert not got[0].requires_grad and got[0].note == "tied"


def test_layout_of_the_archive(tmp_path):
    path = tmp_path / "net.v1.pt"
    flambeau.save({"a": flambeau.ones(3), "b": flambeau.zeros(5)}, path)
    with zipfile.ZipFile(path) as z:
        assert z.testzip() is None
        names = [i.filename for i in z.infolist()]
        starts = []
        for info in z.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            header = path.read_bytes()[info.header_offset :][:30]
            starts.append(info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30])))
        assert z.read("net.v1/byteorder") == b"little" and z.read("net.v1/version") == b"3\n"
        assert z.read("net.v1/data.pkl")[:2] == b"\x80\x02"
    assert [n.removeprefix("net.v1/") for n in names] == [
        "data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0", "data/1",
        "version",
    ]  # fmt: skip
    assert all(start % 64 == 0 for start in starts)


def test_a_view_of_a_large_storage_saves_what_it_reaches():
    base = flambeau.arange(1_000_000, dtype=flambeau.float32)
    file = saved([base[500_000:500_010], base[500_005:500_020], base[:0]])
    assert len(file.getvalue()) < 10_000
    a, b, empty = flambeau.load(file)
    assert a.tolist() == list(range(500_000, 500_010)) and b[0].item() == 500_005
    assert address(a) == address(b) and empty.shape == (0,)


def test_a_view_of_a_small_storage_keeps_its_offset():
    view = round_trip(flambeau.arange(10)[2:5])
    assert view.storage_offset() == 2 and view.untyped_storage().nbytes() == 80


def test_two_dtypes_of_one_storage_are_refused():
    t = flambeau.zeros(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        flambeau.save([t, t.view(flambeau.int32)], io.BytesIO())


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(protocol):
    file = saved({"t": flambeau.ones(2), "d": flambeau.float16}, pickle_protocol=protocol)
    got = flambeau.load(file)
    assert got["t"].tolist() == [1.0, 1.0] and got["d"] is flambeau.float16


def test_a_failing_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    flambeau.save(1, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        flambeau.save({"t": flambeau.ones(2), "f": lambda: 0}, path)
    assert flambeau.load(path) == 1 and os.listdir(tmp_path) == ["a.pt"]
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        flambeau.save(1, tmp_path / "no" / "a.pt")


def test_save_replaces_and_keeps_the_mode(tmp_path):
    path = tmp_path / "a.pt"
    flambeau.save(1, path)
    os.chmod(path, 0o600)
    link = tmp_path / "link.pt"
    link.symlink_to(path)
    flambeau.save(2, link)
    assert link.is_symlink() and flambeau.load(path) == 2
    assert os.stat(path).st_mode & 0o777 == 0o600


class WriteOnly:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def test_file_objects():
    sink = WriteOnly()
    flambeau.save(flambeau.ones(2), sink)
    prefixed = io.BytesIO(b"head" + sink.data)
    prefixed.seek(4)
    assert flambeau.load(prefixed).tolist() == [1.0, 1.0]
    with pytest.raises(AttributeError, match="file object"):
        flambeau.load(3)
    with pytest.raises(AttributeError, match="'write'"):
        flambeau.save(1, 3)
    with pytest.raises(FileNotFoundError):
        flambeau.load("/nonexistent/file.pt")


# ---- map_location -------------------------------------------------------------------------------


def cuda_file():
    """A file that says its storage was on a GPU."""
    source, target = zipfile.ZipFile(saved(flambeau.ones(2))), io.BytesIO()
    with zipfile.ZipFile(target, "w") as z:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("data.pkl"):
                data = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            z.writestr(name, data)
    target.seek(0)
    return target


def test_map_location():
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        flambeau.load(cuda_file())
    seen = []

    def place(storage, location):
        seen.append((location, storage.nbytes()))
        return storage

    for where in ("cpu", flambeau.device("cpu"), {"cuda:0": "cpu"}, place):
        assert flambeau.load(cuda_file(), map_location=where).tolist() == [1.0, 1.0]
    assert seen == [("cuda:0", 8)]
    assert round_trip(flambeau.ones(2), map_location="meta").is_meta
    with pytest.raises(TypeError, match="map_location"):
        round_trip(1, map_location=3)


# ---- damaged files ------------------------------------------------------------------------------


def test_every_truncation_is_an_error():
    whole = saved({"t": flambeau.ones(3)}).getvalue()
    for length in range(0, len(whole), 13):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            flambeau.load(io.BytesIO(whole[:length]))


def test_a_flipped_byte_of_data_is_found():
    t = flambeau.arange(64, dtype=flambeau.float32)
    whole = bytearray(saved(t).getvalue())
    whole[whole.index(struct.pack("<f", 17.0))] ^= 1
    with pytest.raises(RuntimeError, match="CRC does not match"):
        flambeau.load(io.BytesIO(bytes(whole)))


def test_flipped_bytes_never_crash():
    whole = saved({"t": flambeau.ones(3), "s": [1, "two", (3.0, None)]}).getvalue()
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        try:
            flambeau.load(io.BytesIO(bytes(damaged)))
        except (RuntimeError, EOFError, pickle.UnpicklingError):
            pass


def test_random_pickles_never_crash():
    whole = zipfile.ZipFile(saved({"t": flambeau.ones(3), "s": [1, {"k": (2, 3)}]})).read(
        "archive/data.pkl"
    )
    for position in range(2, len(whole)):
        for value in (0, 0x28, 0x52, 0x62, 0x71, 0x81, 0x95, 0xFF):
            damaged = bytearray(whole)
            damaged[position] = value
            try:
                flambeau.load(archive(bytes(damaged)))
            except (RuntimeError, pickle.UnpicklingError):
                pass


@pytest.mark.parametrize("data", [b"hello world", b"\x80\x02N.", b"PK\x03\x04" + b"x" * 90])
def test_other_files(data):
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        flambeau.load(io.BytesIO(data))


# ---- hostile files ------------------------------------------------------------------------------


def archive(pickled, **records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        for name, data in records.items():
            z.writestr(f"archive/data/{name[1:]}", data)
    file.seek(0)
    return file


class Evil:
    def __reduce__(self):
        return print, ("must not run",)


def tensor_pickle(offset, size, stride, count=4, kind="FloatStorage"):
    def numbers(values):
        return b"(" + b"".join(b"\x8a\x09" + v.to_bytes(9, "little") for v in values) + b"t"

    storage = f"X\x07\0\0\0storagectorch\n{kind}\nX\x01\0\0\x000X\x03\0\0\0cpu".encode()
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" + storage
        + b"\x8a\x09" + count.to_bytes(9, "little") + b"tQ\x8a\x09"
        + offset.to_bytes(9, "little") + numbers(size) + numbers(stride) + b"\x89Ntr."
    ).replace(b"\x89Ntr.", b"\x89NtR.")  # fmt: skip


def test_code_is_refused(capsys):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed.*Unsupported"):
        flambeau.load(saved({"x": Evil()}))
    assert capsys.readouterr().out == ""
    assert flambeau.load(saved([Evil()]), weights_only=False) == [None]
    assert "must not run" in capsys.readouterr().out


def test_tensor_pickle_helper_is_sound():
    good = archive(tensor_pickle(1, [3], [1]), _0=struct.pack("<4f", 0, 1, 2, 3))
    assert flambeau.load(good).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "offset, size, stride, count",
    [
        (0, [5], [1], 4),
        (4, [1], [1], 4),
        (0, [2, 2], [3, 1], 4),
        (1 << 62, [1], [1], 4),
        (0, [1 << 61], [0], 4),
        (0, [1 << 40, 1 << 40], [0, 0], 4),
        (0, [2], [1 << 61], 4),
        (0, [2], [1, 1], 4),
        (0, [1], [1], 5),
        (0, [1], [1], 1 << 61),
    ],
)
def test_shapes_beyond_the_storage(offset, size, stride, count):
    file = archive(tensor_pickle(offset, size, stride, count), _0=b"\0" * 16)
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        flambeau.load(file)


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02cos\nsystem\nX\x02\0\0\0id\x85R.",
        b"\x80\x02c__builtin__\neval\nX\x01\0\0\x001\x85R.",
        # state for an allowed function, class or instance
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\0\0\0aK\x01sb.",
        b"\x80\x02ccollections\nCounter\nN}X\x06\0\0\0updateK\x01s\x86b.",
        b"\x80\x02ccollections\nOrderedDict\n)R}X\x05\0\0\0itemsK\x01sb.",
        # an instance, an extension code, an instruction of protocol 0
        b"\x80\x02ctorch\nTensor\n)\x81.",
        b"\x80\x02\x82\x01.",
        b"(ios\nsystem\n.",
        # a call of data, of a dtype, of a storage type
        b"\x80\x02K\x01)R.",
        b"\x80\x02ctorch\nfloat32\n)R.",
        b"\x80\x02ctorch\nFloatStorage\n)R.",
        # a missing mark, memo entry, end
        b"\x80\x02t.",
        b"\x80\x02h\x05.",
        b"\x80\x02",
        b"\x80\x02X\xff\xff\xff\x7fabc.",
        # a persistent id that is none
        b"\x80\x02K\x01Q.",
        # a list as a key; a class whose name has dots
        b"\x80\x02}]K\x01s.",
        b"\x80\x04\x8c\x05torch\x8c\x0fTensor.__init__\x93.",
    ],
)
def test_hostile_pickles(pickled):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        flambeau.load(archive(pickled))


def test_a_deeply_nested_key_is_refused():
    deep = b"\x80\x02})" + b"\x85" * 200_000 + b"Ns."
    with pytest.raises(pickle.UnpicklingError, match="nested too deeply"):
        flambeau.load(archive(deep))
    wide = b"\x80\x02})" + b"2\x86" * 40 + b"Ns."
    with pytest.raises(pickle.UnpicklingError, match="nested too deeply"):
        flambeau.load(archive(wide))


class Point:
    def __init__(self, x):
        self.x = x


def test_safe_globals():
    file = saved(Point(flambeau.ones(1)))
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        flambeau.load(file)
    file.seek(0)
    with serialization.safe_globals([Point]):
        assert serialization.get_safe_globals() == [Point]
        assert flambeau.load(file).x.item() == 1.0
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([(Point, f"{Point.__module__}.Point")])
    file.seek(0)
    assert type(flambeau.load(file)) is Point
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


# ---- pickle and copy ----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickle(protocol):
    w = flambeau.arange(6, dtype=flambeau.float32).reshape(2, 3)
    leaf = flambeau.ones(2, dtype=flambeau.bfloat16, requires_grad=True)
    meta = flambeau.empty(2, device="meta")
    got = pickle.loads(pickle.dumps([w, w[1], leaf, meta, flambeau.float16, w.device], protocol))
    assert got[0].tolist() == w.tolist() and address(got[0]) == address(got[1])
    assert got[2].requires_grad and got[2].dtype is flambeau.bfloat16
    assert got[3].is_meta and got[4] is flambeau.float16 and got[5] == w.device


def test_copy():
    w = flambeau.ones(3, requires_grad=True)
    shallow = copy.copy(w)
    assert shallow is not w and shallow.data_ptr() == w.data_ptr() and shallow.requires_grad


def test_deepcopy():
    base = flambeau.ones(4)
    leaf = flambeau.ones(2, requires_grad=True)
    leaf.grad = flambeau.zeros(2)
    leaf.note = ["a"]
    a, b, c, d = copy.deepcopy([base, base[1:], leaf, leaf])
    assert a.data_ptr() != base.data_ptr() and address(a) == address(b)
    assert c is d and c.requires_grad and c.is_leaf
    assert c.grad.tolist() == [0.0, 0.0] and c.grad.data_ptr() != leaf.grad.data_ptr()
    assert c.note == ["a"] and c.note is not leaf.note
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(leaf * 2)
