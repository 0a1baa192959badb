"""How far a pass over a loader has come, to be saved and resumed."""

from __future__ import annotations

import contextlib
import weakref

from flambeau._C import default_generator


class Position:
    """What it takes to go on from here: how many batches were given, and from which random state.

    The order of the samples is not kept: the sampler draws it again from the same generators.
    """

    def __init__(self, loader, resume=None):
        self.generators = _generators(loader)
        self.num_yielded = 0 if resume is None else resume["num_yielded"]
        self.finished = False
        if resume is None:
            self.random = [generator.get_state() for generator in self.generators]
        else:
            self.random = resume["random"]
        self.base_seed = None
        self.drew = True  # whether the seed was drawn at the beginning of this pass
        self._source = None
        self._last = None

    def follow(self, source):
        """The iterator whose `_worker_state()` says where the datasets are."""
        self._source = weakref.ref(source)
        self._last = None

    def keep(self, state):
        """The state of the datasets, for when the iterator is gone."""
        self._last = state

    def state_dict(self):
        source = self._source and self._source()
        return {
            "num_yielded": self.num_yielded,
            "finished": self.finished,
            "random": self.random,
            "base_seed": self.base_seed,
            "drew": self.drew,
            "datasets": source._worker_state() if source is not None else self._last,
        }

    @contextlib.contextmanager
    def replayed(self, resume):
        """As if the pass began now: random states as then; the default generator's is put back."""
        if resume is None:
            yield
            return
        before = default_generator.get_state()
        for generator, state in zip(self.generators, self.random):
            generator.set_state(state)
        try:
            yield
        finally:
            default_generator.set_state(before)


def _generators(loader):
    """Those that the order depends on, the default one first."""
    found = [default_generator]
    for owner in (loader, loader.sampler, loader.batch_sampler):
        generator = getattr(owner, "generator", None)
        if generator is not None and all(generator is not known for known in found):
            found.append(generator)
    return found


def check_state(state):
    """`ValueError` for what is no state of a loader."""
    known = {"num_yielded", "finished", "random", "base_seed", "drew", "datasets"}
    if not isinstance(state, dict) or not known <= set(state):
        raise ValueError(
            "DataLoader.load_state_dict: expected what DataLoader.state_dict returned, a dict with "
            f"{', '.join(sorted(known))}; got {_describe(state)}"
        )


def _describe(state):
    if isinstance(state, dict):
        return f"a dict with {', '.join(sorted(map(str, state))) or 'nothing'}"
    return type(state).__name__
