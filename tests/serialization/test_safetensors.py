"""Our reader and writer of safetensors files."""

from __future__ import annotations

import json
import os

import pytest

import flambeau
from flambeau.serialization import safetensors

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()


def file_of(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(shape=(2,), offsets=(0, 8), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name, tmp_path):
    t = flambeau.tensor([[0, 1], [2, 3]]).to(getattr(flambeau, name))
    path = tmp_path / "a.safetensors"
    safetensors.save_file({"t": t, "é": t.t(), "empty": t[:0], "one": t[0, 1]}, path)
    for got in (safetensors.load_file(path), safetensors.load(path.read_bytes())):
        assert got["t"].dtype is t.dtype and got["t"].tolist() == t.tolist()
        assert got["é"].tolist() == t.t().tolist() and got["é"].is_contiguous()
        assert got["empty"].shape == (0, 2) and got["one"].shape == ()


def test_a_file_of_the_package():
    # Bytes of safetensors 0.8.0: save({"b": tensor([1, 2], int16), "a": tensor([1.5])}, {"k": "v"})
    header = (
        b'{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
        b'"b":{"dtype":"I16","shape":[2],"data_offsets":[4,8]}}'
    )
    header += b" " * (-len(header) % 8)
    data = file_of(header, b"\x00\x00\xc0\x3f\x01\x00\x02\x00")
    got = safetensors.load(data)
    assert got["a"].tolist() == [1.5] and got["b"].tolist() == [1, 2]
    assert safetensors.save(got, {"k": "v"}) == data


def test_safe_file(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors.save_file({"b": flambeau.ones(2), "a": flambeau.zeros(3)}, path, {"k": "v"})
    with safetensors.SafeFile(path) as file:
        assert file.keys() == ["a", "b"] and file.metadata() == {"k": "v"}
        b = file.get_tensor("b")
        with pytest.raises(RuntimeError, match="no tensor 'c'"):
            file.get_tensor("c")
    b += 1  # private: the file stays
    assert b.tolist() == [2, 2] and safetensors.load_file(path)["b"].tolist() == [1, 1]
    assert safetensors.load_file(path, device="meta")["b"].is_meta
    assert os.listdir(tmp_path) == ["a.safetensors"]


@pytest.mark.parametrize(
    "tensors, message",
    [
        ([], "expected a dict"),
        ({1: flambeau.ones(1)}, "names of tensors"),
        ({"__metadata__": flambeau.ones(1)}, "names of tensors"),
        ({"a": 1}, "'a' is a int"),
        ({"a": flambeau.empty(1, device="meta")}, "meta"),
        ({"a": flambeau.ones(1, dtype=flambeau.complex128)}, "dtype torch.complex128"),
    ],
)
def test_refused_tensors(tensors, message):
    with pytest.raises(ValueError, match=message):
        safetensors.save(tensors)
    with pytest.raises(ValueError, match="metadata"):
        safetensors.save({}, {"k": 1})


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "cut off"),
        (b"\x00" * 7, "cut off"),
        (file_of({}, length=1 << 60), "cut off or another"),
        (file_of({}, length=100), "cut off or another"),
        (file_of(b"[]"), "header is damaged"),
        (file_of(b'{"a":NaN}'), "header is damaged"),
        (file_of(b"[" * 100_000), "header is damaged"),
        (file_of(b'{"a":{},"a":{}}'), "appears twice"),
        (file_of(b"\xff\xff"), "header is damaged"),
        (file_of({"__metadata__": {"a": 1}}), "metadata are damaged"),
        (file_of({"a": {}}), "entry of 'a' is damaged"),
        (file_of({"a": entry(dtype="X8")}, bytes(8)), "unknown dtype"),
        (file_of({"a": entry(dtype=[])}, bytes(8)), "unknown dtype"),
        (file_of({"a": entry()}, bytes(7)), "place of 'a'"),
        (file_of({"a": entry(offsets=(8, 16))}, bytes(16)), "gap"),
        (file_of({"a": entry(shape=(3,))}, bytes(8)), "place of 'a'"),
        (file_of({"a": entry(shape=(-2,))}, bytes(8)), "entry of 'a'"),
        (file_of({"a": entry(shape=(True, 2))}, bytes(8)), "entry of 'a'"),
        (file_of({"a": entry(shape=(1 << 61, 8))}, bytes(8)), "place of 'a'"),
        (file_of({"a": entry(), "b": entry()}, bytes(8)), "lie on each other"),
        (file_of({"a": entry()}, bytes(9)), "the file has 9"),
    ],
)
def test_damaged_files(data, message):
    with pytest.raises(RuntimeError, match=message):
        safetensors.load(data)
