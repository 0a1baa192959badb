"""How batches travel from a worker to the main process.

A worker and the main process share a stream socket. A message is a header, the parts below and,
attached, the descriptors of the memory blocks that the receiver does not know yet:

    meta     what it is, and for each buffer of the payload the block, offset and size
    payload  a pickle whose large buffers (tensors, NumPy arrays) lie in the blocks

The receiver maps what the worker wrote; nothing is copied. When the last tensor on a block is gone
there, its number goes back to the worker, which writes a later batch into the same pages.
"""

from __future__ import annotations

import array
import io
import pickle
import socket
import struct
from collections import OrderedDict, deque
from multiprocessing.reduction import ForkingPickler

from flambeau import _C
from flambeau._pickle import StorageHandle, _reduce_tensor

_HEADER = struct.Struct("<IQI")  # bytes of meta and payload, number of descriptors
_RECEIVED_AT_ONCE = 1 << 16
_DESCRIPTORS_AT_ONCE = 200  # the system allows 253 in a message
_MOST_BLOCKS_OUT = 4096  # beyond, batches are copied: a process has 65,530 mappings
_ARENA = 1 << 18  # small buffers of a batch share blocks of this size
_SMALL = 1 << 16
_INLINE_ARRAY = 1 << 12
_KEPT_BATCHES = 16  # a free block that so many batches found no use for is given back
_ALIGNMENT = 64


class Channel:
    """One end of the socket: writes whole messages, and reads them as they come in."""

    def __init__(self, sock):
        self.socket = sock
        self._input = bytearray()
        self._descriptors = deque()
        self._output = deque()

    def fileno(self):
        return self.socket.fileno()

    @property
    def backlog(self):
        """Whether a part of a message still waits to be written."""
        return bool(self._output)

    def send(self, meta, payload=b"", descriptors=()):
        """Writes a message, waiting until the other side takes it."""
        meta = pickle.dumps(meta, 5)
        header = _HEADER.pack(len(meta), len(payload), len(descriptors))
        attached = []
        if descriptors:
            packed = array.array("i", descriptors)
            attached.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, packed))
        parts = [header, meta, payload]
        sent = self.socket.sendmsg(parts, attached)
        if sent < len(header) + len(meta) + len(payload):
            self.socket.sendall(memoryview(b"".join(parts))[sent:])

    def post(self, meta):
        """Writes a message without waiting; what does not fit now is written by `flush`."""
        meta = pickle.dumps(meta, 5)
        self._output.append(memoryview(_HEADER.pack(len(meta), 0, 0) + meta))
        self.flush()

    def flush(self):
        """Writes as much of what waits as fits; an ended receiver shows when it is read from."""
        while self._output:
            try:
                sent = self.socket.send(self._output[0], socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                self._output.clear()
                return
            if sent == len(self._output[0]):
                self._output.popleft()
            else:
                self._output[0] = self._output[0][sent:]

    def receive(self, wait=True):
        """The messages that are there, as (meta, payload, descriptors); waits for the first.

        Errors: `EOFError` when the other side has ended.
        """
        messages = []
        ended = False
        while not ended:
            flags = 0 if wait and not messages else socket.MSG_DONTWAIT
            try:
                data, attached, _, _ = self.socket.recvmsg(
                    _RECEIVED_AT_ONCE, socket.CMSG_SPACE(4 * _DESCRIPTORS_AT_ONCE),
                    flags | socket.MSG_CMSG_CLOEXEC,
                )  # fmt: skip
            except BlockingIOError:
                break
            except ConnectionError:
                data, attached = b"", ()
            for level, kind, content in attached:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    self._descriptors.extend(array.array("i", content))
            self._input += data
            ended = not data
            self._split(messages)
        if ended and not messages:
            raise EOFError
        return messages

    def _split(self, messages):
        at = 0
        while len(self._input) - at >= _HEADER.size:
            meta, payload, count = _HEADER.unpack_from(self._input, at)
            begin = at + _HEADER.size
            if len(self._input) < begin + meta + payload:
                break
            end = begin + meta + payload
            if len(self._descriptors) < count:
                raise RuntimeError(
                    "DataLoader: too many open files to receive a batch; raise the limit "
                    "(ulimit -n), or keep fewer batches"
                )
            descriptors = [self._descriptors.popleft() for _ in range(count)]
            view = bytes(memoryview(self._input)[begin:end])
            messages.append((pickle.loads(view[:meta]), view[meta:], descriptors))
            at = end
        if at:
            del self._input[:at]

    def close(self):
        self.socket.close()


class _Block:
    __slots__ = ("id", "memory", "out", "own", "freed_at")

    def __init__(self, id, memory, own=True):
        self.id = id
        self.memory = memory
        self.out = 0  # how often it was sent and not given back
        self.own = own  # made here, so that it can be written again
        self.freed_at = 0


def _class_of(nbytes):
    """The block size for a buffer: a fourth of a power of two, so that blocks fit again."""
    step = max(1 << max((nbytes - 1).bit_length() - 3, 0), 4096)
    return -(-nbytes // step) * step


class Sender:
    """The worker's side: makes memory for batches and sends them."""

    def __init__(self, channel):
        self.channel = channel
        self._blocks = {}  # all that the receiver may know, by address
        self._by_id = {}
        self._free = OrderedDict()  # blocks that nobody uses, the longest unused first
        self._out = 0
        self._next_id = 0
        self._batch = 0
        self._dropped = []
        self._taken = []  # blocks of the batch in the making
        self._arena = None
        self._arena_used = 0
        self._new = []
        self._reductions = dict(ForkingPickler(io.BytesIO()).dispatch_table)
        self._reductions.pop(StorageHandle, None)
        self._reductions[_C.Tensor] = self._reduce

    # ---- memory ---------------------------------------------------------------------------------

    def storage(self, nbytes):
        """Memory that the next batch can be written to; None where there is none to be had."""
        try:
            if nbytes < _SMALL:
                return self._small(nbytes)
            return self._take(_class_of(nbytes)).memory.storage(0, nbytes)
        except RuntimeError:
            return None

    def empty(self, shape, dtype, strides=None):
        """A tensor in such memory, or None."""
        count = 1
        for size in shape:
            count *= size
        nbytes = count * dtype.itemsize
        storage = self.storage(nbytes) if nbytes else None
        if storage is None:
            return None
        if strides is None:
            strides, step = [], 1
            for size in reversed(shape):
                strides.append(step)
                step *= size
            strides = tuple(reversed(strides))
        return _C._tensor_from_storage(storage, dtype, 0, tuple(shape), strides)

    def _small(self, nbytes):
        if self._arena is None or self._arena_used + nbytes > _ARENA:
            self._arena = self._take(_ARENA, populate=False)
            self._arena_used = 0
        begin = self._arena_used
        self._arena_used += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return self._arena.memory.storage(begin, nbytes)

    def _take(self, size, populate=True):
        if self._out >= _MOST_BLOCKS_OUT:
            raise RuntimeError("the receiver keeps too many blocks")
        for block in self._free.values():
            if block.own and block.memory.nbytes == size and not block.memory.users:
                del self._free[block.id]
                break
        else:
            if len(self._new) >= _DESCRIPTORS_AT_ONCE:
                raise RuntimeError("too many new blocks in one batch")
            block = self._add(_C._new_shared_block(size, populate))
        self._taken.append(block)
        return block

    def _add(self, memory, own=True):
        block = _Block(self._next_id, memory, own)
        self._next_id += 1
        self._blocks[memory.address] = self._by_id[block.id] = block
        self._new.append(block)
        return block

    def released(self, notices):
        """The receiver gave back blocks: (id, how often) of each."""
        for id, times in notices:
            block = self._by_id.get(id)
            if block is None:
                continue
            block.out -= times
            if block.out == 0:
                self._out -= 1
                self._set_free(block)

    def _set_free(self, block):
        block.freed_at = self._batch
        self._free[block.id] = block

    def _trim(self):
        # A block that another size of batch left behind is not kept for ever.
        while self._free:
            block = next(iter(self._free.values()))
            if self._batch - block.freed_at <= _KEPT_BATCHES:
                break
            self._forget(block)

    def _forget(self, block):
        self._free.pop(block.id, None)
        del self._by_id[block.id]
        del self._blocks[block.memory.address]
        if block in self._new:
            self._new.remove(block)
        else:
            self._dropped.append(block.id)

    # ---- sending --------------------------------------------------------------------------------

    def send(self, kind, number, data):
        """Sends a batch under its number.

        Errors: those of pickling; nothing has been sent then.
        """
        self._batch += 1
        used = {}
        places = []
        try:
            payload = self._pickle(data, places, used)
        except BaseException:
            self._finish_batch({})
            raise
        del data
        inside = len(payload) > _SMALL
        if inside:
            # A large payload (text, objects) would wait in the socket until it is read.
            storage = self.storage(len(payload))
            inside = storage is not None
            if inside:
                memoryview(storage)[:] = payload
                places.append(self._place(storage, used))
                payload = b""
                del storage
        for block in used.values():
            if block.out == 0:
                self._out += 1
                self._free.pop(block.id, None)
            block.out += 1
        new = [block for block in self._new if block.id in used]
        dropped, self._dropped = self._dropped, []
        meta = (kind, number, places, [(b.id, b.memory.nbytes) for b in new], dropped, inside)
        self.channel.send(meta, payload, [b.memory.descriptor for b in new])
        for block in new:
            if block.own:
                block.memory.close()
            self._new.remove(block)
        self._finish_batch(used)

    def _finish_batch(self, used):
        for block in self._taken:
            if block.id not in used and block.out == 0:
                self._set_free(block)
        self._taken.clear()
        self._arena = None
        self._trim()
        # A block that was made and is not known to the receiver must not wait for its descriptor
        # to be sent with a batch that has no room for it.
        for block in list(self._new):
            if block.id in self._free:
                self._forget(block)

    def _pickle(self, data, places, used):
        def out_of_band(buffer):
            place = self._buffer(buffer.raw(), used)
            if place is None:
                return True
            places.append(place)
            return False

        file = io.BytesIO()
        pickler = pickle.Pickler(file, 5, buffer_callback=out_of_band)
        pickler.dispatch_table = self._reductions
        pickler.dump(data)
        return file.getbuffer()

    def _buffer(self, view, used):
        """Where a buffer of the pickle lies in a block, copied there if need be; None: inline."""
        owner = view.obj
        if isinstance(owner, _C.UntypedStorage):
            if not view.nbytes:
                return None
            if owner.is_shared() and len(self._new) < _DESCRIPTORS_AT_ONCE:
                return self._place(owner, used)
        elif view.nbytes < _INLINE_ARRAY:
            return None
        storage = self.storage(view.nbytes)
        if storage is None:
            return None
        memoryview(storage)[:] = view.cast("B")
        return self._place(storage, used)

    def _place(self, storage, used):
        memory = storage._shared_block()
        block = self._blocks.get(memory.address)
        if block is None:
            if memory.descriptor < 0:
                storage.share_memory_()
                memory = storage._shared_block()
            # A tensor that the program shares goes as it is: changes are seen on both sides.
            block = self._add(memory, own=False)
        used[block.id] = block
        return block.id, storage.data_ptr() - memory.address, storage.nbytes()

    def _reduce(self, t):
        if t.requires_grad and not t.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
                "autograd does not support crossing process boundaries. If you just want to "
                "transfer the data, call detach() on the tensor before returning it from the "
                "worker."
            )
        if t.device.type == "cpu" and not _C._transform_level(t):
            storage = t.untyped_storage()
            # A part of a large tensor goes alone, not with the memory around it.
            if not storage.is_shared() and storage.nbytes() > 2 * t.numel() * t.itemsize:
                part = t.detach().clone()
                if t.requires_grad:
                    part.requires_grad_()
                state = getattr(t, "__dict__", None)
                if state:
                    part.__dict__.update(state)
                t = part
        return _reduce_tensor(t, 5)


class Receiver:
    """The main process's side of a channel: maps what a worker sent."""

    def __init__(self, channel):
        self.channel = channel
        self._blocks = {}
        self._mentions = {}

    def open(self, meta, payload, descriptors):
        """Maps the memory of a message; returns (kind, number, a function that makes the data)."""
        kind, number, places, new, dropped, inside = meta
        for id in dropped:
            self._blocks.pop(id, None)
            self._mentions.pop(id, None)
        for (id, nbytes), descriptor in zip(new, descriptors):
            memory = _C._open_shared_block(descriptor, nbytes, nbytes > _ARENA)
            memory.close()
            self._blocks[id] = memory
        storages = [self._blocks[id].storage(begin, nbytes) for id, begin, nbytes in places]
        for id in {place[0] for place in places}:
            self._mentions[id] = self._mentions.get(id, 0) + 1
        if inside:
            payload = storages.pop()
        return kind, number, lambda: pickle.loads(payload, buffers=storages)

    def free(self):
        """(id, how often it came) of the blocks that no tensor here lies in any more."""
        if not self._mentions:
            return []
        idle = [(id, n) for id, n in self._mentions.items() if not self._blocks[id].users]
        for id, _ in idle:
            del self._mentions[id]
        return idle
