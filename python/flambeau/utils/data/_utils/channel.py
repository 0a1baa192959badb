"""How batches travel from a worker to the main process.

A worker and the main process share a stream socket. A message is a header, the parts below and,
attached, the descriptors of the memory blocks that the receiver does not know yet:

    meta     what it is, and which blocks it is about
    payload  the batch, as `_C._encode_batch` writes it: tensors are places in blocks. What that
             does not know (other types, recursive lists, tensors with attributes) makes the batch
             a pickle after it that names the tensors by their numbers; NumPy arrays lie in blocks

The receiver maps what the worker wrote; nothing is copied. When the last tensor on a block is gone
there, its number goes back to the worker, which writes a later batch into the same pages.
"""

from __future__ import annotations

import array
import io
import math
import pickle
import socket
import struct
from collections import deque
from multiprocessing.reduction import ForkingPickler

from flambeau import _C
from flambeau._pickle import StorageHandle, _reduce_tensor

_HEADER = struct.Struct("<IQI")  # bytes of meta and payload, number of descriptors
_RECEIVED_AT_ONCE = 1 << 14
_DESCRIPTORS_AT_ONCE = 200  # the system allows 253 in a message
_MOST_BLOCKS_OUT = 4096  # beyond, batches are copied: a process has 65,530 mappings
_ARENA = 1 << 18  # small buffers of a batch share blocks of this size
_SMALL = 1 << 16
_INLINE_ARRAY = 1 << 12
_KEPT_BATCHES = 16  # a free block that so many batches found no use for is given back
_ALIGNMENT = 64

# Plain numbers: those of `socket` are enumerations, slow to combine.
_NO_WAIT, _CLOSE_ON_EXEC = int(socket.MSG_DONTWAIT), int(socket.MSG_CMSG_CLOEXEC)
_LEVEL, _RIGHTS = int(socket.SOL_SOCKET), int(socket.SCM_RIGHTS)
_ANCILLARY = socket.CMSG_SPACE(4 * _DESCRIPTORS_AT_ONCE)


class Channel:
    """One end of the socket: writes whole messages, and reads them as they come in."""

    def __init__(self, sock):
        self.socket = sock
        self._input = []  # what came of a message that is not complete
        self._missing = 0
        self._descriptors: deque = deque()
        self._output: deque = deque()

    def fileno(self):
        return self.socket.fileno()

    @property
    def backlog(self):
        """Whether a part of a message still waits to be written."""
        return bool(self._output)

    def send(self, meta, payload=b"", descriptors=()):
        """Writes a message, waiting until the other side takes it."""
        meta = pickle.dumps(meta, 5)
        message = _HEADER.pack(len(meta), len(payload), len(descriptors)) + meta + payload
        attached = []
        if descriptors:
            attached = [(_LEVEL, _RIGHTS, array.array("i", descriptors))]
        sent = self.socket.sendmsg((message,), attached)
        if sent < len(message):
            self.socket.sendall(memoryview(message)[sent:])

    def post(self, meta):
        """Writes a message without waiting; what does not fit now is written by `flush`."""
        meta = pickle.dumps(meta, 5)
        self._output.append(_HEADER.pack(len(meta), 0, 0) + meta)
        self.flush()

    def flush(self):
        """Writes as much of what waits as fits; an ended receiver shows when it is read from."""
        while self._output:
            try:
                sent = self.socket.send(self._output[0], _NO_WAIT)
            except BlockingIOError:
                return
            except OSError:
                self._output.clear()
                return
            if sent == len(self._output[0]):
                self._output.popleft()
            else:
                self._output[0] = memoryview(self._output[0])[sent:]

    def receive(self, wait=True):
        """The messages that are there, as (meta, payload, descriptors); waits for the first.

        Errors: `EOFError` when the other side has ended.
        """
        while True:
            try:
                data, attached, _, _ = self.socket.recvmsg(
                    _RECEIVED_AT_ONCE,
                    _ANCILLARY,
                    _CLOSE_ON_EXEC if wait else _NO_WAIT | _CLOSE_ON_EXEC,
                )
            except BlockingIOError:
                return []
            except ConnectionError:
                raise EOFError from None
            if not data:
                raise EOFError
            for level, kind, content in attached:
                if (level, kind) == (_LEVEL, _RIGHTS):
                    self._descriptors.extend(array.array("i", content))
            messages = self._messages(data)
            if messages:
                return messages

    def _messages(self, data):
        if self._input:
            self._input.append(data)
            self._missing -= len(data)
            if self._missing > 0:
                return []
            data = b"".join(self._input)
            self._input = []
        messages, at, view = [], 0, memoryview(data)
        while True:
            left = len(data) - at
            if left < _HEADER.size:
                size = _HEADER.size
                break
            meta_size, payload_size, count = _HEADER.unpack_from(data, at)
            size = _HEADER.size + meta_size + payload_size
            if left < size:
                break
            meta = at + _HEADER.size
            payload = meta + meta_size
            at += size
            if len(self._descriptors) < count:
                raise RuntimeError(
                    "DataLoader: too many open files to receive a batch; raise the limit "
                    "(ulimit -n), or keep fewer batches"
                )
            descriptors = [self._descriptors.popleft() for _ in range(count)]
            messages.append((pickle.loads(view[meta:payload]), view[payload:at], descriptors))
        if left:
            self._input = [data[at:]]
            self._missing = size - left
        return messages

    def close(self):
        self.socket.close()


class _Block:
    __slots__ = ("id", "memory", "nbytes", "out", "own", "freed_at")

    def __init__(self, id, memory, own=True):
        self.id = id
        self.memory = memory
        self.nbytes = memory.nbytes
        self.out = 0  # how often it was sent and not given back
        self.own = own  # made here, so that it can be written again
        self.freed_at = 0


def _class_of(nbytes):
    """The block size for a buffer: a fourth of a power of two, so that blocks fit again."""
    step = max(1 << max((nbytes - 1).bit_length() - 3, 0), 4096)
    return -(-nbytes // step) * step


class Memory:
    """The worker's blocks: which the main process has, and which can be written."""

    def __init__(self):
        self.new = []  # the main process does not know them yet
        self.dropped = []  # ids of those that it can forget
        self.by_address = {}
        self._by_id = {}
        self._free = {}  # by size, the one used last at the end
        self._out = 0
        self._next_id = 0
        self._batch = 0
        self._taken = []  # blocks of the batch in the making
        self._arena = None
        self._arena_used = 0

    def adopt(self, memories):
        """Blocks of the pass before, which the main process has under the numbers from 0 on."""
        for memory in memories:
            self._set_free(self.add(memory))
        self.new.clear()

    def empty(self, shape, dtype):
        """A tensor that the next batch can be written to; None where there is no memory for it."""
        nbytes = math.prod(shape) * dtype.itemsize
        begin = 0
        try:
            if nbytes >= _SMALL:
                block = self._take(_class_of(nbytes))
            elif nbytes:
                block, begin = self._in_arena(nbytes)
            else:
                return None
        except RuntimeError:
            return None
        return _C._shared_empty(block.memory, begin, tuple(shape), dtype)

    def _in_arena(self, nbytes):
        if self._arena is None or self._arena_used + nbytes > _ARENA:
            self._arena = self._take(_ARENA, populate=False)
            self._arena_used = 0
        begin = self._arena_used
        self._arena_used += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return self._arena, begin

    def _take(self, size, populate=True):
        if self._out >= _MOST_BLOCKS_OUT:
            raise RuntimeError("the receiver keeps too many blocks")
        free = self._free.get(size, ())
        for i in range(len(free) - 1, -1, -1):
            block = free[i]
            if block.own and not block.memory.users:
                del free[i]
                break
        else:
            if len(self.new) >= _DESCRIPTORS_AT_ONCE:
                raise RuntimeError("too many new blocks in one batch")
            block = self.add(_C._new_shared_block(size, populate))
        self._taken.append(block)
        return block

    def add(self, memory, own=True):
        """A block that the main process is to learn of."""
        block = _Block(self._next_id, memory, own)
        self._next_id += 1
        self.by_address[memory.address] = self._by_id[block.id] = block
        self.new.append(block)
        return block

    def released(self, notices):
        """The main process gave back blocks: (id, how often) of each."""
        for id, times in notices:
            block = self._by_id[id]
            block.out -= times
            if block.out == 0:
                self._out -= 1
                self._set_free(block)

    def sent(self, block):
        """Another message has a place in the block."""
        if block.out == 0:
            self._out += 1
            free = self._free.get(block.nbytes, ())
            if block in free:  # of a tensor that the program kept and gives again
                free.remove(block)
        block.out += 1

    def finish_batch(self):
        """Gives back what the batch did not use, and what batches have no use for any more."""
        self._batch += 1
        for block in self._taken:
            if block.out == 0:
                self._set_free(block)
        self._taken.clear()
        self._arena = None
        # What the main process does not know cannot wait: a later batch may have no room for its
        # descriptor.
        for block in [*self.new]:
            self._forget(block)
        if self._batch % _KEPT_BATCHES == 0:
            for free in [*self._free.values()]:
                for block in [*free]:
                    if self._batch - block.freed_at > _KEPT_BATCHES:
                        self._forget(block)

    def _set_free(self, block):
        block.freed_at = self._batch
        self._free.setdefault(block.nbytes, []).append(block)

    def _forget(self, block):
        free = self._free.get(block.nbytes, ())
        if block in free:
            free.remove(block)
        del self._by_id[block.id]
        del self.by_address[block.memory.address]
        if block in self.new:
            self.new.remove(block)
        else:
            self.dropped.append(block.id)


class Sender:
    """The worker's side of a channel: sends batches."""

    def __init__(self, channel):
        self.channel = channel
        self.memory = Memory()
        self._reductions = dict(ForkingPickler(io.BytesIO()).dispatch_table)
        self._reductions.pop(StorageHandle, None)
        self._reductions.pop(_C.UntypedStorage, None)
        self._reductions[_C.Tensor] = self._reduce
        self._copies = {}  # of storages that are not shared, by identity, with the storage
        self._tensors = []  # that the pickle names by their numbers
        self._buffers = []  # of the pickle, in its order

    def released(self, notices):
        """The main process gave back blocks."""
        self.memory.released(notices)

    def send(self, kind, number, data):
        """Sends a batch under its number.

        Errors: those of pickling; nothing has been sent then.
        """
        memory = self.memory
        try:
            encoded, rest = self._encoded(data), None
            if encoded is None:
                encoded, rest = self._pickled(data)
            payload, addresses = encoded
            blocks = [memory.by_address[address] for address in addresses]
            new = [block for block in memory.new if block in blocks]
            for block in blocks:
                memory.sent(block)
            meta = (
                kind, number, [block.id for block in blocks], [(b.id, b.nbytes) for b in new],
                memory.dropped, None if rest is None else len(payload),
            )  # fmt: skip
            self.channel.send(meta, payload + (rest or b""), [b.memory.descriptor for b in new])
            memory.dropped = []
            for block in new:
                if block.own:
                    block.memory.close()
                memory.new.remove(block)
        finally:
            self._copies.clear()
            memory.finish_batch()

    def _encoded(self, data):
        return _C._encode_batch(data, self.memory.by_address, self._shared)

    def _pickled(self, data):
        """The tensors and buffers, encoded, and a pickle of the rest."""
        try:
            file = io.BytesIO()
            pickler = pickle.Pickler(file, 5, buffer_callback=self._buffer)
            pickler.dispatch_table = self._reductions
            pickler.dump(data)
            rest = file.getvalue()
            inside = None
            if len(rest) > _SMALL:
                # A large payload (text, objects) would wait in the socket until it is read.
                inside = self._copy_bytes(memoryview(rest))
                rest = rest if inside is None else b""
            return self._encoded((self._tensors, self._buffers, inside)), rest
        finally:
            self._tensors, self._buffers = [], []

    def _buffer(self, buffer):
        """Copies a buffer of the pickle to a block; True: it stays in the pickle."""
        view = buffer.raw()
        copy = None
        if view.nbytes >= _INLINE_ARRAY or isinstance(view.obj, _C.UntypedStorage):
            copy = self._copy_bytes(view)
        if copy is not None:
            self._buffers.append(copy)
        return copy is None

    def _copy_bytes(self, view):
        copy = self.memory.empty((view.nbytes,), _C.uint8)
        if copy is not None:
            memoryview(copy.untyped_storage())[:] = view.cast("B")
        return copy

    def _reduce(self, t):
        if t.requires_grad and not t.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
                "autograd does not support crossing process boundaries. If you just want to "
                "transfer the data, call detach() on the tensor before returning it from the "
                "worker."
            )
        plain = t.device.type == "cpu" and t.layout is _C.strided and not _C._transform_level(t)
        if not plain or not t.numel() or t.requires_grad or getattr(t, "__dict__", None):
            return _reduce_tensor(t, 5)
        shared = self._shared(t)
        if shared is None:
            return _reduce_tensor(t, 5)
        self._tensors.append(shared)
        return _tensor, (len(self._tensors) - 1,)

    def _shared(self, t):
        """The tensor in shared memory that the main process has, or will have; None: impossible."""
        storage = t.untyped_storage()
        if (block := storage._shared_block()) is not None:
            if block.address not in self.memory.by_address:
                if len(self.memory.new) >= _DESCRIPTORS_AT_ONCE:
                    return None
                # A tensor that the program shares goes as it is: both sides see changes.
                self.memory.add(storage.share_memory_()._shared_block(), own=False)
            return t
        nbytes = storage.nbytes()
        if nbytes > 2 * t.numel() * t.itemsize:
            # A part of a large tensor goes alone, not with the memory around it.
            out = self.memory.empty(t.shape, t.dtype)
            return None if out is None else out.copy_(t)
        _, copy = self._copies.get(storage._cdata, (None, None))
        if copy is None:
            copy = self._copy_bytes(memoryview(storage))
            if copy is None:
                return None
            self._copies[storage._cdata] = storage, copy
        return _C._tensor_from_storage(
            copy.untyped_storage(), t.dtype, t.storage_offset(), tuple(t.shape), t.stride()
        )


def _tensor(number):
    raise pickle.UnpicklingError("a batch of a data loader is read by its Receiver")


class _Unpickler(pickle.Unpickler):
    def __init__(self, payload, tensors, buffers):
        super().__init__(io.BytesIO(payload), buffers=buffers)
        self._tensors = tensors

    def find_class(self, module, name):
        if name == "_tensor" and module == __name__:
            return self._tensors.__getitem__
        return super().find_class(module, name)


class Receiver:
    """The main process's side of a channel: maps what a worker sent."""

    def __init__(self, spare=()):
        self._blocks = dict(enumerate(spare))
        self._mentions = {}

    def open(self, meta, payload, descriptors):
        """Maps the memory of a message; returns (kind, number, a function that makes the data)."""
        kind, number, ids, new, dropped, size = meta
        for id in dropped:
            del self._blocks[id]
        for (id, nbytes), descriptor in zip(new, descriptors):
            memory = _C._open_shared_block(descriptor, nbytes, nbytes > _ARENA)
            memory.close()
            self._blocks[id] = memory
        for id in ids:
            self._mentions[id] = self._mentions.get(id, 0) + 1
        blocks = tuple([self._blocks[id] for id in ids])
        data = _C._decode_batch(payload if size is None else payload[:size], blocks)

        def make():
            if size is None:
                return data
            tensors, buffers, inside = data
            stores = [buffer.untyped_storage() for buffer in buffers]
            rest = payload[size:] if inside is None else memoryview(inside.untyped_storage())
            return _Unpickler(rest, tensors, stores).load()

        return kind, number, make

    def spare(self):
        """The blocks that another pass can use, when the worker has ended."""
        return [memory for memory in self._blocks.values() if not memory.users]

    def free(self):
        """(id, how often it came) of the blocks that no tensor here lies in any more."""
        idle = [(id, n) for id, n in self._mentions.items() if not self._blocks[id].users]
        for id, _ in idle:
            del self._mentions[id]
        return idle
