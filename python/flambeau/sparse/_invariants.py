"""Whether indices of sparse tensors are looked at when one is made."""

from __future__ import annotations

from flambeau._sparse import construct


class check_sparse_tensor_invariants:
    """Turns the checks of indices on or off: a context, a decorator, or by its static methods.

    Constructors look at indices unless ``check_invariants=False`` is passed; what this switch
    changes is only what `is_enabled` says.

    >>> with flambeau.sparse.check_sparse_tensor_invariants():
    ...     flambeau.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    @staticmethod
    def is_enabled():
        """Whether the checks are turned on."""
        return construct._state["check"]

    @staticmethod
    def enable():
        """Turns them on."""
        construct._state["check"] = True

    @staticmethod
    def disable():
        """Turns them off."""
        construct._state["check"] = False

    def __init__(self, enable=True):
        self.state = enable
        self.saved: bool | None = None

    def __enter__(self):
        if self.saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved = self.is_enabled()
        construct._state["check"] = self.state

    def __exit__(self, *exc):
        construct._state["check"] = self.saved
        self.saved = None

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def run(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return run
