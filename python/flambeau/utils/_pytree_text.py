"""Shapes of trees (`_pytree.TreeSpec`) as text, in PyTorch's format, and back."""

from __future__ import annotations

import enum
import json

from . import _pytree

PROTOCOL = _pytree.DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL


def _default(value):
    if isinstance(value, enum.Enum):
        return f"{type(value).__module__}:{type(value).__qualname__}:{value.name}"
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _to_json(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = _pytree.SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(
            f"Serializing {spec.type} in pytree is not registered: see register_pytree_node."
        )
    name = known.serialized_type_name
    if name == _pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please call "
            "register_pytree_node with a `serialized_type_name` to fix this."
        )
    if known.to_dumpable_context is not None:
        context = known.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, default=_default)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register "
                "a custom serializer using _register_pytree_node."
            ) from error
    children = [_to_json(child) for child in spec.children_specs]
    return {"type": name, "context": context, "children_spec": children}


def _from_json(value):
    name, context = value["type"], value["context"]
    if name is None and context is None and not value["children_spec"]:
        return _pytree.treespec_leaf()
    if name not in _pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    cls = _pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    known = _pytree.SUPPORTED_SERIALIZED_TYPES[cls]
    if known.from_dumpable_context is not None:
        context = known.from_dumpable_context(context)
    else:
        context = json.loads(context)
    return _pytree.TreeSpec(cls, context, [_from_json(c) for c in value["children_spec"]])


def dumps(treespec, protocol=None):
    """A shape as text."""
    if not isinstance(treespec, _pytree.TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps((PROTOCOL, _to_json(treespec)))


def loads(serialized):
    """The shape that `dumps` wrote."""
    protocol, value = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _from_json(value)
