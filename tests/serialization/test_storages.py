"""Typed and untyped storages, and `Tensor.set_` with them."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import flambeau

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def test_typed_storages():
    s = flambeau.FloatStorage([1, 2, 3])
    assert type(s) is flambeau.TypedStorage and isinstance(s, flambeau.FloatStorage)
    assert not isinstance(s, flambeau.LongStorage) and flambeau.is_storage(s)
    assert s.dtype is flambeau.float32 and len(s) == 3 and s.nbytes() == 12
    s[1] = 5
    assert s.tolist() == list(s) == [1, 5, 3] and s[-1] == 3.0
    assert s.double().type() == "torch.DoubleStorage" and s.long().tolist() == [1, 5, 3]
    assert s.type("torch.IntStorage").dtype is flambeau.int32
    assert s.clone().data_ptr() != s.data_ptr() and s.fill_(2).tolist() == [2, 2, 2]
    assert flambeau.LongStorage(4).size() == 4 and flambeau.TypedStorage(2).dtype.itemsize == 4
    assert "TypedStorage(dtype=torch.float32, device=cpu) of size 3" in str(s)
    s.resize_(5)
    assert s.size() == 5
    for bad in (lambda: s[0:1], lambda: s["a"], lambda: s.__setitem__(0, s)):
        with pytest.raises(RuntimeError):
            bad()
    with pytest.raises(IndexError, match="out of range for storage of size 5"):
        s[5]


def test_typed_storages_of_wrong_arguments():
    untyped = flambeau.UntypedStorage(8)
    for make in (
        lambda: flambeau.FloatStorage(1, 2),
        lambda: flambeau.FloatStorage(1, dtype=flambeau.int8),
        lambda: flambeau.TypedStorage(1, wrap_storage=untyped),
        lambda: flambeau.TypedStorage(wrap_storage=untyped),
        lambda: flambeau.storage._LegacyStorage(1),
    ):
        with pytest.raises(RuntimeError):
            make()
    for make in (
        lambda: flambeau.TypedStorage(2.5),
        lambda: flambeau.TypedStorage(wrap_storage=1, dtype=flambeau.int8),
    ):
        with pytest.raises(TypeError):
            make()


def test_a_tensors_storage():
    t = flambeau.arange(4.0)
    assert t.storage().data_ptr() == t.data_ptr() and t.storage().tolist() == [0, 1, 2, 3]
    assert t.storage_type() is flambeau.FloatStorage
    assert t.untyped_storage() == t[1:].untyped_storage() != t.clone().untyped_storage()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flambeau._storage._warned = False
        t.storage()
        t.storage()
    assert [w.category for w in caught] == [UserWarning]


def test_untyped_storages():
    s = flambeau.UntypedStorage([1, 2, 255])
    assert s.tolist() == list(s) == [1, 2, 255] and len(s) == s.size() == 3 and s[-1] == 255
    part = s[1:]
    part[0] = 7
    assert s.tolist() == [1, 7, 255] and part.tolist() == [7, 255]
    assert not s.resizable() and flambeau.UntypedStorage(3).resizable()
    assert s.clone().fill_(3).tolist() == [3, 3, 3] and s.float().tolist() == [1, 7, 255]
    assert s.copy_(flambeau.UntypedStorage([9, 8, 7])).tolist() == [9, 8, 7]
    s[0:2] = 4
    assert s.tolist() == [4, 4, 7] and s.new().size() == 0 and s.element_size() == 1
    meta = flambeau.UntypedStorage(3, device="meta")
    assert meta.device.type == "meta" and "device=meta) of size 3" in str(meta)
    assert s.to(device="meta").nbytes() == 3
    with pytest.raises(NotImplementedError):
        meta[0]
    with pytest.raises(RuntimeError, match="size does not match"):
        s.copy_(flambeau.UntypedStorage(2))
    with pytest.raises(IndexError):
        s[3]
    with pytest.raises(ValueError, match="negative"):
        flambeau.UntypedStorage(-1)
    with pytest.raises(RuntimeError, match="item 0 is a str"):
        flambeau.UntypedStorage("ab")


def test_memory_stays_while_a_view_of_it_lives():
    s = flambeau.UntypedStorage(8)
    view = memoryview(s)
    with pytest.raises(RuntimeError, match="not resizable"):
        s.resize_(1 << 20)
    view.release()
    s.resize_(1 << 20)
    assert s.nbytes() == 1 << 20


def test_from_buffer():
    make = flambeau.UntypedStorage.from_buffer
    assert make(b"\1\2\3\4", dtype=flambeau.uint8).tolist() == [1, 2, 3, 4]
    big = make(b"\1\2\3\4", byte_order="big", dtype=flambeau.int16)
    assert flambeau.TypedStorage(wrap_storage=big, dtype=flambeau.int16).tolist() == [258, 772]
    assert make(bytearray(6), "little", 1, 2, flambeau.int16).nbytes() == 2
    assert flambeau.ShortStorage.from_buffer(b"\1\0", "little").tolist() == [1]
    for args, error in [
        ((b"abc", "little", -1, 0, flambeau.int16), ValueError),
        ((b"abcd", "little", 3, 0, flambeau.int16), ValueError),
        ((b"abcd", "little", -1, 5, flambeau.int16), ValueError),
        ((b"abcd", "x", -1, 0, flambeau.int16), ValueError),
        ((b"abcd", None, -1, 0, flambeau.int16), RuntimeError),
        ((b"abcd",), TypeError),
    ]:
        with pytest.raises(error):
            make(*args)


def test_from_file(tmp_path):
    path = tmp_path / "a.bin"
    shared = flambeau.FloatStorage.from_file(str(path), True, 4)
    shared[1] = 1.5
    private = flambeau.FloatStorage.from_file(str(path), False, 4)
    private[0] = 9
    assert private.tolist() == [9, 1.5, 0, 0] and shared.tolist() == [0, 1.5, 0, 0]
    assert shared.filename == str(path) and path.stat().st_size == 16
    del shared
    assert flambeau.FloatStorage(1).filename is None
    with pytest.raises(RuntimeError, match="has 16 bytes, 160"):
        flambeau.FloatStorage.from_file(str(path), False, 40)
    with pytest.raises(RuntimeError, match="derived classes"):
        flambeau.TypedStorage.from_file(str(path), False, 1)


def test_shared_memory():
    s = flambeau.FloatStorage._new_shared(3)
    assert s.size() == 3 and s.fill_(1).tolist() == [1, 1, 1]


def test_copies_and_pickles_share_what_tensors_share():
    t = flambeau.arange(4.0)
    for copied in (
        copy.deepcopy([t, t.untyped_storage(), t.storage(), t[1:]]),
        pickle.loads(pickle.dumps([t, t.untyped_storage(), t.storage(), t[1:]])),
    ):
        addresses = {copied[0].data_ptr(), copied[1].data_ptr(), copied[2].data_ptr()}
        assert len(addresses) == 1 and copied[3].data_ptr() == copied[0].data_ptr() + 4
        assert copied[2].tolist() == [0, 1, 2, 3] and copied[0].data_ptr() != t.data_ptr()
    assert copy.copy(t.untyped_storage()).data_ptr() != t.data_ptr()


def test_set():
    s = flambeau.FloatStorage([1, 2, 3, 4])
    t = flambeau.tensor([])
    assert t.set_(s).tolist() == [1, 2, 3, 4] and t.data_ptr() == s.data_ptr()
    assert t.set_(s.untyped(), 1, (2,)).tolist() == [2, 3]
    assert t.set_(s, 0, (2, 2), (1, 2)).tolist() == [[1, 3], [2, 4]]
    assert t.set_(flambeau.ones(2)).tolist() == [1, 1] and t.set_().shape == (0,)
    assert flambeau.FloatTensor(s).tolist() == t.new(s).tolist() == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="Expected a Storage of type torch.float32"):
        t.set_(flambeau.LongStorage(2))
    with pytest.raises(TypeError, match="must be Tensor or a storage"):
        t.set_(3)
    with pytest.raises(RuntimeError):
        t.set_(s, 3, (5,))
