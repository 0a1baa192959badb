"""Batches as bytes between the processes of a data loader."""

import gc
import math
import socket
import threading

import pytest

import flambeau
from flambeau.utils.data._utils.channel import Channel, Receiver, Sender


class Pair:
    """Both sides of a channel, in this process."""

    def __init__(self):
        here, there = socket.socketpair()
        self.sender = Sender(Channel(there))
        self.reader, self.receiver = Channel(here), Receiver()

    def send(self, data):
        """The data on the other side, and whether it was pickled."""
        self.sender.send("data", 7, data)
        return self.receive()

    def receive(self):
        (message,) = self.reader.receive()
        kind, number, make = self.receiver.open(*message)
        assert (kind, number) == ("data", 7)
        self.sender.released(self.receiver.free())
        return make(), message[0][-1] is not None


@pytest.fixture
def pair():
    out = Pair()
    yield out
    out.reader.close()
    out.sender.channel.close()
    out.sender = out.receiver = None
    gc.collect()  # a sender refers to itself; its memory counts in other tests


PLAIN = [
    None,
    True,
    False,
    0,
    -(2**63),
    2**63 - 1,
    1.5,
    -0.0,
    math.inf,
    "",
    "\N{GREEK SMALL LETTER ALPHA}\0b",
    b"",
    b"\0\xff",
    (),
    [],
    {},
    [1, (2.0, ["3", {"a": (4,), 5: None, (6, 7): b"8"}])],
]


@pytest.mark.parametrize("data", PLAIN, ids=repr)
def test_plain_data(pair, data):
    got, pickled = pair.send(data)
    assert not pickled and type(got) is type(data) and repr(got) == repr(data)


class Text(str):
    pass


OTHER = [2**63, "\ud800", Text("a"), 1 + 2j, {1, 2}, range(3), [slice(1, 2)], flambeau.float32]


@pytest.mark.parametrize("data", OTHER, ids=ascii)
def test_other_data_is_pickled(pair, data):
    tensor = flambeau.arange(5000)
    (got, sent), pickled = pair.send((data, tensor))
    assert pickled and type(got) is type(data) and got == data
    assert flambeau.equal(sent, tensor)


def test_depth(pair):
    loop = [1]
    loop.append(loop)
    got, pickled = pair.send(loop)
    assert pickled and got[1] is got
    deep = []
    for _ in range(300):
        deep = [deep]
    got, pickled = pair.send(deep)
    assert pickled and repr(got) == repr(deep)


TENSORS = {
    "small": lambda: flambeau.arange(6).reshape(2, 3),
    "0-d": lambda: flambeau.tensor(2.5),
    "large": lambda: flambeau.arange(9000.0).reshape(90, 100),
    "transposed": lambda: flambeau.arange(6).reshape(2, 3).T,
    "part": lambda: flambeau.arange(90_000)[5:9],
    "strided": lambda: flambeau.arange(9000)[::2],
    "expanded": lambda: flambeau.arange(3).expand(4, 3),
    "channels last": lambda: flambeau.rand(2, 3, 40, 40).to(memory_format=flambeau.channels_last),
    "bool": lambda: flambeau.tensor([True, False]),
    "complex": lambda: flambeau.full((3,), 1j),
    "bfloat16": lambda: flambeau.ones(5, dtype=flambeau.bfloat16),
    "float8": lambda: flambeau.ones(5).to(flambeau.float8_e4m3fn),
    "empty": lambda: flambeau.empty(0, 3),
    "six dimensions": lambda: flambeau.rand(1, 2, 3, 1, 2, 3),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(pair, name):
    t = TENSORS[name]()
    for _ in range(3):  # in memory that is used again, too
        got, pickled = pair.send({"t": t})
        assert not pickled
        got = got["t"]
        assert got.dtype is t.dtype and got.shape == t.shape and got.requires_grad is False
        assert flambeau.equal(got.to(flambeau.complex128), t.to(flambeau.complex128))
        if name != "part":
            assert got.stride() == t.stride()
        assert got.data_ptr() != t.data_ptr() or not t.numel()
        del got


def test_one_object_stays_one(pair):
    a, b = flambeau.ones(3), flambeau.ones(5000)
    (x, y, z, w), pickled = pair.send([a, b, a, b])
    assert not pickled and x is z and y is w


@pytest.mark.parametrize("count", [8, 8000])
def test_tensors_of_one_storage_stay_so(pair, count):
    base = flambeau.arange(count)
    (whole, flipped, part), pickled = pair.send((base, base.reshape(2, -1).T, base[: count - 2]))
    assert not pickled
    whole[3] = -1
    assert flipped[3, 0] == -1 and part[3] == -1 and base[3] == 3


def test_attributes_gradients_and_subclasses_arrive(pair):
    t = flambeau.ones(3)
    t.label = "t"
    leaf = flambeau.ones(2, requires_grad=True)
    (got, got_leaf, parameter), pickled = pair.send((t, leaf, flambeau.nn.Parameter(leaf)))
    assert pickled and got.label == "t" and got_leaf.requires_grad and got_leaf.is_leaf
    assert type(parameter) is flambeau.nn.Parameter
    with pytest.raises(RuntimeError, match="non-leaf tensor"):
        pair.send([leaf * 2])
    assert pair.send([1]) == ([1], False)


def test_shared_tensor_goes_as_it_is(pair):
    t = flambeau.zeros(10).share_memory_()
    (got, again), pickled = pair.send((t, t[:5]))
    got += 1
    assert not pickled and t[0] == 1 and again[0] == 1
    other = pair.send([t])[0][0]
    other += 1
    assert t[0] == 2


def test_more_tensors_than_descriptors(pair):
    many = [flambeau.full((20_000,), i) for i in range(300)]
    # What has no descriptor goes in the message itself, more than the socket holds.
    thread = threading.Thread(target=pair.sender.send, args=("data", 7, many))
    thread.start()
    got, _ = pair.receive()
    thread.join()
    assert [int(t[-1]) for t in got] == list(range(300))


def test_list_that_changes_while_it_is_written():
    t, data = flambeau.ones(5000), []

    def share(_):
        data.clear()

    data += [t, 1, 2]
    assert flambeau._C._encode_batch(data, {}, share) is None


def test_bad_messages_are_errors():
    encode, decode = flambeau._C._encode_batch, flambeau._C._decode_batch
    message, addresses = encode([1, "text", {"a": flambeau.ones(3)}, (2.0,)], {}, None)
    assert addresses == ()
    assert decode(message, ())[1] == "text"
    for end in range(len(message)):
        with pytest.raises(RuntimeError):
            decode(message[:end], ())
    with pytest.raises(RuntimeError):
        decode(message + b"\0", ())
    for at in range(len(message)):
        for value in (0, 7, 8, 12, 13, 127, 255):
            try:
                decode(message[:at] + bytes([value]) + message[at + 1 :], ())
            except (RuntimeError, ValueError, OverflowError, MemoryError, TypeError):
                pass
    with pytest.raises(TypeError):
        decode(message, [])
