"""What the distributions of this package share beside their base class."""

from __future__ import annotations

from numbers import Number

from flambeau import Size

from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def check_one_given(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def shape_of(parameter, *given):
    """The batch shape: parameters that are all given as numbers make none."""
    return Size() if all(isinstance(g, Number) for g in given) else parameter.size()


class BinaryParameter:
    """Mixin of distributions with a probability ``probs``, or its log odds ``logits``.

    The one that is given is also `_param`; the other is computed when it is asked for.
    """

    def _set_parameter(self, probs, logits):
        check_one_given(probs, logits)
        given = logits if probs is None else probs
        (self._param,) = broadcast_all(given)
        setattr(self, "logits" if probs is None else "probs", self._param)
        return shape_of(self._param, given)

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    def _expand_binary(self, cls, batch_shape, _instance, *names):
        new = self._expand_parameters(cls, batch_shape, _instance, "probs", "logits", *names)
        new._param = new.__dict__["probs" if self._param_is_probs() else "logits"]
        return new

    def _param_is_probs(self):
        return self._param is self.__dict__.get("probs")

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        return self._param.size()
