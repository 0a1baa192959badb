"""From constraints to transforms that reach them from unconstrained numbers.

`biject_to` gives bijections, as changes of variables need them; `transform_to` gives what is good
to optimize through, which may have more numbers than the constrained value has.

>>> import flambeau
>>> from flambeau.distributions import constraints
>>> transform_to(constraints.simplex)(flambeau.zeros(2))
tensor([0.5000, 0.5000])
"""

from __future__ import annotations

from numbers import Number

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table of factories by the type of constraint.

    Example:
        >>> registry = ConstraintRegistry()
        >>> @registry.register(constraints.positive)
        ... def _(constraint):
        ...     return transforms.ExpTransform()
        >>> registry(constraints.positive)
        ExpTransform()
    """

    def __init__(self):
        self._registry = {}
        super().__init__()

    def register(self, constraint, factory=None):
        """Sets the factory for a constraint's type; without ``factory`` a decorator of one.

        Raises:
            TypeError: ``constraint`` is neither a constraint nor a class of them.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got"
                f" {constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        """The transform for a constraint.

        Raises:
            NotImplementedError: there is none.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds):
    """Registers one factory with both tables."""

    def decorate(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorate


def _parts(registry, kind):
    return lambda factory: registry.register(kind, lambda c: factory(c, registry))


@_both(constraints.real)
def _real(constraint):
    return transforms.identity_transform


for _registry in (biject_to, transform_to):

    @_parts(_registry, constraints.independent)
    def _independent(constraint, registry):
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @_parts(_registry, constraints.cat)
    def _cat(constraint, registry):
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @_parts(_registry, constraints.stack)
    def _stack(constraint, registry):
        parts = [registry(c) for c in constraint.cseq]
        return transforms.StackTransform(parts, constraint.dim)


def _scaled(transform, loc, scale):
    return transforms.ComposeTransform([transform, transforms.AffineTransform(loc, scale)])


@_both(
    constraints.positive,
    constraints.nonnegative,
    constraints.greater_than,
    constraints.greater_than_eq,
)
def _above(constraint):
    return _scaled(transforms.ExpTransform(), constraint.lower_bound, 1)


@_both(constraints.less_than)
def _below(constraint):
    return _scaled(transforms.ExpTransform(), constraint.upper_bound, -1)


@_both(constraints.interval, constraints.half_open_interval)
def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(bound, Number) for bound in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return _scaled(transforms.SigmoidTransform(), low, high - low)


@biject_to.register(constraints.simplex)
def _sticks(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _softmax(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _triangle(constraint):
    return transforms.LowerCholeskyTransform()


for _kind in (constraints.positive_definite, constraints.positive_semidefinite):

    @transform_to.register(_kind)
    def _definite(constraint):
        return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _correlation(constraint):
    return transforms.CorrCholeskyTransform()
