"""The restricted unpickler: builds plain data and tensors, runs nothing that a file asks for.

A machine of its own, because with `pickle.Unpickler` a file can still call methods of what it
builds and set attributes of the allowed functions and classes. Here the opcodes are the ones that
data needs, a call takes a callable from the allow-list, and BUILD takes an object of a known type.
"""

from __future__ import annotations

import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict, defaultdict

from flambeau import _C
from flambeau._size import Size

from ._names import Lazy, missing_here

# A key is hashed in C recursion without a bound: deep or wide tuples of tuples are refused.
_KEY_DEPTH, _KEY_NODES = 16, 256
_MARK = object()
_MAX_TEXT = 1 << 31
_CHUNK = 1 << 20
# How many elements the calls of a pickle may copy into new containers, so that a small file cannot
# fill the memory with copies of one list.
_COPIES = 1 << 24


class GlobalRef:
    """A global that a call may use in place of the object of that name."""

    __slots__ = ("call",)

    def __init__(self, call) -> None:
        self.call = call


def refuse(problem: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"Weights only load failed: {problem}. Nothing of the file was run. Load it with "
        "weights_only=False only if you trust where it comes from: such a file can run any code."
    )


def shown(value) -> str:
    """A short name of what a file built; never its whole text, which could be without end."""
    if isinstance(value, str | bytes):
        return repr(value[:60])
    if value is None or isinstance(value, bool | float) or type(value) is int and abs(value) < 1e30:
        return repr(value)
    if isinstance(value, type):
        return value.__qualname__
    return f"a {type(value).__qualname__}"


def check_key(key, depth: int = 0, budget: list | None = None) -> None:
    """Raises unless `key` can be hashed cheaply."""
    budget = [_KEY_NODES] if budget is None else budget
    budget[0] -= 1
    if isinstance(key, slice):
        key = (key.start, key.stop, key.step)
    if isinstance(key, tuple | frozenset):
        if depth == _KEY_DEPTH or budget[0] < len(key):
            raise refuse("a dictionary key or set element is nested too deeply")
        for item in key:
            check_key(item, depth + 1, budget)
    elif isinstance(key, list | dict | set | bytearray):
        raise refuse(f"a dictionary key or set element is a {type(key).__name__}")


class RestrictedUnpickler:
    """Reads one pickle from `file`.

    Args:
        file: has `read` and `readline`.
        globals_: name to object. Types and `GlobalRef`s may be called; other objects are data.
        trusted: names added by `add_safe_globals`: called, instantiated and given state freely.
        persistent_load: from the persistent id of a storage to the storage.
    """

    def __init__(self, file, globals_: dict, trusted: dict, persistent_load) -> None:
        self._read_raw = file.read
        self._readline = file.readline
        self._globals = globals_
        self._trusted = trusted
        self._persistent_load = persistent_load
        self._stack: list = []
        self._memo: dict[int, object] = {}
        self._copies = _COPIES

    def load(self):
        """The object; raises `pickle.UnpicklingError` for anything refused or damaged."""
        try:
            while True:
                code = self._read_raw(1)
                if not code:
                    raise refuse("the pickle ends early")
                if code == pickle.STOP:
                    return self._pop()
                handler = _HANDLERS.get(code[0])
                if handler is None:
                    raise refuse(f"Unsupported operand {code[0]}")
                handler(self)
        except pickle.UnpicklingError:
            raise
        except _Outside as outside:
            raise outside.args[0] from None
        except (
            IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError,
            UnicodeError, struct.error, RecursionError,
        ) as e:  # fmt: skip
            raise refuse(f"the pickle is damaged ({type(e).__name__}: {str(e)[:200]})") from e

    # -- reading and the stack --

    def _read(self, count: int) -> bytes:
        if count <= _CHUNK:
            data = self._read_raw(count)
            if len(data) != count:
                raise refuse("the pickle ends early")
            return data
        # A file allocates what it is asked for before it finds its end.
        parts = []
        while count:
            parts.append(self._read_raw(min(count, _CHUNK)))
            if not parts[-1]:
                raise refuse("the pickle ends early")
            count -= len(parts[-1])
        return b"".join(parts)

    def _number(self, format: str):
        return struct.unpack(format, self._read(struct.calcsize(format)))[0]

    def _sized(self, format: str) -> bytes:
        size = self._number(format)
        if not 0 <= size <= _MAX_TEXT:
            raise refuse(f"an item of {size} bytes")
        return self._read(size)

    def _line(self) -> str:
        line = self._readline()
        if not line.endswith(b"\n"):
            raise refuse("the pickle ends early")
        return line[:-1].decode()

    def _pop(self):
        item = self._stack.pop()
        if item is _MARK:
            raise refuse("the pickle is damaged (unexpected mark)")
        return item

    def _top(self, kind):
        if not isinstance(self._stack[-1], kind):
            raise refuse(f"the pickle is damaged (no {kind.__name__} to add to)")
        return self._stack[-1]

    def _pop_to_mark(self) -> list:
        stack = self._stack
        for i in range(len(stack) - 1, -1, -1):
            if stack[i] is _MARK:
                items = stack[i + 1 :]
                del stack[i:]
                return items
        raise refuse("the pickle is damaged (no mark)")

    # -- opcodes --

    def _protocol(self) -> None:
        if self._read(1)[0] > pickle.HIGHEST_PROTOCOL:
            raise refuse("the pickle protocol is newer than this Python's")

    def _set_items(self, items: list) -> None:
        target = self._top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            check_key(key)
            target[key] = value

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _add_items(self) -> None:
        items = self._pop_to_mark()
        for item in items:
            check_key(item)
        self._top(set).update(items)

    def _append(self) -> None:
        item = self._pop()
        self._top(list).append(item)

    def _frozenset(self) -> None:
        items = self._pop_to_mark()
        for item in items:
            check_key(item)
        self._stack.append(frozenset(items))

    def _dict(self) -> None:
        items = self._pop_to_mark()
        self._stack.append({})
        self._set_items(items)

    def _tuple(self, count: int) -> None:
        items = tuple(self._pop() for _ in range(count))
        self._stack.append(items[::-1])

    def _put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def _get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    def _long(self, format: str) -> None:
        size = self._number(format)
        if not 0 <= size <= 1024:
            raise refuse(f"an integer of {size} bytes")
        self._stack.append(int.from_bytes(self._read(size), "little", signed=True))

    def _integer(self) -> None:
        text = self._line().removesuffix("L")
        # INT also carries bools.
        bools = {"00": False, "01": True}
        self._stack.append(bools[text] if text in bools else int(text))

    def _find(self, module: str, name: str) -> None:
        full = f"{module}.{name}"
        if full not in self._trusted and full not in self._globals:
            # Protocol 2 has the names of Python 2.
            old = f"{module}.{name}"
            module, name = NAME_MAPPING.get((module, name), (module, name))
            full = f"{IMPORT_MAPPING.get(module, module)}.{name}"
            full = full if full in self._trusted or full in self._globals else old
        if full in self._trusted:
            self._stack.append(self._trusted[full])
        elif full in self._globals:
            found = self._globals[full]
            self._stack.append(found.get() if isinstance(found, Lazy) else found)
        else:
            raise refuse(
                missing_here(module, name)
                or f"Unsupported global: GLOBAL {full[:200]} was not an allowed global by default. "
                f"Please use `torch.serialization.add_safe_globals([{name[:100]}])` if you trust "
                "this class or function"
            )

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise refuse("the pickle is damaged (a global without a name)")
        self._find(module, name)

    def _is_trusted(self, candidate) -> bool:
        return any(candidate is t for t in self._trusted.values())

    def _reduce(self) -> None:
        args, function = self._pop(), self._pop()
        if not isinstance(args, tuple):
            raise refuse("the pickle is damaged (arguments are no tuple)")
        self._stack.append(self._call(function, args))

    def _call(self, function, args: tuple):
        if isinstance(function, GlobalRef):
            self._count_copies(args)
            return function.call(*args)
        constructor = _CONSTRUCTORS.get(function) if isinstance(function, type) else None
        if constructor is not None:
            self._count_copies(args)
            return constructor(*args)
        if self._is_trusted(function):
            return function(*args)
        raise refuse(f"a call of {shown(function)}, which is not an allowed function")

    def _count_copies(self, args: tuple) -> None:
        for a in args:
            if isinstance(a, list | tuple | set | frozenset | dict | str | bytes | bytearray):
                self._copies -= len(a)
        if self._copies < 0:
            raise refuse("it copies containers again and again")

    def _new(self, kwargs: dict) -> None:
        args, kind = self._pop(), self._pop()
        if not (isinstance(kind, type) and isinstance(args, tuple)):
            raise refuse("the pickle is damaged (no class to instantiate)")
        if kind in _CONSTRUCTORS and not kwargs:
            self._count_copies(args)
            self._stack.append(_CONSTRUCTORS[kind](*args))
        elif self._is_trusted(kind):
            self._stack.append(kind.__new__(kind, *args, **kwargs))
        else:
            raise refuse(f"an instance of {kind.__qualname__}, which is not an allowed class")

    def _new_ex(self) -> None:
        kwargs = self._pop()
        if not isinstance(kwargs, dict):
            raise refuse("the pickle is damaged (keywords are no dict)")
        self._new(kwargs)

    def _build(self) -> None:
        state, target = self._pop(), self._stack[-1]
        if type(target) is OrderedDict or isinstance(target, _C.Tensor):
            set_attributes(target, state)
        elif self._is_trusted(type(target)):
            if hasattr(target, "__setstate__"):
                target.__setstate__(state)
            else:
                _set_state(target, state)
        else:
            raise refuse(f"state for a {type(target).__qualname__}")

    def _persistent(self) -> None:
        id = self._pop()
        try:
            self._stack.append(self._persistent_load(id))
        except Exception as e:
            raise _Outside(e) from None


class _Outside(Exception):
    """Carries an error of `persistent_load` out: it is not the pickle's."""


def set_attributes(target, state) -> None:
    """Gives `target`, a tensor or an `OrderedDict`, the attributes in `state`."""
    if not isinstance(state, dict):
        raise refuse("the pickle is damaged (state is no dict)")
    for name in state:
        # An attribute of the class, such as a method, stays what it is.
        if not isinstance(name, str) or hasattr(type(target), name):
            raise refuse(f"state that sets the attribute {shown(name)}")
    target.__dict__.update(state)


def _set_state(target, state) -> None:
    """What pickle does for a class without `__setstate__`."""
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


# ---- callable types -----------------------------------------------------------------------------


def _pairs(kind):
    def construct(source=()):
        for pair in source.items() if isinstance(source, dict) else source:
            key, _ = pair
            check_key(key)
        return kind(source)

    return construct


def _elements(kind):
    def construct(source=()):
        for item in source:
            check_key(item)
        return kind(source)

    return construct


def _counter(source=()):
    return _pairs(Counter)(source) if isinstance(source, dict) else _elements(Counter)(source)


def _default_dict(factory=None, source=()):
    if factory is not None and not (isinstance(factory, type) and factory in _CONSTRUCTORS):
        raise refuse(f"a defaultdict of {shown(factory)}")
    return defaultdict(factory, _pairs(dict)(source))


def _sequence(kind):
    def construct(source=()):
        if not isinstance(source, list | tuple | set | frozenset | dict | str):
            raise refuse(f"a {kind.__name__} of {type(source).__name__}")
        return kind(source)

    return construct


def _size(sizes=()):
    if not isinstance(sizes, list | tuple) or not all(isinstance(s, int) for s in sizes):
        raise refuse("a Size of something else than integers")
    return Size(sizes)


def _scalar(kind):
    def construct(*args):
        if any(not isinstance(a, int | float | str) or len(str(a)) > 64 for a in args):
            raise refuse(f"a {kind.__name__} of unexpected arguments")
        return kind(*args)

    return construct


_CONSTRUCTORS: dict = {
    OrderedDict: _pairs(OrderedDict),
    dict: _pairs(dict),
    Counter: _counter,
    defaultdict: _default_dict,
    set: _elements(set),
    frozenset: _elements(frozenset),
    list: _sequence(list),
    tuple: _sequence(tuple),
    int: _scalar(int),
    float: _scalar(float),
    complex: _scalar(complex),
    bool: _scalar(bool),
    str: _scalar(str),
    bytes: lambda: b"",  # how protocol 2 writes it
    slice: slice,
    _C.device: _C.device,
    Size: _size,
}


# ---- opcode table -------------------------------------------------------------------------------


def _push(value):
    return lambda m: m._stack.append(value)


def _push_new(kind):
    return lambda m: m._stack.append(kind())


def _push_number(format: str):
    return lambda m: m._stack.append(m._number(format))


def _push_text(format: str, encoding: str):
    return lambda m: m._stack.append(m._sized(format).decode(encoding, "surrogatepass"))


def _push_bytes(format: str, kind=bytes):
    return lambda m: m._stack.append(kind(m._sized(format)))


def _ordered_handlers() -> dict:
    p, m_ = pickle, RestrictedUnpickler
    return {
        p.PROTO: m_._protocol,
        p.FRAME: lambda m: m._read(8),
        p.MARK: _push(_MARK),
        p.POP: lambda m: m._stack.pop(),
        p.POP_MARK: lambda m: m._pop_to_mark(),
        p.DUP: lambda m: m._stack.append(m._stack[-1]),
        p.NONE: _push(None),
        p.NEWTRUE: _push(True),
        p.NEWFALSE: _push(False),
        p.INT: m_._integer,
        p.LONG: m_._integer,
        p.FLOAT: lambda m: m._stack.append(float(m._line())),
        p.BININT: _push_number("<i"),
        p.BININT1: _push_number("<B"),
        p.BININT2: _push_number("<H"),
        p.LONG1: lambda m: m._long("<B"),
        p.LONG4: lambda m: m._long("<i"),
        p.BINFLOAT: _push_number(">d"),
        p.BINUNICODE: _push_text("<I", "utf-8"),
        p.SHORT_BINUNICODE: _push_text("<B", "utf-8"),
        p.BINUNICODE8: _push_text("<Q", "utf-8"),
        # Strings of Python 2.
        p.BINSTRING: _push_text("<i", "utf-8"),
        p.SHORT_BINSTRING: _push_text("<B", "utf-8"),
        p.BINBYTES: _push_bytes("<I"),
        p.SHORT_BINBYTES: _push_bytes("<B"),
        p.BINBYTES8: _push_bytes("<Q"),
        p.BYTEARRAY8: _push_bytes("<Q", bytearray),
        p.EMPTY_TUPLE: _push(()),
        p.EMPTY_LIST: _push_new(list),
        p.EMPTY_DICT: _push_new(dict),
        p.EMPTY_SET: _push_new(set),
        p.TUPLE: lambda m: m._stack.append(tuple(m._pop_to_mark())),
        p.TUPLE1: lambda m: m._tuple(1),
        p.TUPLE2: lambda m: m._tuple(2),
        p.TUPLE3: lambda m: m._tuple(3),
        p.LIST: lambda m: m._stack.append(m._pop_to_mark()),
        p.DICT: m_._dict,
        p.FROZENSET: lambda m: m._frozenset(),
        p.APPEND: m_._append,
        p.APPENDS: lambda m: _extend(m, m._pop_to_mark()),
        p.SETITEM: m_._set_item,
        p.SETITEMS: lambda m: m._set_items(m._pop_to_mark()),
        p.ADDITEMS: lambda m: m._add_items(),
        p.PUT: lambda m: m._put(int(m._line())),
        p.BINPUT: lambda m: m._put(m._number("<B")),
        p.LONG_BINPUT: lambda m: m._put(m._number("<I")),
        p.MEMOIZE: lambda m: m._put(len(m._memo)),
        p.GET: lambda m: m._get(int(m._line())),
        p.BINGET: lambda m: m._get(m._number("<B")),
        p.LONG_BINGET: lambda m: m._get(m._number("<I")),
        p.GLOBAL: lambda m: m._find(m._line(), m._line()),
        p.STACK_GLOBAL: m_._stack_global,
        p.REDUCE: m_._reduce,
        p.NEWOBJ: lambda m: m._new({}),
        p.NEWOBJ_EX: m_._new_ex,
        p.BUILD: lambda m: m._build(),
        p.BINPERSID: m_._persistent,
    }


def _extend(machine: RestrictedUnpickler, items: list) -> None:
    machine._top(list).extend(items)


_HANDLERS = {code[0]: handler for code, handler in _ordered_handlers().items()}
