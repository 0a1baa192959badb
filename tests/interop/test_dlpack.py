"""DLPack: capsules of both versions, who keeps what alive, producers of other kinds."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import flambeau
from flambeau.utils import dlpack


def used():
    gc.collect()
    stats = flambeau._C._memory_stats()
    return next(v for k, v in stats.items() if "alloc" in k and "peak" not in k)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
def test_capsules_free_what_they_hold(version):
    before = used()
    for consumed in (False, True):
        t = flambeau.ones(100_000)
        capsule = t.__dlpack__(max_version=version)
        name = '"dltensor_versioned"' if version and version[0] else '"dltensor"'
        assert name in repr(capsule)
        back = flambeau.from_dlpack(capsule) if consumed else None
        del t
        if consumed:
            assert back.sum().item() == 100_000.0
            with pytest.raises(RuntimeError, match="only once"):
                flambeau.from_dlpack(capsule)
        del capsule, back
        assert used() <= before + 1000


def test_numpy_keeps_and_lets_go():
    before = used()
    a = np.from_dlpack(flambeau.ones(100_000))
    assert a.sum() == 100_000 and a.flags.writeable and used() > before
    del a
    assert used() <= before + 1000
    a = np.ones(1000)
    ref = weakref.ref(a)
    t = flambeau.from_dlpack(a)[5:9]
    count = sys.getrefcount(a)
    del a
    gc.collect()
    assert ref() is not None and count > 1 and t.tolist() == [1.0] * 4
    del t
    gc.collect()
    assert ref() is None


def test_memory_that_cannot_be_written_is_copied():
    a = np.arange(3.0)
    a.flags.writeable = False
    t = flambeau.from_dlpack(a)
    t[0] = 7
    assert a[0] == 0.0


def test_older_producers():
    class Old:
        def __dlpack__(self, stream=None):
            return flambeau.ones(2).__dlpack__()

    assert flambeau.from_dlpack(Old()).tolist() == [1.0, 1.0]
    assert dlpack.from_dlpack(dlpack.to_dlpack(flambeau.ones(2))).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["bfloat16", "complex64", "bool", "uint16", "float8_e5m2"])
def test_dtypes_come_back(name):
    t = flambeau.ones(2).to(getattr(flambeau, name))
    assert flambeau.from_dlpack(t).dtype is t.dtype


def test_what_cannot_be_exported():
    meta = flambeau.ones(2, device="meta")
    with pytest.raises(BufferError, match="meta"):
        meta.__dlpack__()
    with pytest.raises(ValueError, match="meta"):
        meta.__dlpack_device__()
    with pytest.raises(RuntimeError, match="negative strides"):
        flambeau.from_dlpack(np.arange(3.0)[::-1])


def test_exported_memory_does_not_move():
    t = flambeau.ones(10)
    a = t.numpy()
    b = np.from_dlpack(t)
    assert not t.untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(1000)
    del a, b
    gc.collect()
    assert t.untyped_storage().resizable()
