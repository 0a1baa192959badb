"""Pruning: parameters whose elements are partly held at zero by a mask.

A pruned parameter is ``name_orig``, the mask is the buffer ``name_mask``, and ``name`` is their
product, which a hook computes before each call of the module.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from flambeau._C import contiguous_format, ops

from .convert_parameters import parameters_to_vector

# Amounts -----------------------------------------------------------------------------------------


def _validate_pruning_amount_init(amount):
    """TypeError or ValueError where amount is neither a count nor a fraction."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if isinstance(amount, numbers.Integral):
        wrong = int(amount) < 0
    else:
        wrong = not 0.0 <= float(amount) <= 1.0
    if wrong:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount, tensor_size):
    """ValueError where more is to be pruned than there is."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune="
            f"{tensor_size}"
        )


def _validate_structured_pruning(t):
    """ValueError where a tensor has no channels."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t, dim):
    """IndexError where a tensor has no such dimension."""
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount, tensor_size):
    """How many of tensor_size elements a count or a fraction means."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _compute_norm(t, n, dim):
    """The norms of the slices of a dimension."""
    dims = list(range(t.dim()))
    del dims[dim]
    return ops.norm(t, n, dims)


# Methods -----------------------------------------------------------------------------------------


class BasePruningMethod(ABC):
    """A way of choosing what is pruned; its objects are hooks of the pruned modules.

    Subclasses define `compute_mask`, and ``PRUNING_TYPE``: ``unstructured`` for single elements,
    ``structured`` for channels along ``self.dim``, ``global`` where the mask is for all elements.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for a tensor.

        Args:
            t: how important each element of the parameter is.
            default_mask: the mask so far, which the result is to respect.
        """

    def apply_mask(self, module):
        """The product of mask and original."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter of a module; one that is pruned already is pruned further.

        Args:
            args, kwargs: passed to the class.
            importance_scores: how important each element is; the parameter itself if left out.

        Returns:
            The hook.
        """
        before = _pop_hook(module, name)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            container = before
            if not isinstance(before, PruningContainer):
                container = PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        try:
            _mask_parameter(method, module, name, importance_scores, first=before is None)
        except Exception:
            if before is not None:
                if method is not before or len(method) > 1:
                    method._pruning_methods = method._pruning_methods[:-1]
                module.register_forward_pre_hook(before)
            raise
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of a tensor.

        Args:
            default_mask: a mask that holds already; ones if left out.
            importance_scores: how important each element is; t itself if left out.

        >>> L1Unstructured(amount=2).prune(flambeau.tensor([1.0, -3.0, 2.0, 5.0]))
        tensor([ 0., -3.,  0.,  5.])
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        if default_mask is None:
            default_mask = ops.ones_like(t)
        return t * self.compute_mask(scores, default_mask=default_mask)

    def remove(self, module):
        """Makes the product a parameter and forgets the mask."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _hooks_of(module, name):
    return [
        (key, hook)
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]


def _pop_hook(module, name):
    """Takes the hook that prunes a parameter off the module; None where there is none."""
    found = _hooks_of(module, name)
    if len(found) > 1:
        raise AssertionError(
            f"Avoid having multiple pruning hooks on the same tensor {name} in module {module}. "
            "Use a PruningContainer"
        )
    return module._forward_pre_hooks.pop(found[0][0]) if found else None


def _mask_parameter(method, module, name, importance_scores, first):
    """Gives a module the mask that a method computes; the first one also splits the parameter."""
    weight = getattr(module, name)
    scores = weight if importance_scores is None else importance_scores
    if scores.shape != weight.shape:
        raise AssertionError(
            "importance_scores should have the same shape as parameter "
            f"{name} of {module}: {tuple(weight.shape)}, got {tuple(scores.shape)}"
        )
    if first:
        mask = ops.ones_like(weight, memory_format=contiguous_format, requires_grad=False)
    else:
        mask = getattr(module, name + "_mask").detach().clone(memory_format=contiguous_format)
    mask = method.compute_mask(scores, default_mask=mask)
    # Only now, when nothing can fail any more, the module is changed.
    if first:
        del module._parameters[name]
        module.register_parameter(name + "_orig", weight)
    module.register_buffer(name + "_mask", mask)
    setattr(module, name, method.apply_mask(module))


class PruningContainer(BasePruningMethod):
    """Several methods on the same parameter, one after the other.

    Args:
        args: the methods.
    """

    def __init__(self, *args):
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Appends a method.

        Raises:
            TypeError: it is none.
            ValueError: it prunes another parameter.
        """
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The mask so far, where the last method chooses among what is left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    "Pruning methods of PRUNING_TYPE 'structured' need to have the attribute `dim` "
                    "defined."
                )
            dim = method.dim % t.dim()
            channels = default_mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            left = (*[slice(None)] * dim, channels)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        partial = method.compute_mask(t[left], default_mask=default_mask[left])
        mask = mask.clone()
        mask[left] = partial.to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing: the mask is ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):  # type: ignore[override]
        """Gives a parameter a mask."""
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    Args:
        amount: how many, or what fraction.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _scores(self, t):
        return -ops.rand_like(t)

    def compute_mask(self, t, default_mask):
        count = _compute_nparams_toprune(self.amount, t.numel())
        _validate_pruning_amount(count, t.numel())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count:
            least = self._scores(t).reshape(-1).topk(count, largest=False).indices
            mask.view(-1)[least] = 0
        return mask

    @classmethod
    def apply(cls, module, name, amount):  # type: ignore[override]
        """Prunes a parameter."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(RandomUnstructured):
    """Prunes the elements with the smallest absolute values.

    Args:
        amount: how many, or what fraction.
    """

    def _scores(self, t):
        return t.abs()

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):  # type: ignore[override]
        """Prunes a parameter."""
        return BasePruningMethod.apply.__func__(
            cls, module, name, amount=amount, importance_scores=importance_scores
        )


class RandomStructured(BasePruningMethod):
    """Prunes whole channels at random.

    Args:
        amount: how many, or what fraction.
        dim: the dimension of the channels.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _kept(self, t, keep):
        """Whether each channel stays."""
        scores = ops.rand(t.shape[self.dim])
        return scores > scores.kthvalue(t.shape[self.dim] - keep).values

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        if count == 0:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = size
        return default_mask * self._kept(t, size - count).reshape(shape).to(default_mask.dtype)

    @classmethod
    def apply(cls, module, name, amount, dim=-1):  # type: ignore[override]
        """Prunes a parameter."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(RandomStructured):
    """Prunes the channels with the smallest norms.

    Args:
        amount: how many, or what fraction.
        n: which norm, as the p of `flambeau.norm`.
        dim: the dimension of the channels.
    """

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t, keep):
        kept = ops.zeros((t.shape[self.dim],), dtype=t.dtype, device=t.device)
        kept[_compute_norm(t, self.n, self.dim).topk(keep).indices] = 1
        return kept

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):  # type: ignore[override]
        """Prunes a parameter."""
        return BasePruningMethod.apply.__func__(
            cls, module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says.

    Args:
        mask: ones where an element stays.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"mask should have the shape {tuple(default_mask.shape)} of the parameter, "
                f"got {tuple(self.mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):  # type: ignore[override]
        """Prunes a parameter."""
        return super().apply(module, name, mask=mask)


# Functions ---------------------------------------------------------------------------------------


def identity(module, name):
    """Gives a parameter a mask of ones; returns module.

    >>> identity(nn.Linear(2, 1), "bias").bias_mask
    tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes elements of a parameter at random; returns module.

    Args:
        amount: how many, or what fraction, of those that are not pruned yet.

    >>> random_unstructured(nn.Linear(4, 2), "weight", amount=3).weight_mask.sum()
    tensor(5.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the elements of a parameter that are nearest to 0; returns module.

    Args:
        amount: how many, or what fraction, of those that are not pruned yet.
        importance_scores: prunes where these are nearest to 0 instead.

    >>> layer = l1_unstructured(nn.Linear(4, 2), "weight", amount=0.25)
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes channels of a parameter at random; returns module.

    Args:
        amount: how many, or what fraction.
        dim: the dimension of the channels.

    >>> random_structured(nn.Linear(2, 4), "weight", amount=1, dim=1).weight_mask.sum()
    tensor(4.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the channels of a parameter with the smallest norms; returns module.

    Args:
        amount: how many, or what fraction.
        n: which norm, as the p of `flambeau.norm`.
        dim: the dimension of the channels.
        importance_scores: takes the norms of these instead.

    >>> conv = nn.Conv2d(5, 3, 2)
    >>> ln_structured(conv, "weight", amount=0.4, dim=1, n=2).weight_mask.mean()
    tensor(0.6000)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prunes a parameter by a mask; returns module.

    >>> custom_from_mask(nn.Linear(5, 3), "bias", flambeau.tensor([0, 1, 0])).bias_mask
    tensor([0., 1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes elements of several parameters as if they were one.

    Args:
        parameters: pairs of a module and a parameter's name.
        pruning_method: a class that prunes single elements.
        importance_scores: from such pairs to tensors that are looked at instead.
        kwargs: passed to pruning_method.

    Raises:
        TypeError: pruning_method prunes no single elements.

    >>> net = nn.Sequential(nn.Linear(10, 4), nn.Linear(4, 1))
    >>> global_unstructured([(m, "weight") for m in net], L1Unstructured, amount=10)
    >>> sum(int((m.weight == 0).sum()) for m in net)
    10
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores should be of type dict")
    container = PruningContainer()
    method = pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    tensors = [getattr(module, name) for module, name in parameters]
    masks = [getattr(module, name + "_mask", None) for module, name in parameters]
    mask = container.compute_mask(
        parameters_to_vector([scores.get(key, t) for key, t in zip(parameters, tensors)]),
        default_mask=parameters_to_vector(
            [ops.ones_like(t) if m is None else m for m, t in zip(masks, tensors)]
        ),
    )
    parts = mask.split([t.numel() for t in tensors])
    for (module, name), t, part in zip(parameters, tensors, parts):
        custom_from_mask(module, name, mask=part.view_as(t))


def remove(module, name):
    """Ends the pruning of a parameter, which keeps its zeros; returns module.

    Raises:
        ValueError: the parameter is not pruned.

    >>> layer = remove(identity(nn.Linear(2, 1), "weight"), "weight")
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    for key, hook in _hooks_of(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module) -> bool:
    """Whether a parameter of module, or below it, is pruned.

    >>> is_pruned(nn.Sequential(identity(nn.Linear(2, 1), "bias")))
    True
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for m in module.modules()
        for hook in m._forward_pre_hooks.values()
    )
