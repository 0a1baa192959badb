"""A parameter whose functions write `grad_sample`: the gradient of each sample of the batch.

One rule serves all functions: backward runs the function again for each sample on its own.
"""

from __future__ import annotations

import inspect
from typing import Any

import flambeau.nn.functional as F
from flambeau._C import Tensor, ops
from flambeau.autograd import Function, enable_grad
from flambeau.autograd import grad as gradients

HANDLED_FUNCTIONS: dict[Any, Any] = {}


class ExpandedWeight(Tensor):
    """Stands for `orig_weight` in one forward pass over `batch_size` samples."""

    handled_functions = HANDLED_FUNCTIONS

    def __new__(cls, orig_weight, batch_size, loss_reduction):
        if not isinstance(orig_weight, Tensor):
            kind = type(orig_weight).__name__
            raise RuntimeError(f"Can only make Expanded Weights of Tensors, got {kind}")
        if not orig_weight.requires_grad:
            raise RuntimeError(
                "Can only build ExpandedWeights objects of tensors that requires_grad"
            )
        return Tensor._make_subclass(cls, orig_weight.detach(), True)

    def __init__(self, orig_weight, batch_size, loss_reduction):
        self.orig_weight = orig_weight
        self.batch_size = batch_size
        self.loss_reduction = loss_reduction
        self.batch_first = True
        self.allow_smaller_batches = False

    def set_batch_first(self, is_batch_first=True):
        self.batch_first = is_batch_first

    def set_allow_smaller_batches(self, is_allow_smaller_batches):
        self.allow_smaller_batches = is_allow_smaller_batches

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        rule = HANDLED_FUNCTIONS.get(func)
        if rule is None:
            name = getattr(func, "__name__", str(func))
            raise RuntimeError(f"Expanded Weights encountered but cannot handle function {name}")
        return _call(func, rule, args, kwargs or {})

    dtype = property(lambda self: self.orig_weight.dtype)
    data = property(lambda self: self.orig_weight.data)
    shape = property(lambda self: self.orig_weight.shape)
    device = property(lambda self: self.orig_weight.device)
    is_cuda = property(lambda self: self.orig_weight.is_cuda)

    def data_ptr(self):
        return self.orig_weight.data_ptr()

    def get_device(self):
        return self.orig_weight.get_device()


def _call(func, rule, args, kwargs):
    names, per_sample = rule
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    x = given["input"]
    if isinstance(x, ExpandedWeight):
        raise RuntimeError(
            "Expanded Weights do not support inputs that are also ExpandedWeights. Input must be "
            f"a Tensor, got {type(x).__name__} in function {func.__name__}"
        )
    if x.dim() < (1 if func is F.embedding else 2):
        raise RuntimeError(
            "Input does not have a batch dimension. Expanded Weights expected input of at least "
            f"rank 2, got of rank {x.dim()}"
        )
    if func is F.layer_norm and len(given["normalized_shape"]) >= x.dim():
        raise RuntimeError(
            "Expanded Weights: layer norm should not normalize over the batch dimension, got "
            f"normalized shape {given['normalized_shape']} for input shape {tuple(x.shape)}"
        )
    weights = {k: v for k, v in given.items() if isinstance(v, ExpandedWeight)}
    first = next(iter(weights.values()))
    dim = 0 if first.batch_first else 1
    for w in weights.values():
        fits = x.shape[dim] == w.batch_size
        if not fits and not (w.allow_smaller_batches and x.shape[dim] < w.batch_size):
            raise RuntimeError(
                "Expected ExpandedWeights to have batch size matching input but got input batch "
                f"size of {x.shape[dim]} with ExpandedWeight of batch size {w.batch_size}"
            )
        if w.loss_reduction != first.loss_reduction:
            raise RuntimeError(
                "Expected ExpandedWeights to all have the same loss_reduction argument but got "
                f"one with {first.loss_reduction} and one with {w.loss_reduction}"
            )
    # The weights go along as tensors, so that the result asks for a gradient.
    originals = [w.orig_weight for w in weights.values()]
    return per_sample.apply(func, given, weights, dim, x, *originals)


class _PerSampleGrad(Function):
    @staticmethod
    def forward(ctx, func, given, weights, dim, x, *originals):
        plain = {k: v for k, v in given.items() if k != "input" and k not in weights}
        ctx.func, ctx.plain, ctx.weights, ctx.dim = func, plain, weights, dim
        ctx.save_for_backward(x, *originals)
        return func(input=x, **plain, **dict(zip(weights, originals, strict=True)))

    @staticmethod
    def backward(ctx, grad):
        x, *originals = ctx.saved_tensors
        dim, plain = ctx.dim, dict(ctx.plain)
        if plain.get("use_input_stats", True) and "running_mean" in plain:
            plain["running_mean"] = plain["running_var"] = None  # not updated a second time
        leaves = [w.detach().requires_grad_() for w in originals]
        with_x = [4] if ctx.needs_input_grad[4] else []
        inputs, samples = [], []
        with enable_grad():
            for i in range(x.shape[dim]):
                part = x.detach().narrow(dim, i, 1)
                if with_x:
                    part.requires_grad_()
                out = ctx.func(input=part, **plain, **dict(zip(ctx.weights, leaves, strict=True)))
                found = gradients(out, leaves + ([part] if with_x else []), grad.narrow(dim, i, 1))
                samples.append(found[: len(leaves)])
                inputs.extend(found[len(leaves) :])
        for (name, w), rows in zip(ctx.weights.items(), zip(*samples, strict=True), strict=True):
            if ctx.func is F.linear and name == "weight":  # one product for all samples
                each = ops._einsum("n...i,n...j->nij", [grad.movedim(dim, 0), x.movedim(dim, 0)])
            else:
                each = ops.stack(rows)
            if w.loss_reduction == "mean":
                each = each * w.batch_size
            if len(each) < w.batch_size:
                missing = each.new_zeros(w.batch_size - len(each), *each.shape[1:])
                each = ops.cat([each, missing])
            held = getattr(w.orig_weight, "grad_sample", None)
            w.orig_weight.grad_sample = each if held is None else held + each
        gx = ops.cat(inputs, dim) if with_x else None
        return (None, None, None, None, gx, *(None for _ in originals))


for _kind, _functions in {
    "Linear": [F.linear], "Conv": [F.conv1d, F.conv2d, F.conv3d], "Embedding": [F.embedding],
    "LayerNorm": [F.layer_norm], "GroupNorm": [F.group_norm], "InstanceNorm": [F.instance_norm],
}.items():  # fmt: skip
    _rule = type(_kind + "PerSampleGrad", (_PerSampleGrad,), {"__module__": __name__})
    for _f in _functions:
        try:
            _names = list(inspect.signature(_f).parameters)
        except ValueError:  # a built-in function
            _names = ["input", "weight", "bias", "stride", "padding", "dilation", "groups"]
        HANDLED_FUNCTIONS[_f] = (_names, _rule)
