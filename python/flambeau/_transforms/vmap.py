"""vmap: a function of one sample as a function of a batch."""

from __future__ import annotations

import functools

from flambeau._C import Tensor, ops
from flambeau.utils._pytree import tree_flatten, tree_unflatten

from .batching import BatchLevel
from .interpreter import _level_of, _transform_of


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """``func`` mapped over a dimension of its arguments, by batched operators instead of a loop.

    Inside ``func`` that dimension is hidden. Transforms nest freely.

    Args:
        in_dims: the mapped dimension of each argument, None for one that is not mapped; an int for
            all, or a structure like that of the arguments. Keyword arguments are not mapped.
        out_dims: where the dimension goes in the results.
        randomness: random operators raise ("error"), draw anew for each entry ("different"), or
            once for all ("same").
        chunk_size: how many entries are computed at a time; None for all.

    Raises:
        ValueError: in_dims do not fit the arguments, or mapped dimensions have different sizes.
        RuntimeError: a random operator with randomness="error", or an operator whose result's shape
            depends on values.

    >>> flambeau.vmap(flambeau.dot)(flambeau.ones(3, 2), flambeau.ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        size, dims, flat, spec = _inputs(in_dims, args, func)

        def run(values, n):
            with BatchLevel(n, randomness) as level:
                inside = [v if d is None else level.wrap(v, d) for v, d in zip(values, dims)]
                result = func(*tree_unflatten(inside, spec), **kwargs)
                return _outputs(result, level, out_dims, func)

        if chunk_size is None or chunk_size >= size:
            outs, out_spec, _ = run(flat, size)
            return tree_unflatten(outs, out_spec)
        parts, out_spec, places = [], None, []
        for start in range(0, size, chunk_size):
            n = min(chunk_size, size - start)
            piece = [v if d is None else ops.narrow(v, d, start, n) for v, d in zip(flat, dims)]
            outs, out_spec, places = run(piece, n)
            parts.append(outs)
        joined = [
            p[0] if place is None else ops.cat(list(p), place)
            for p, place in zip(zip(*parts), places)
        ]
        return tree_unflatten(joined, out_spec)

    return mapped


def _name(func):
    return getattr(func, "__name__", repr(func))


def _spread(dims, tree, what, func):
    """One entry of ``dims``, a structure that is a prefix of ``tree``'s, for each leaf of it."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_flatten(tree)[0])
    if type(dims) in (list, tuple) and isinstance(tree, (list, tuple)) and len(dims) == len(tree):
        return [d for a, b in zip(dims, tree) for d in _spread(a, b, what, func)]
    if isinstance(dims, dict) and isinstance(tree, dict) and dims.keys() == tree.keys():
        return [d for k in tree for d in _spread(dims[k], tree[k], what, func)]
    raise ValueError(what)


def _inputs(in_dims, args, func):
    name = _name(func)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if len(args) == 0:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = _spread(
        in_dims,
        args,
        f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
        f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.",
        func,
    )
    sizes: set[int] = set()
    out: list[int | None] = []
    for a, d in zip(flat, dims):
        if d is None or isinstance(d, bool) or not isinstance(d, int):
            if d is not None:
                raise ValueError(
                    f"{where}: Got in_dim={d} for an input but in_dim must be either an integer "
                    "dimension or None."
                )
            out.append(None)
            continue
        if not isinstance(a, Tensor):
            if isinstance(in_dims, int):
                raise ValueError(
                    f"{where}: Got in_dim={d} for an input but the input is of type {type(a)}. We "
                    "cannot vmap over non-Tensor arguments, please use None as the respective "
                    "in_dim"
                )
            raise ValueError(
                f"{where}: Got in_dim={d} for an input but the input is of type {type(a)}. We "
                "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -a.dim() <= d < a.dim():
            raise ValueError(
                f"{where}: Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {a.dim()} so expected in_dim to satisfy -{a.dim()} <= in_dim < "
                f"{a.dim()}."
            )
        d = d % a.dim()
        sizes.add(a.shape[d])
        out.append(d)
    if len(sizes) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{[a.shape[d] for a, d in zip(flat, out) if d is not None]} for the mapped dimension"
        )
    if not sizes:
        raise ValueError(
            f"{where}: all inputs have in_dim None, so there is nothing to map over; at least "
            f"one must "
            "be mapped"
        )
    return sizes.pop(), out, flat, spec


def _outputs(result, level, out_dims, func):
    flat, spec = tree_flatten(result)
    name = _name(func)
    if isinstance(result, Tensor) and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = _spread(
        out_dims,
        result,
        f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
        f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but "
        f"outputs has "
        f"structure {spec}.",
        func,
    )
    outs, places = [], []  # type: ignore[var-annotated]
    for t, d in zip(flat, dims):
        if not isinstance(t, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(t)}. Did "
                f"you "
                f"mean to set out_dims= to None for output?"
            )
        while _level_of(t) > level.id:  # of a transform that is over
            t = _transform_of(t)[3]
        record = level.of(t)
        if d is None:
            if record is not None:
                raise ValueError(
                    f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is "
                    "None"
                )
            outs.append(t)
            places.append(None)
            continue
        rank = t.dim() + 1
        if not -rank <= d < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but "
                f"got "
                f"{d})"
            )
        place = d % rank
        if record is None:
            value = ops.expand(t, (level.size, *t.shape))
            value = ops.movedim(value, 0, place) if place else value
        else:
            value = record[3]
            if record[5] != place:
                value = ops.movedim(value, record[5], place)
        outs.append(value)
        places.append(place)
    return outs, spec, places
