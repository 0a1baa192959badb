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

# ---- scaling of losses (amp.GradScaler)

op(
    "_amp_foreach_non_finite_check_and_unscale_(Tensor[] self, Tensor found_inf, Tensor inv_scale) -> None",
    kernel=native,
    forms="function",
    doc="Multiplies gradients by ``inv_scale`` in place; ``found_inf`` becomes 1 if any element is not finite.",
    example="""
        >>> grads, found = [flambeau.tensor([4.0, 6.0])], flambeau.zeros(1)
        >>> flambeau._amp_foreach_non_finite_check_and_unscale_(grads, found, flambeau.tensor(0.5))
        >>> grads[0], found
        (tensor([2., 3.]), tensor([0.]))
    """,
)
op(
    "_amp_update_scale_(Tensor! self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor,"
    " float scale_backoff_factor, int growth_interval) -> Tensor",
    kernel=native,
    forms="function",
    doc="Next scale, in place: smaller after a step with gradients that were not finite, larger after"
    " ``growth_interval`` steps without.",
    example="""
        >>> scale, steps = flambeau.tensor(8.0), flambeau.zeros(1, dtype=flambeau.int32)
        >>> flambeau._amp_update_scale_(scale, steps, flambeau.tensor(1.0), 2.0, 0.5, 10)
        tensor(4.)
    """,
)
