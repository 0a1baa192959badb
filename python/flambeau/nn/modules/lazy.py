"""Modules that learn the sizes of their parameters from the first input."""

from __future__ import annotations

from flambeau.nn.parameter import is_lazy


class LazyModuleMixin:
    """Beside a module class: runs `initialize_parameters` before the first forward pass.

    After it the module turns into `cls_to_become`, if there is one.
    """

    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = (
                    param if is_lazy(param) or keep_vars else param.detach()
                )
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                keep = is_lazy(buffer) or keep_vars
                destination[prefix + name] = buffer if keep else buffer.detach()

    def _lazy_load_hook(self, state_dict, prefix, *unused):
        """Gives parameters the shapes they have in the state that is loaded."""
        for name, param in [*self._parameters.items(), *self._buffers.items()]:
            value = state_dict.get(prefix + name)
            if param is not None and value is not None and is_lazy(param) and not is_lazy(value):
                param.materialize(value.shape)

    def initialize_parameters(self, *args, **kwargs):
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self):
        """Whether a parameter or buffer still waits for its shape."""
        return any(is_lazy(t) for t in [*self._parameters.values(), *self._buffers.values()])

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
