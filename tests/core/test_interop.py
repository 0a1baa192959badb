"""Sharing with others: NumPy, buffers, DLPack, subclasses, devices, threads, memory."""

from __future__ import annotations

import ctypes
import gc
import os
import threading

import numpy
import pytest

import flambeau

# ---- NumPy and buffers ---------------------------------------------------------------------------


def test_numpy_shares_memory():
    t = flambeau.arange(6.0).reshape(2, 3)
    a = t.t().numpy()
    a[0, 1] = 50.0
    assert t[1, 0].item() == 50.0 and a.strides == (4, 12)
    back = flambeau.from_numpy(a)
    back[0, 0] = 9.0
    assert t[0, 0].item() == 9.0 and back.stride() == (1, 3)
    del t, back
    gc.collect()
    assert a[0, 1] == 50.0


@pytest.mark.parametrize(
    "name",
    [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
def test_numpy_dtypes(name):
    t = flambeau.tensor([0, 1, 2]).to(getattr(flambeau, name))
    a = t.numpy()
    assert (
        a.dtype == name
        and flambeau.from_numpy(a).dtype is t.dtype
        and flambeau.as_tensor(a).data_ptr() == t.data_ptr()
    )
    assert numpy.asarray(t).tolist() == t.tolist() and flambeau.tensor(a).data_ptr() != t.data_ptr()
    assert t[:0].numpy().shape == (0,) and t[0].numpy().shape == ()


@pytest.mark.parametrize(
    "make, kind",
    [
        (lambda: flambeau.from_numpy(numpy.zeros(3)[::-1]), ValueError),
        (lambda: flambeau.from_numpy(numpy.zeros(2, "U3")), TypeError),
        (lambda: flambeau.from_numpy(numpy.zeros(2, ">f4")), (TypeError, ValueError)),
        (lambda: flambeau.from_numpy(numpy.zeros(2, [("a", "f4")])), TypeError),
        (lambda: flambeau.from_numpy(3), TypeError),
        (lambda: flambeau.ones(1, dtype=flambeau.bfloat16).numpy(), TypeError),
        (lambda: flambeau.ones(1, requires_grad=True).numpy(), RuntimeError),
        (
            lambda: flambeau.ones(1, device="meta").numpy(),
            (TypeError, RuntimeError, NotImplementedError),
        ),
        (lambda: memoryview(flambeau.ones(1, dtype=flambeau.bfloat16)), TypeError),
        (
            lambda: (
                bytes(memoryview(flambeau.ones(2, 2).t())[::2])
                and ctypes.c_char.from_buffer(flambeau.ones(4)[::2])
            ),
            Exception,
        ),
    ],
)
def test_what_cannot_be_shared(make, kind):
    with pytest.raises(kind):
        make()


def test_buffer_protocol():
    t = flambeau.tensor([[1, 2], [3, 4]], dtype=flambeau.int32)
    view = memoryview(t)
    assert (view.shape, view.format, view.itemsize, view.strides) == ((2, 2), "i", 4, (8, 4))
    assert view.tolist() == [[1, 2], [3, 4]] and memoryview(t.t()).tolist() == [[1, 3], [2, 4]]
    assert flambeau.frombuffer(bytearray(b"\1\0\2\0"), dtype=flambeau.int16).tolist() == [1, 2]


def test_exported_memory_does_not_move():
    t = flambeau.ones(1000)
    a = t.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(100_000)
    t.data = flambeau.zeros(3)
    gc.collect()
    for _ in range(100):
        flambeau.zeros(1000)
    assert (a == 1).all()
    del a
    gc.collect()
    t = flambeau.ones(1000)
    assert t.resize_(100_000).shape == (100_000,)


def test_a_shrunk_storage_stays_readable():
    t = flambeau.ones(100_000)
    t.untyped_storage().resize_(0)
    assert t.untyped_storage().nbytes() == 0
    assert t.tolist()[50_000] == 0.0  # gone, but not foreign memory
    t.untyped_storage().resize_(400_000)
    t.fill_(2)
    assert t[99_999].item() == 2.0
    with pytest.raises((RuntimeError, ValueError, MemoryError, OverflowError)):
        t.untyped_storage().resize_(-5)


def test_dlpack():
    t = flambeau.arange(6.0).reshape(2, 3)
    a = numpy.from_dlpack(t.t())
    a_again = flambeau.from_dlpack(numpy.arange(4.0)[::2])
    assert (
        a.tolist() == t.t().tolist() and a_again.tolist() == [0.0, 2.0] and a_again.stride() == (2,)
    )
    capsule = t.__dlpack__()
    assert flambeau.from_dlpack(capsule).data_ptr() == t.data_ptr() and t.__dlpack_device__() == (
        1,
        0,
    )
    with pytest.raises(RuntimeError, match="only once"):
        flambeau.from_dlpack(capsule)
    with pytest.raises(BufferError):
        flambeau.ones(1, requires_grad=True).__dlpack__()
    half = flambeau.ones(2, dtype=flambeau.bfloat16)
    assert flambeau.from_dlpack(half.__dlpack__()).dtype is flambeau.bfloat16


# ---- __torch_function__ --------------------------------------------------------------------------


class Named(flambeau.Tensor):
    pass


def test_subclasses_stay():
    x = flambeau.ones(2).as_subclass(Named)
    x.note = 1
    for y in (
        x + 1,
        1 + x,
        x.exp(),
        x[0],
        flambeau.add(x, x),
        flambeau.ones(2) * x,
        x.unbind()[0],
        x.view(1, 2),
    ):
        assert type(y) is Named
    assert isinstance(x, flambeau.Tensor) and x.tolist() == [1.0, 1.0]


def test_an_override_sees_every_call():
    calls = []

    class Logged(flambeau.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = flambeau.ones(2).as_subclass(Logged)
    assert type(flambeau.exp(x.add(1) * 2)) is Logged
    assert "add" in calls and "exp" in calls and len(calls) >= 3


def test_duck_types():
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, types == (Duck,) or types == {Duck} or list(types) == [Duck]

    assert flambeau.add(flambeau.ones(1), Duck()) == ("add", True)
    assert flambeau.cat([flambeau.ones(1), Duck()])[0] == "cat"

    class Refuses:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError):
        flambeau.add(flambeau.ones(1), Refuses())


def test_overrides_that_fail():
    class Fails:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyError("z")

    class Endless(flambeau.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(KeyError):
        flambeau.add(flambeau.ones(1), Fails())
    with pytest.raises(RecursionError):
        flambeau.ones(2).as_subclass(Endless) + 1
    with pytest.raises(TypeError):
        flambeau.add(flambeau.ones(1), type("Bad", (), {"__torch_function__": 3})())


# ---- errors --------------------------------------------------------------------------------------


def test_devices_do_not_mix():
    cpu, meta = flambeau.ones(2), flambeau.ones(2, device="meta")
    for call in (
        lambda: cpu + meta,
        lambda: cpu.add_(meta),
        lambda: flambeau.cat([cpu, meta]),
        lambda: flambeau.add(cpu, cpu, out=meta),
        lambda: flambeau.add(meta, meta, out=cpu),
        lambda: flambeau.ones(()).add_(flambeau.ones((), device="meta")),
        lambda: cpu[meta.long()],
    ):
        with pytest.raises(RuntimeError, match="same device|device"):
            call()
    for call in (
        lambda: cpu.copy_(meta),
        lambda: meta.tolist(),
        lambda: meta[0].item(),
        lambda: meta.nonzero(),
    ):
        with pytest.raises((NotImplementedError, RuntimeError)):
            call()
    assert (meta + flambeau.ones(())).is_meta and meta.copy_(cpu) is meta


def test_messages_name_operator_argument_and_types():
    x = flambeau.ones(2)
    for call, kind, parts in (
        (lambda: flambeau.add(x), TypeError, ("add", "other")),
        (lambda: flambeau.add(x, 1, foo=3), TypeError, ("add", "foo")),
        (lambda: flambeau.add(x, "a"), TypeError, ("add", "str")),
        (lambda: flambeau.add(x, 1, out=3), TypeError, ("add", "int")),
        (lambda: x + flambeau.ones(3), RuntimeError, ("2", "3", "must match")),
        (lambda: x.view(3), RuntimeError, ("[3]", "invalid for input of size 2")),
        (lambda: x.transpose(0, 5), IndexError, ("Dimension out of range",)),
        (lambda: x.permute(0, 0), RuntimeError, ("permute",)),
        (
            lambda: flambeau.bitwise_and(x, x),
            (NotImplementedError, RuntimeError),
            ("bitwise_and", "Float"),
        ),
    ):
        with pytest.raises(kind) as error:
            call()
        assert all(p.lower() in str(error.value).lower() for p in parts), str(error.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: flambeau.Tensor.add(3, 4),
        lambda: flambeau.Tensor.size(3),
        lambda: flambeau.Tensor.__getitem__(3, 4),
        lambda: flambeau.Tensor.tolist(3),
        lambda: flambeau.Tensor.shape.__get__(3),
        lambda: flambeau._C.Node(),
        lambda: flambeau._C._attach_function("a", None, None, [3], [flambeau.ones(1)], [], []),
        lambda: flambeau._C._run_backward(3, [None], False, False, (), True, True),
        lambda: flambeau._C._make_subclass(int, flambeau.ones(1)),
        lambda: flambeau._C._from_buffer(3),
        lambda: flambeau.ones(2).reshape(type("I", (), {"__index__": lambda self: "a"})()),
    ],
)
def test_wrong_types_are_type_errors(call):
    with pytest.raises(TypeError):
        call()


# ---- threads, memory -----------------------------------------------------------------------------


def test_results_do_not_depend_on_the_number_of_threads():
    before = flambeau.get_num_threads()
    x = flambeau.arange(300_001, dtype=flambeau.float64) / 7
    results = []
    try:
        for threads in (1, 2):
            flambeau.set_num_threads(threads)
            assert flambeau.get_num_threads() == threads
            y = (x.sin() * x.log1p() + x[:1]).float()
            columns = x[:300_000].reshape(300, 1000).sum(0)
            results.append((y.numpy().tobytes(), y.sum().item(), columns.tolist()))
        with pytest.raises(RuntimeError):
            flambeau.set_num_threads(0)
    finally:
        flambeau.set_num_threads(before)
    assert results[0] == results[1]


def test_use_from_several_threads():
    shared = flambeau.ones(100, requires_grad=True)
    errors = []

    def work():
        try:
            for _ in range(50):
                x = flambeau.ones(100, requires_grad=True)
                (x * shared.detach() * x).sum().backward()
                assert x.grad.tolist() == [2.0] * 100
                assert (flambeau.ones(50_000) + 1)[-1].item() == 2.0
                shared.register_hook(lambda g: None).remove()
                (shared * 2).sum().backward()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_memory_replaced_while_another_thread_reads():
    """Kernels read without the GIL: a change of memory or geometry waits for them."""
    large, small = flambeau.ones(1 << 21), flambeau.ones(8)
    x = flambeau.ones(1 << 21)
    seen, done = set(), threading.Event()

    def read():
        while not done.is_set():
            seen.add(flambeau.exp(x).log().round().max().item())

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(25):
        x.set_(small)
        x.set_(large.clone())
        x.data = small
        x.data = large.clone()
        x.resize_(8)
        x.resize_(1 << 20).fill_(1.0)
        x.t_()
    done.set()
    for reader in readers:
        reader.join()
    assert seen <= {0.0, 1.0} and 1.0 in seen  # 0: between resize_ and fill_


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    x = flambeau.arange(200_000.0)
    (x + 1).sin()
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if (x + 1)[-1].item() == 200_000.0 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert (x + 1)[-1].item() == 200_000.0


def test_memory_stats():
    gc.collect()

    def used():
        stats = flambeau._C._memory_stats()
        return next(v for k, v in stats.items() if "alloc" in k and "peak" not in k)

    start = used()
    x = flambeau.ones(1_000_000)
    assert used() >= start + 4_000_000
    del x
    gc.collect()
    assert used() <= start + 100_000
    flambeau._C._empty_cache()
