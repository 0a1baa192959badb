"""gradcheck of functions with sparse arguments or results."""

from __future__ import annotations

from flambeau._C import Tensor


def _taken_apart(t):
    """Values of a sparse tensor that requires grad, and how to put it together again."""
    if t.is_sparse:
        t = t.coalesce()
    values = t.detach().values().clone().requires_grad_()
    pattern = t.detach()
    from flambeau._C import ops

    return values, lambda v: ops._sparse_like(pattern, v)


def _whole(result, masked):
    if not isinstance(result, Tensor):
        return result
    if str(result.layout) == "torch.strided":
        return result
    return result.to_dense(masked_grad=masked)


def sparse_gradcheck(gradcheck):
    """`gradcheck` with sparse inputs replaced by their values and sparse outputs made dense."""

    def check(func, inputs, **kwargs):
        masked = kwargs.pop("masked", False)
        inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        given, builders = [], []
        for x in inputs:
            if isinstance(x, Tensor) and str(x.layout) != "torch.strided" and x.requires_grad:
                if not masked:
                    pattern = x
                    given.append(x.detach().to_dense().requires_grad_())
                    builders.append(_like(pattern))
                    continue
                values, build = _taken_apart(x)
                given.append(values)
                builders.append(build)
            else:
                given.append(x)
                builders.append(None)

        def run(*args):
            out = func(*(a if b is None else b(a) for a, b in zip(args, builders)))
            if isinstance(out, (tuple, list)):
                return tuple(_whole(o, masked) for o in out)
            return _whole(out, masked)

        return gradcheck(run, tuple(given), **kwargs)

    return check


def _like(pattern):
    def build(dense):
        if pattern.is_sparse:
            return dense.to_sparse(pattern.sparse_dim())
        return dense.to_sparse(layout=pattern.layout)

    return build
