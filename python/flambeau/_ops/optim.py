"""Optimizer steps over all parameters in one call."""

from __future__ import annotations

from .table import native, op

op(
    "_adam_step_(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] steps,"
    " float lr, float beta1, float beta2, float eps, float weight_decay, bool decoupled, bool amsgrad, bool maximize) -> None",
    kernel=native,
    forms="",
    tags="internal",
    doc="Adam (Kingma & Ba 2014); with ``decoupled``, AdamW (Loshchilov & Hutter 2017); with ``amsgrad``, Reddi et al. 2018.",
)
op(
    "_sgd_step_(Tensor[] params, Tensor[] grads, Tensor[] momentum_buffers, float lr, float momentum, float dampening,"
    " float weight_decay, bool nesterov, bool maximize, bool first_step) -> None",
    kernel=native,
    forms="",
    tags="internal",
    doc="Gradient descent with momentum (Sutskever et al. 2013); ``first_step`` sets the buffers to the gradient.",
)
