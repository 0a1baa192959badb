"""Optimizer steps over all parameters in one call.

Each takes the parameters, their gradients, the state tensors (an empty list for those that the
options do without), the counters, which it advances, and the options as numbers. `fused`: float16
and bfloat16 are rounded only when they are stored, not after every operator that the step is made of.
"""

from __future__ import annotations

from .table import native, op


def step(schema, doc):
    op(f"{schema} -> None", kernel=native, forms="", tags="internal", doc=doc)


step(
    "_adam_step_(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] steps,"
    " float lr, float beta1, float beta2, float eps, float weight_decay, bool decoupled, bool maximize, bool fused)",
    "Adam (Kingma & Ba 2014); with ``decoupled``, AdamW (Loshchilov & Hutter 2017); with maxima, AMSGrad (Reddi et al. 2018).",
)
step(
    "_sgd_step_(Tensor[] params, Tensor[] grads, Tensor[] momentum_buffers, float lr, float momentum, float dampening,"
    " float weight_decay, bool nesterov, bool maximize, bool first_step, bool fused)",
    "Gradient descent with momentum (Sutskever et al. 2013); ``first_step`` sets the buffers to the gradient.",
)
step(
    "_adamax_step_(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_infs, Tensor[] steps,"
    " float lr, float beta1, float beta2, float eps, float weight_decay, bool maximize)",
    "Adam with the infinity norm (Kingma & Ba 2014).",
)
step(
    "_nadam_step_(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] steps, Tensor[] mu_products,"
    " float lr, float beta1, float beta2, float eps, float weight_decay, float momentum_decay, bool decoupled, bool maximize)",
    "Adam with Nesterov momentum (Dozat 2016).",
)
step(
    "_radam_step_(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] steps,"
    " float lr, float beta1, float beta2, float eps, float weight_decay, bool decoupled, bool maximize)",
    "Rectified Adam (Liu et al. 2019).",
)
step(
    "_adadelta_step_(Tensor[] params, Tensor[] grads, Tensor[] square_avgs, Tensor[] acc_deltas, Tensor[] steps,"
    " float lr, float rho, float eps, float weight_decay, bool maximize)",
    "Adadelta (Zeiler 2012).",
)
step(
    "_adagrad_step_(Tensor[] params, Tensor[] grads, Tensor[] sums, Tensor[] steps,"
    " float lr, float lr_decay, float eps, float weight_decay, bool maximize, bool fused)",
    "Adagrad (Duchi et al. 2011).",
)
step(
    "_asgd_step_(Tensor[] params, Tensor[] grads, Tensor[] axs, Tensor[] steps, Tensor[] etas, Tensor[] mus,"
    " float lr, float lambd, float alpha, float t0, float weight_decay, bool maximize)",
    "Averaged gradient descent (Polyak & Juditsky 1992).",
)
step(
    "_rmsprop_step_(Tensor[] params, Tensor[] grads, Tensor[] square_avgs, Tensor[] grad_avgs, Tensor[] momentum_buffers, Tensor[] steps,"
    " float lr, float alpha, float eps, float weight_decay, float momentum, bool maximize)",
    "RMSprop (Hinton 2012); with mean gradients, its centered form (Graves 2013).",
)
step(
    "_rprop_step_(Tensor[] params, Tensor[] grads, Tensor[] prevs, Tensor[] step_sizes, Tensor[] steps,"
    " float eta_minus, float eta_plus, float smallest, float largest, bool maximize)",
    "Resilient backpropagation (Riedmiller & Braun 1993).",
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
