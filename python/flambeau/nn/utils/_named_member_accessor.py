"""Tensors and submodules of a module by dotted path, read and replaced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau._C import Tensor
from flambeau.nn.modules.module import Module

# Stands for a tensor that was not there; swapping it in removes what is.
_MISSING: Tensor = object()  # type: ignore[assignment]


def _check_name(name):
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def _put(module, name, tensor):
    """Sets one tensor, or removes it, in the dictionary where it is or as an attribute."""
    for members in (module._parameters, module._buffers):
        if name in members:
            if tensor is _MISSING:
                del members[name]
            else:
                members[name] = tensor
            return
    if tensor is _MISSING:
        delattr(module, name)
    else:
        setattr(module, name, tensor)


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Puts tensor in the place of a parameter, buffer or attribute.

    Raises:
        KeyError: name is empty or contains a dot.
        TypeError: tensor is none, or module no module.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    _check_name(name)
    _put(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor: Tensor, allow_missing: bool = False) -> Tensor:
    """Puts tensor in the place of a parameter, buffer or attribute, and returns what was there.

    Raises:
        AttributeError: there was none, and allow_missing is False.
        KeyError: name is empty or contains a dot.
        TypeError: one of the two is no tensor.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    _check_name(name)
    before: Any
    if name in module._parameters:
        before = module._parameters[name]
    elif name in module._buffers:
        before = module._buffers[name]
    else:
        before = getattr(module, name, _MISSING)
        if before is _MISSING and not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if before is not _MISSING and not isinstance(before, Tensor):
            raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    _put(module, name, tensor)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Puts a submodule in the place of another, which is returned.

    Raises:
        KeyError: there is no such submodule.
        TypeError: one of the three is no module.
    """
    for value in (module, submodule):
        if not isinstance(value, Module):
            raise TypeError(f"{value} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError(f'submodule name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError('submodule name can\'t be empty string ""')
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """The members of a module by dotted path; paths are looked up once."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {"": module}

    def get_submodule(self, name: str) -> Module:
        """The submodule at a path."""
        if name in self.memo:
            return self.memo[name]
        path, _, attr = name.rpartition(".")
        parent = self.get_submodule(path)
        try:
            submodule = getattr(parent, attr)
        except AttributeError as error:
            raise AttributeError(f"{parent._get_name()} has no attribute `{attr}`") from error
        if not isinstance(submodule, Module):
            raise TypeError(
                f"submodule `{name}`: {submodule} is not an instance of torch.nn.Module"
            )
        self.memo[name] = submodule
        return submodule

    def _owner(self, path):
        prefix, _, attr = path.rpartition(".")
        return self.get_submodule(prefix), attr

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Replaces the submodule at a path, and returns it."""
        owner, attr = self._owner(path)
        return swap_submodule(owner, attr, value)

    def get_tensor(self, name: str) -> Tensor:
        """The tensor at a path."""
        owner, attr = self._owner(name)
        try:
            tensor: Any = getattr(owner, attr)
        except AttributeError as error:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`") from error
        if isinstance(tensor, Tensor) or tensor is None:
            return tensor  # type: ignore[return-value]
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Replaces the tensor at a path."""
        owner, attr = self._owner(name)
        set_tensor(owner, attr, value)

    def del_tensor(self, name: str) -> None:
        """Removes the tensor at a path."""
        owner, attr = self._owner(name)
        try:
            delattr(owner, attr)
        except AttributeError as error:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`") from error

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        """Replaces the tensor at a path, and returns it."""
        owner, attr = self._owner(name)
        return swap_tensor(owner, attr, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors at several paths."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Replaces the tensors at several paths."""
        for name, value in self._pairs(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """Replaces tensors by those of a dictionary from path to tensor."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Removes the tensors at several paths."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False
    ) -> list[Tensor]:
        """Replaces the tensors at several paths, and returns them."""
        return [
            self.swap_tensor(name, value, allow_missing)
            for name, value in self._pairs(names, values)
        ]

    @staticmethod
    def _pairs(names, values):
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise AssertionError(
                "names and values must have the same length, "
                f"got {len(names)} names and {len(values)} values"
            )
        return zip(names, values)

    def swap_tensors_dict(
        self, named_tensors: dict[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Tensor], list[str]]:
        """Replaces tensors by those of a dictionary.

        Returns:
            The tensors that were there, and the paths where there was none.
        """
        before: dict[str, Tensor] = {}
        missing = []
        try:
            for name, tensor in named_tensors.items():
                before[name] = self.swap_tensor(name, tensor, allow_missing=True)
                if before[name] is _MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except BaseException:
            for name, tensor in reversed(before.items()):
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The paths of tensors that are not among keys, and the keys that are no such path."""
        given = set(keys)
        valid = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(valid - given), sorted(given - valid)

    def named_parameters(self, remove_duplicate: bool = True):
        """(path, parameter) pairs."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True):
        """(path, buffer) pairs."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True):
        """(path, tensor) pairs of parameters, then buffers."""
        yield from self.named_parameters(remove_duplicate=remove_duplicate)
        yield from self.named_buffers(remove_duplicate=remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True):
        """(path, module) pairs."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
