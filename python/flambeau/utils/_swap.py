"""Exchange of tensors, and names for devices of others."""

from __future__ import annotations

from flambeau._absent import absent_function
from flambeau._C import Tensor

rename_privateuse1_backend = absent_function(
    "rename_privateuse1_backend", "devices of others", "torch.utils"
)
generate_methods_for_privateuse1_backend = absent_function(
    "generate_methods_for_privateuse1_backend", "devices of others", "torch.utils"
)


def set_module(obj, mod):
    """Sets where an object says it is from."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """Exchanges two tensors: each name then stands for what the other was.

    Example:
        >>> import flambeau
        >>> a, b = flambeau.ones(1), flambeau.zeros(2)
        >>> swap_tensors(a, b)
        >>> a, b
        (tensor([0., 0.]), tensor([1.]))
    """
    import weakref

    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefcount(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
        if not t.is_leaf:
            raise RuntimeError(f"Cannot swap {name}: it has a gradient function")
    if type(t1) is not type(t2):
        t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = dict(t2.__dict__), dict(t1.__dict__)
    first, second = t1.detach(), t2.detach()
    gradients = t1.grad, t2.grad
    wanted = t1.requires_grad, t2.requires_grad
    for t, data, grad, requires in (
        (t1, second, gradients[1], wanted[1]),
        (t2, first, gradients[0], wanted[0]),
    ):
        t.grad = None
        t.requires_grad_(False)
        Tensor.data.__set__(t, data)  # type: ignore[attr-defined]
        t.requires_grad_(requires)
        t.grad = grad
