"""Damaged files by the thousand, files that try to run code, and saves that are killed."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import random
import struct
import subprocess
import sys
import time
import zipfile

import pytest

import flambeau
from flambeau.serialization import get_unsafe_globals_in_checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).parent))
fuzz = __import__("fuzz")
sys.path.pop(0)

CANARY = "FLAMBEAU_TEST_CANARY"


def test_fuzz():
    """FLAMBEAU_FUZZ sets how many mutations, FLAMBEAU_FUZZ_SEED which."""
    count = int(os.environ.get("FLAMBEAU_FUZZ", "1500"))
    outcomes = fuzz.fuzz(count, int(os.environ.get("FLAMBEAU_FUZZ_SEED", "0")))
    assert outcomes["loaded"] and outcomes["RuntimeError"] and outcomes["UnpicklingError"]


# ---- files that try to run code -----------------------------------------------------------------


def archive(pickled: bytes, storage: bytes = b"\0" * 64) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        z.writestr("archive/byteorder", "little")
        z.writestr("archive/data/0", storage)
    file.seek(0)
    return file


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def call(module: str, name: str, *args: bytes, protocol: int = 2) -> bytes:
    """A pickle that calls ``module.name``."""
    return b"\x80" + bytes([protocol]) + call_ops(module, name, *args) + b"."


def call_ops(module: str, name: str, *args: bytes) -> bytes:
    return f"c{module}\n{name}\n(".encode() + b"".join(args) + b"tR"


SET = text(f"__import__('os').environ.__setitem__('{CANARY}', '1')")
SHELL = text(f"echo > /tmp/{CANARY}")
CALLS = [
    ("os", "system", SHELL), ("posix", "system", SHELL), ("nt", "system", SHELL),
    ("os", "popen", SHELL), ("subprocess", "Popen", SHELL), ("subprocess", "check_output", SHELL),
    ("builtins", "eval", SET), ("__builtin__", "eval", SET), ("builtins", "exec", SET),
    ("__builtin__", "execfile", SHELL), ("builtins", "compile", SET, SET, SET),
    ("builtins", "__import__", text("os")), ("builtins", "getattr", text("a"), text("upper")),
    ("builtins", "open", SHELL), ("builtins", "map", SET), ("builtins", "apply", SET),
    ("__builtin__", "apply", SET), ("builtins", "globals"), ("builtins", "type", text("a")),
    ("importlib", "import_module", text("os")), ("runpy", "_run_code", SET, b"}"),
    ("operator", "attrgetter", text("__class__")), ("operator", "methodcaller", text("upper")),
    ("functools", "partial", SET), ("functools", "reduce", SET), ("types", "CodeType"),
    ("types", "FunctionType"), ("copyreg", "_reconstructor"), ("copy_reg", "_reconstructor"),
    ("copyreg", "__newobj__"), ("pickle", "loads", SET), ("_pickle", "loads", SET),
    ("marshal", "loads", SET), ("shelve", "open", SHELL), ("codecs", "decode", SET),
    ("timeit", "timeit", SET), ("cProfile", "run", SET), ("pdb", "run", SET), ("bdb", "Bdb"),
    ("code", "interact"), ("pydoc", "pipepager", SET, SHELL), ("webbrowser", "open", SHELL),
    ("ctypes", "CDLL", SHELL), ("socket", "create_connection"), ("asyncio", "run", SET),
    ("multiprocessing.util", "spawnv_passfds"), ("logging.config", "listen"),
    ("numpy", "load", SHELL), ("numpy", "fromfile", SHELL), ("numpy.testing", "runstring", SET),
    ("numpy.core.multiarray", "_reconstruct"), ("numpy.f2py.crackfortran", "getlincoef"),
    ("torch", "load", SHELL), ("torch", "save", SHELL), ("torch.serialization", "load", SHELL),
    ("torch.serialization", "add_safe_globals", SET), ("torch.hub", "load", SHELL),
    ("torch.hub", "load_state_dict_from_url", SHELL), ("torch.jit", "load", SHELL),
    ("torch.utils.cpp_extension", "load_inline", SHELL), ("torch.utils._config_module", "x"),
    ("torch.utils.collect_env", "run", SHELL), ("torch._inductor.codecache", "x"),
    ("torch._dynamo.guards.GuardBuilder", "get", SET), ("torch.fx.graph", "_exec_with_source"),
    ("torch.fx._symbolic_trace", "Tracer"), ("torch.package", "PackageImporter", SHELL),
    ("torch.storage", "_load_from_bytes", SHELL), ("torch.distributed.rpc", "x"),
    ("torch._utils", "_import_dotted_name", SET), ("torch._tensor", "_rebuild_from_type_v2"),
    ("torch.nn.modules.linear", "Linear"), ("torch.multiprocessing.reductions", "rebuild_tensor"),
    ("torch", "from_file", SHELL), ("torch.FloatStorage", "from_file", SHELL),
    ("torch.UntypedStorage", "from_file", SHELL), ("torch", "set_default_dtype"),
    ("torch", "Tensor.__init__"), ("torch", "Tensor"), ("torch", "nn"), ("torch", "os"),
    ("flambeau", "load", SHELL), ("flambeau._C", "Tensor"), ("flambeau.serialization", "load"),
    ("collections", "OrderedDict.__init__"), ("collections", "namedtuple", text("a"), text("b")),
    ("collections", "_sys"), ("collections.OrderedDict", "fromkeys"), ("", ""), ("\x00", "\x00"),
]  # fmt: skip


@pytest.fixture
def watched():
    os.environ.pop(CANARY, None)
    trusted = flambeau.serialization.get_safe_globals()
    yield
    assert CANARY not in os.environ and not os.path.exists(f"/tmp/{CANARY}")
    assert flambeau.serialization.get_safe_globals() == trusted


@pytest.mark.parametrize("module, name, args", [(c[0], c[1], c[2:]) for c in CALLS])
def test_calls_are_refused(module, name, args, watched):
    old = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
    pickled = call(module, name, *args)
    inside = b"\x80\x02]" + call_ops(module, name, *args) + b"a."
    stack = b"\x80\x04" + text(module) + text(name) + b"\x93(" + b"".join(args) + b"tR."
    names = b"\x80\x04" + text(module) + b"\x94" + text(name) + b"\x940h\x00h\x01\x93)R."
    instance = f"\x80\x02c{module}\n{name}\n(".encode("latin1") + b"".join(args) + b"t\x81."
    built = f"\x80\x02c{module}\n{name}\n".encode("latin1") + b"}" + text("x") + SET + b"sb."
    for data in (pickled, inside, stack, names, instance, built):
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            flambeau.load(archive(data))
    with pytest.raises(pickle.UnpicklingError):
        flambeau.load(io.BytesIO(old + pickled))


T = "torch._utils\n_rebuild_tensor_v2"
STORAGE = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x10tQ"


def tensor(*args: bytes, function: str = T) -> bytes:
    return b"\x80\x02c" + function.encode() + b"\n(" + b"".join(args) + b"tR."


def numbers(*values: int) -> bytes:
    return (
        b"(" + b"".join(b"\x8a\x09" + v.to_bytes(9, "little", signed=True) for v in values) + b"t"
    )


ONE = b"K\x01"
HOOKS = b"\x89ccollections\nOrderedDict\n)R"
GOOD = tensor(STORAGE, b"K\x00", numbers(1), numbers(1), HOOKS)
META = "torch._utils\n_rebuild_meta_tensor_no_storage"
WILD = [
    tensor(STORAGE, b"K\x00", numbers(-1), numbers(1), HOOKS),
    tensor(STORAGE, b"K\x00", numbers(2), numbers(-1), HOOKS),
    tensor(STORAGE, b"J\xff\xff\xff\xff", numbers(2), numbers(1), HOOKS),
    tensor(STORAGE, b"K\x00", numbers(2), numbers(1 << 62), HOOKS),
    tensor(STORAGE, b"K\x00", numbers(1 << 63), numbers(0), HOOKS),
    tensor(STORAGE, b"K\x00", numbers(1 << 70), numbers(1), HOOKS),
    tensor(STORAGE, b"K\x00", numbers(1 << 40, 1 << 40), numbers(0, 0), HOOKS),
    tensor(STORAGE, b"K\x0f", numbers(2), numbers(1), HOOKS),
    tensor(STORAGE, b"K\x00", numbers(*[1] * 65), numbers(*[1] * 65), HOOKS),
    tensor(STORAGE, b"K\x00", numbers(2), numbers(1, 1), HOOKS),
    tensor(STORAGE, b"K\x00", b"]", b"}", HOOKS),
    tensor(STORAGE, b"G?\xf0\0\0\0\0\0\0", numbers(1), numbers(1), HOOKS),
    tensor(STORAGE, b"\x88", numbers(1), numbers(1), HOOKS),
    tensor(ONE, b"K\x00", numbers(1), numbers(1), HOOKS),
    tensor(text("x"), b"K\x00", numbers(1), numbers(1), HOOKS),
    tensor(b"ctorch\nFloatStorage\n", b"K\x00", numbers(1), numbers(1), HOOKS),
    tensor(STORAGE),
    tensor(*[ONE] * 9),
    tensor(STORAGE, b"K\x00", numbers(1), numbers(1), HOOKS, b"}" + text("x") + b"\x88s"),
    tensor(STORAGE, b"K\x00", numbers(1), numbers(1), HOOKS, ONE),
    tensor(STORAGE, b"K\x00", numbers(1), numbers(1), HOOKS, ONE, function=T[:-1] + "3"),
    tensor(STORAGE, b"N", numbers(1), numbers(1), function="torch._utils\n_rebuild_tensor"),
    tensor(ONE, b"\x88", b"N", function="torch._utils\n_rebuild_parameter"),
    tensor(ONE, ONE, ONE, b"}", function="torch._tensor\n_rebuild_from_type_v2"),
    tensor(
        b"ccollections\nOrderedDict\n", ONE, b")", b"}",
        function="torch._tensor\n_rebuild_from_type_v2",
    ),
    tensor(ONE, numbers(1), numbers(1), b"\x89", function=META),
    tensor(
        b"ctorch\nfloat32\n", numbers(1 << 61, 8), numbers(8, 1), b"\x89",
        function=META,
    ),
    tensor(ONE, b")", function="torch._utils\n_rebuild_sparse_tensor"),
    tensor(text("torch.os"), function="torch.serialization\n_get_layout"),
    tensor(text("torch.UntypedStorage"), function="torch.serialization\n_get_layout"),
    tensor(b")", function="torch._utils\n_rebuild_qtensor"),
    tensor(b")", function="torch._utils\n_rebuild_wrapper_subclass"),
    tensor(b")", function="torch._utils\n_rebuild_nested_tensor"),
    tensor(b")", ONE, ONE, ONE, function="torch._utils\n_rebuild_device_tensor_from_numpy"),
    tensor(b")", ONE, ONE, ONE, function="torch._utils\n_rebuild_device_tensor_from_cpu_tensor"),
    # state for tensors, dicts and what is no instance
    GOOD[:-1] + b"}" + text("__class__") + ONE + b"sb.",
    GOOD[:-1] + b"}" + text("backward") + ONE + b"sb.",
    GOOD[:-1] + b"}" + text("__dict__") + b"}sb.",
    b"\x80\x02ccollections\nOrderedDict\n)R}" + text("__class__") + ONE + b"sb.",
    b"\x80\x02ccollections\nOrderedDict\n)R}" + text("__dict__") + b"}sb.",
    b"\x80\x02ccollections\nOrderedDict\n)R}" + text("__reduce__") + ONE + b"sb.",
    b"\x80\x02]}" + text("append") + ONE + b"sb.",
    b"\x80\x02ctorch\nTensor\n}" + text("x") + ONE + b"sb.",
    b"\x80\x02ctorch\nfloat32\n}" + text("x") + ONE + b"sb.",
    # extension codes, persistent ids of text, instructions of protocol 0
    b"\x80\x02\x82\x01.", b"\x80\x02\x83\x01\x00.", b"\x80\x02\x84\x01\x00\x00\x00.",
    b"\x80\x02Pstorage\n.", b"(ios\nsystem\n.", b"(cos\nsystem\no.",
    b"\x80\x02(" + text("module") + b"cos\nsystem\n" + text("a") + text("b") + b"tQ.",
    b"\x80\x02(" + text("storage") + b"cos\nsystem\n" + text("0") + text("cpu") + ONE + b"tQ.",
    b"\x80\x02(" + text("storage") + text("FloatStorage") + text("0") + text("cpu") + ONE + b"tQ.",
    # out-of-band buffers, which no file has
    b"\x80\x05\x97.", b"\x80\x05\x98.",
    # sizes that ask for memory
    b"\x80\x02\x8b\xff\xff\xff\x7f.", b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
    b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.", b"\x80\x02X\xff\xff\xff\xff.",
    b"\x80\x02c__builtin__\nlist\n" + text("a" * 60) + b"\x85R" + b"2" * 4,
]  # fmt: skip


@pytest.mark.parametrize("pickled", WILD)
def test_wild_arguments_are_refused(pickled, watched):
    with pytest.raises(fuzz.CLEAN):
        flambeau.load(archive(pickled))


@pytest.mark.parametrize("location", ["os.system", "cuda:99999999999", "cuda:-1", "\x00", "ü", ""])
def test_wild_locations_are_refused(location):
    storage = STORAGE.replace(text("cpu"), text(location))
    with pytest.raises(fuzz.CLEAN):
        flambeau.load(archive(tensor(storage, b"K\x00", numbers(1), numbers(1), HOOKS)))


COPY = b"c%b\nh\x00\x85Ra"


@pytest.mark.parametrize(
    "pickled",
    [
        # copies of a long list, of a text, of a dict: a little file that asks for gigabytes
        b"\x80\x02]q\x00(" + b"N" * 200_000 + b"e]" + COPY % b"__builtin__\nlist" * 3000 + b".",
        b"\x80\x02" + text("a" * 200_000) + b"q\x00]" + COPY % b"_codecs\nencode" * 3000 + b".",
        # tuples of tuples twice over, as a key, as an id, as a name, as state
        b"\x80\x02)" + b"2\x86" * 100 + b"Q.",
        b"\x80\x02)" + b"2\x86" * 100 + b")R.",
        b"\x80\x02})" + b"2\x86" * 100 + b"Ns.",
        b"\x80\x02ccollections\nOrderedDict\n)R})" + b"2\x86" * 100 + b"Nsb.",
        b"\x80\x02ccollections\ndefaultdict\n)" + b"2\x86" * 100 + b"\x85R.",
        b"\x80\x02}c__builtin__\nslice\n)" + b"2\x86" * 100 + b"\x85RNs.",
        b"\x80\x02" + b"]" * 300_000 + b"a" * 299_999 + b"x",
        b"\x80\x02" + b"(" * 300_000 + b".",
    ],
)  # fmt: skip
def test_bombs_end_soon(pickled):
    start = time.process_time()
    with pytest.raises(fuzz.CLEAN):
        flambeau.load(archive(pickled))
    assert time.process_time() - start < 20


def test_a_zip_bomb_is_refused():
    pickled = tensor(STORAGE, b"K\x00", numbers(1), numbers(1), HOOKS)
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("archive/data.pkl", pickled)
        z.writestr("archive/data/0", b"\0" * 100)
    data = bytearray(other.getvalue())
    position = data.rindex(b"PK\x01\x02") + 24
    data[position : position + 4] = struct.pack("<I", 1 << 31)
    with pytest.raises(RuntimeError, match="lengths do not match"):
        flambeau.load(io.BytesIO(bytes(data)))


def test_the_names_of_a_file_are_found_without_running_it(watched):
    pickled = b"\x80\x04" + text("os") + b"\x94" + text("system") + b"\x940h\x00h\x01\x93"
    pickled += SHELL + b"\x85R."
    assert get_unsafe_globals_in_checkpoint(archive(pickled)) == ["os.system"]


# ---- saves that are killed ----------------------------------------------------------------------

_SAVER = """
import sys, flambeau
from flambeau.serialization import safetensors
path, kind = sys.argv[1:]
for generation in range(10_000):
    t = flambeau.full((500_000,), float(generation))
    if kind == "safetensors":
        safetensors.save_file({"t": t, "n": flambeau.tensor(generation)}, path)
    else:
        state = {"t": t, "n": flambeau.tensor(generation)}
        flambeau.save(state, path, _use_new_zipfile_serialization=kind == "zip")
    if generation == 0:
        print("ready", flush=True)
"""


@pytest.mark.parametrize("kind, kills", [("zip", 20), ("old", 5), ("safetensors", 5)])
def test_a_killed_save_leaves_a_whole_file(kind, kills, tmp_path):
    from flambeau.serialization import safetensors

    path, r = tmp_path / "a.pt", random.Random(3)
    for _ in range(kills):
        child = subprocess.Popen(
            [sys.executable, "-c", _SAVER, str(path), kind], stdout=subprocess.PIPE
        )
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        time.sleep(r.random() * 0.08)
        child.kill()
        child.wait()
        child.stdout.close()
        state = safetensors.load_file(path) if kind == "safetensors" else flambeau.load(path)
        assert state["t"].min() == state["t"].max() == state["n"]
