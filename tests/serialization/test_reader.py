"""`PyTorchFileReader`."""

import pytest

import flambeau
from flambeau import _C


def test_records(tmp_path):
    path = tmp_path / "x.pt"
    values = flambeau.arange(5, dtype=flambeau.float64)
    flambeau.save({"values": values}, path)
    reader = flambeau.PyTorchFileReader(str(path))
    assert _C.PyTorchFileReader is flambeau.PyTorchFileReader
    assert {"data.pkl", "data/0", "version"} <= set(reader.get_all_records())
    assert reader.has_record("data/0") and not reader.has_record("data/1")
    assert reader.get_record_size("data/0") == 40
    start = reader.get_record_offset("data/0")
    assert path.read_bytes()[start : start + 40] == reader.get_record("data/0")
    read = reader.get_storage_from_record("data/0", 5, flambeau.float64)
    assert read.tolist() == values.tolist()
    assert isinstance(reader.serialization_id(), str)
    with pytest.raises(RuntimeError, match="'data/7' is missing"):
        reader.get_record("data/7")


def test_meta_class():
    assert _C._TensorMeta is type(flambeau.Tensor)
