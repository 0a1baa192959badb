"""Key-value stores, by which the processes of a group find each other: here of one process."""

from __future__ import annotations

import datetime
import threading

from flambeau._absent import missing

_DEFAULT_TIMEOUT = datetime.timedelta(seconds=300)


def _bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """A dictionary of bytes with waiting; the base of the other stores.

    Example:
        >>> store = HashStore()
        >>> store.set("key", "value")
        >>> store.get("key"), store.add("count", 2), store.num_keys()
        (b'value', 2, 2)
    """

    def __init__(self):
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self._timeout = _DEFAULT_TIMEOUT

    @property
    def timeout(self):
        """How long `get` and `wait` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout):
        """Sets `timeout`."""
        self._timeout = timeout

    def set(self, key, value):
        """Stores a value."""
        with self._changed:
            self._values[key] = _bytes(value)
            self._changed.notify_all()

    def get(self, key):
        """The value of a key, once it has one."""
        self.wait([key])
        return self._values[key]

    def add(self, key, amount):
        """Adds to a number, which starts at 0; returns the sum."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            self._changed.notify_all()
        return total

    def append(self, key, value):
        """Adds to the end of a value."""
        with self._changed:
            self._values[key] = self._values.get(key, b"") + _bytes(value)
            self._changed.notify_all()

    def compare_set(self, key, expected_value, desired_value):
        """Replaces a value where it is the expected one; returns the value after that."""
        with self._changed:
            present = self._values.get(key)
            fits = present == _bytes(expected_value) if present is not None else not expected_value
            if fits:
                self._values[key] = _bytes(desired_value)
                self._changed.notify_all()
            return self._values.get(key, _bytes(expected_value))

    def wait(self, keys, timeout=None):
        """Waits until all keys have values; raises `DistStoreError` after the timeout."""
        from . import DistStoreError

        seconds = (timeout or self._timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: all(k in self._values for k in keys), seconds):
                lacking = [k for k in keys if k not in self._values]
                raise DistStoreError(f"wait timeout after {seconds:g} s, keys: {lacking}")

    def check(self, keys):
        """Whether all keys have values."""
        return all(k in self._values for k in keys)

    def delete_key(self, key):
        """Removes a key; returns whether it was there."""
        with self._changed:
            return self._values.pop(key, None) is not None

    def num_keys(self):
        """How many keys there are."""
        return len(self._values)

    def multi_get(self, keys):
        """The values of several keys."""
        return [self.get(k) for k in keys]

    def multi_set(self, keys, values):
        """Stores several values."""
        for key, value in zip(keys, values):
            self.set(key, value)

    def has_extended_api(self):
        """Whether `append` and the functions of several keys work: they do."""
        return True


class HashStore(Store):
    """A store for the threads of one process."""


class FileStore(Store):
    """A store of one process under the name of a file, which is not written."""

    def __init__(self, file_name, world_size=-1):
        if world_size > 1:
            raise missing("torch.distributed.FileStore", "stores of several processes")
        super().__init__()
        self.path = file_name


class TCPStore(Store):
    """A store of one process under the name of an address, which is not opened."""

    def __init__(
        self, host_name, port, world_size=None, is_master=False, timeout=_DEFAULT_TIMEOUT,
        wait_for_workers=True, multi_tenant=False, master_listen_fd=None, use_libuv=True,
    ):  # fmt: skip
        if not is_master or (world_size or 1) > 1:
            raise missing("torch.distributed.TCPStore", "stores of several processes")
        super().__init__()
        self.host, self.port, self._timeout = host_name, port, timeout


class PrefixStore(Store):
    """Another store, whose keys get a prefix."""

    def __init__(self, prefix, store):
        super().__init__()
        self._prefix, self.underlying_store = prefix, store
        self._values = _Prefixed(store._values, prefix + "/")
        self._changed = store._changed


class _Prefixed(dict):
    def __init__(self, values, prefix):
        self._of, self._prefix = values, prefix

    def __getitem__(self, key):
        return self._of[self._prefix + key]

    def __setitem__(self, key, value):
        self._of[self._prefix + key] = value

    def __contains__(self, key):
        return self._prefix + key in self._of

    def __len__(self):
        return len(self._of)

    def get(self, key, default=None):
        return self._of.get(self._prefix + key, default)

    def pop(self, key, default=None):
        return self._of.pop(self._prefix + key, default)
