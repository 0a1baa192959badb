"""Losses. ``reduction`` is "mean", "sum" or "none"."""

from __future__ import annotations

from .samples import T
from .table import composite, decomp, native, op, pointwise

INTERNAL = {"forms": "", "tags": "internal"}
REDUCTION = 'str reduction="mean"'

# ---- element by element

op(
    "_mse(Tensor self, Tensor target) -> Tensor",
    kernel=pointwise("(x - y) * (x - y)"),
    on="fc",
    grad={
        "self": "_mse_backward(grad, conj(self), conj(target))",
        "target": "_mse_backward(grad, conj(target), conj(self))",
    },
    samples=[(T(3), T(3))],
    **INTERNAL,
)
op(
    "_mse_backward(Tensor grad_output, Tensor self, Tensor target) -> Tensor",
    kernel=pointwise("x * (y - z) * 2"),
    on="fc",
    grad={
        "grad_output": "grad * conj(self - target) * 2",
        "self": "grad * conj(grad_output) * 2",
        "target": "grad * conj(grad_output) * (-2)",
    },
    samples=[(T(3), T(3), T(3))],
    **INTERNAL,
)
op(
    "_smooth_l1(Tensor self, Tensor target, float beta) -> Tensor",
    kernel=pointwise(
        "(x - y) * (x - y) * 0.5 / beta if abs(x - y) < beta else abs(x - y) - beta * 0.5"
    ),
    on="f",
    grad={
        "self": "_bounded_difference(grad, self, target, beta, 1 / beta)",
        "target": "_bounded_difference(grad, target, self, beta, 1 / beta)",
    },
    samples=[(T(3), T(3), 1.0)],
    **INTERNAL,
)
op(
    "_bounded_difference(Tensor grad_output, Tensor self, Tensor target, float limit, float scale) -> Tensor",
    kernel=pointwise("x * minimum(maximum(y - z, -limit), limit) * scale"),
    on="f",
    grad={
        "grad_output": "_bounded_difference(grad, self, target, limit, scale)",
        "self": "masked(grad * grad_output * scale, lt(abs(self - target), limit))",
        "target": "masked(grad * grad_output * (-scale), lt(abs(self - target), limit))",
    },
    samples=[(T(3), T(3), T(3), 1.0, 0.5)],
    **INTERNAL,
)
op(
    "_huber(Tensor self, Tensor target, float delta) -> Tensor",
    kernel=pointwise(
        "(x - y) * (x - y) * 0.5 if abs(x - y) <= delta else delta * (abs(x - y) - delta * 0.5)"
    ),
    on="f",
    grad={
        "self": "_bounded_difference(grad, self, target, delta, 1)",
        "target": "_bounded_difference(grad, target, self, delta, 1)",
    },
    samples=[(T(3), T(3), 1.0)],
    **INTERNAL,
)
op(
    "_bce(Tensor self, Tensor target) -> Tensor",
    kernel=pointwise("-(y * maximum(log(x), -100) + (1 - y) * maximum(log1p(-x), -100))"),
    on="f",
    grad={
        "self": "grad * (self - target) / clamp_min(self * (1 - self), 1e-12)",
        "target": "grad * (log1p(-self) - log(self))",
    },
    samples=[(T(3, low=0.1, high=0.9), T(3, low=0.1, high=0.9))],
    **INTERNAL,
)
op(
    "_bce_logits(Tensor self, Tensor target) -> Tensor",
    kernel=pointwise("maximum(x, 0) - x * y + log1p(exp(-abs(x)))"),
    on="f",
    grad={"self": "grad * (sigmoid(self) - target)", "target": "-grad * self"},
    samples=[(T(3), T(3, low=0.1, high=0.9))],
    **INTERNAL,
)
op(
    f"mse_loss(Tensor self, Tensor target, {REDUCTION}) -> Tensor",
    kernel=decomp("reduced_loss(_mse(self, target), reduction)"),
    node="MseLossBackward0",
    samples=[(T(3), T(3))],
    forms="",
    tags="autocast:fp32",
    doc="``(input - target) ** 2``.",
)
op(
    f"l1_loss(Tensor self, Tensor target, {REDUCTION}) -> Tensor",
    kernel=decomp("reduced_loss(abs(self - target), reduction)"),
    samples=[(T(3), T(3))],
    forms="",
    tags="autocast:fp32",
    doc="``|input - target|``.",
)
op(
    f"smooth_l1_loss(Tensor self, Tensor target, {REDUCTION}, float beta=1.0) -> Tensor",
    kernel=composite,
    node="SmoothL1LossBackward0",
    samples=[(T(3), T(3))],
    forms="",
    tags="autocast:fp32",
    doc="Squared below a difference of ``beta``, linear above.",
)
op(
    f"huber_loss(Tensor self, Tensor target, {REDUCTION}, float delta=1.0) -> Tensor",
    kernel=composite,
    node="HuberLossBackward0",
    samples=[(T(3), T(3))],
    forms="",
    tags="autocast:fp32",
    doc="Half the square below a difference of ``delta``, linear above.",
)
op(
    f"binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, {REDUCTION}) -> Tensor",
    kernel=composite,
    node="BinaryCrossEntropyBackward0",
    samples=[(T(3, low=0.1, high=0.9), T(3, low=0.1, high=0.9))],
    forms="",
    tags="autocast:fp32",
    doc="``-(target * log(input) + (1 - target) * log(1 - input))``, logarithms not below -100.",
)
op(
    f"binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, {REDUCTION}) -> Tensor",
    kernel=composite,
    node="BinaryCrossEntropyWithLogitsBackward0",
    samples=[(T(3), T(3, low=0.1, high=0.9))],
    forms="function",
    tags="autocast:fp32",
    doc="`binary_cross_entropy` of ``sigmoid(input)``, without overflow.",
)
op(
    f"kl_div(Tensor self, Tensor target, {REDUCTION}, *, bool log_target=False) -> Tensor",
    kernel=composite,
    samples=[(T(3), T(3, low=0.1, high=0.9))],
    forms="function",
    tags="autocast:fp32",
    doc="``target * (log(target) - input)``.",
)

# ---- of class numbers; reduction 0 none, 1 mean, 2 sum

_CLASS = "Tensor? weight, int reduction, int ignore_index"
op(
    f"_nll_loss(Tensor self, Tensor target, {_CLASS}) -> (Tensor, Tensor)",
    kernel=native,
    node="NllLoss2DBackward0 if self.ndim > 2 else NllLossBackward0",
    grad={
        "self": "_nll_loss_backward(grads[0], self.shape, target, weight, reduction, ignore_index, results[1])"
    },
    doc="Loss, and the sum of the weights used.",
    **INTERNAL,
)
op(
    f"_nll_loss_backward(Tensor grad_output, int[] size, Tensor target, {_CLASS}, Tensor total_weight) -> Tensor",
    kernel=native,
    grad={"grad_output": "nll_of(grad, target, weight, reduction, ignore_index)"},
    **INTERNAL,
)
op(
    f"_cross_entropy(Tensor self, Tensor target, {_CLASS}) -> (Tensor, Tensor, Tensor)",
    kernel=native,
    node="NllLoss2DBackward0 if self.ndim > 2 else NllLossBackward0",
    grad={
        "self": "cross_entropy_grad(grads[0], self, target, weight, reduction, ignore_index, results)"
    },
    doc="Loss, sum of the weights used, and each row's log-sum-exp.",
    **{**INTERNAL, "tags": "internal unread_output"},
)
op(
    f"_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, {_CLASS}, Tensor total_weight, Tensor logsumexp) -> Tensor",
    kernel=native,
    **INTERNAL,
)
op(
    f"nll_loss(Tensor self, Tensor target, Tensor? weight=None, int ignore_index=-100, {REDUCTION}) -> Tensor",
    kernel=composite,
    example="""
        >>> flambeau.nn.functional.nll_loss(flambeau.tensor([[-0.1, -2.0]]), flambeau.tensor([0]))
        tensor(0.1000)
    """,
    forms="",
    tags="autocast:fp32",
    doc="Minus the log-probability in input (N, C, ...) of the target class (N, ...).",
)
op(
    f"cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int ignore_index=-100, {REDUCTION}, float label_smoothing=0.0) -> Tensor",
    kernel=composite,
    example="""
        >>> flambeau.nn.functional.cross_entropy(flambeau.tensor([[2.0, 0.0]]), flambeau.tensor([0]))
        tensor(0.1269)
    """,
    forms="",
    tags="autocast:fp32",
    doc="`nll_loss` of ``log_softmax(input, 1)``; target holds class numbers, or probabilities of all classes.",
)

# ---- sequences

op(
    "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0,"
    " bool zero_infinity=False) -> (Tensor, Tensor)",
    kernel=native,
    grad={
        "log_probs": "_ctc_loss_backward(grads[0], log_probs, targets, input_lengths, target_lengths,"
        " results[0], results[1], blank, zero_infinity)"
    },
    doc="Negative log-likelihood of each sequence, and the logarithms of the forward variables.",
    **INTERNAL,
)
op(
    "_ctc_loss_backward(Tensor grad_output, Tensor log_probs, Tensor targets, int[] input_lengths,"
    " int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank,"
    " bool zero_infinity=False) -> Tensor",
    kernel=native,
    **INTERNAL,
)
_CTC = "int blank=0, int reduction=1, bool zero_infinity=False"
op(
    f"ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, {_CTC}) -> Tensor",
    kernel=composite,
    forms="function",
    tags="autocast:fp32",
    doc="Connectionist temporal classification: minus the logarithm of the probability that a path through"
    " ``log_probs`` (T, N, C) gives the target once repetitions and blanks are dropped. ``reduction`` is 0"
    " for none, 1 for the mean of losses over target lengths, 2 for the sum.",
    example="""
        >>> uniform = flambeau.zeros(3, 1, 2).log_softmax(2)
        >>> flambeau.ctc_loss(uniform, flambeau.tensor([[1]]), [3], [1])
    """,
)
op(
    f"ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, {_CTC}) -> Tensor",
    kernel=composite,
    forms="function",
    tags="autocast:fp32",
)
