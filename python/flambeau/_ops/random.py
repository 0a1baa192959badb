"""Random numbers: factories, in-place distributions, sampling and dropout.

Streams are PyTorch's: the same seed gives the same numbers on the CPU.
"""

from __future__ import annotations

from .samples import T
from .table import FACTORY, LIKE, composite, decomp, native, op

GENERATOR = "*, Generator? generator=None"
FLAT = {"self": "zeros_like(grad, None, None, None)"}


def drawn(arguments, options):
    """Arguments of a factory that also takes a generator."""
    return f"{arguments}, {options.replace('*', GENERATOR, 1)}"


# ---- factories ---------------------------------------------------------------------------------------
op(
    f"rand({drawn('int[] size', FACTORY)}) -> Tensor",
    kernel=native,
    forms="function out",
    tags="random",
    doc="Uniform numbers in [0, 1).",
    example=">>> _ = flambeau.manual_seed(0)\n>>> flambeau.rand(3)\ntensor([0.4963, 0.7682, 0.0885])",
)
op(
    f"randn({drawn('int[] size', FACTORY)}) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.randn(3)
        tensor([ 1.5410, -0.2934, -2.1788])
    """,
    forms="function out",
    tags="random",
    doc="Standard normal numbers; complex ones have variance 1 in all.",
)
op(
    f"randint.low({drawn('int low, int high, int[] size', FACTORY)}) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.randint(10, (4,))
        tensor([4, 9, 3, 0])
    """,
    forms="function out",
    tags="random",
    doc="Integers from ``low`` (0) below ``high``, all equally likely.",
)
op(
    f"randint({drawn('int high, int[] size', FACTORY)}) -> Tensor",
    kernel=decomp("randint_low(0, high, size, generator, dtype, device)"),
    forms="function out",
    tags="random",
)
op(
    f"randperm({drawn('int n', FACTORY)}) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.randperm(5)
        tensor([4, 0, 1, 3, 2])
    """,
    forms="function out",
    tags="random",
    doc="The numbers 0 … ``n`` - 1 in random order.",
)
for _name, _doc in (("rand", "Uniform numbers in [0, 1)"), ("randn", "Standard normal numbers")):
    op(
        f"{_name}_like({drawn('Tensor self', LIKE)}) -> Tensor",
        kernel=native,
        forms="function",
        tags="random",
        doc=f"{_doc} with the shape, dtype and layout of ``input``.",
        example=f">>> flambeau.{_name}_like(flambeau.zeros(3))",
    )
op(
    f"randint_like.low({drawn('Tensor self, int low, int high', LIKE)}) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.randint_like(flambeau.zeros(3), 10)
        tensor([4., 9., 3.])
    """,
    forms="function",
    tags="random",
    doc="Integers from ``low`` (0) below ``high`` with the shape, dtype and layout of ``input``.",
)
op(
    f"randint_like({drawn('Tensor self, int high', LIKE)}) -> Tensor",
    kernel=decomp("randint_like_low(self, 0, high, generator, dtype, device, memory_format)"),
    forms="function",
    tags="random",
)

# ---- normal with given mean and deviation ------------------------------------------------------------
for _overload, _arguments in (
    ("tensor_tensor", "Tensor mean, Tensor std"),
    ("tensor_float", "Tensor mean, float std=1.0"),
    ("float_tensor", "float mean, Tensor std"),
):
    op(
        f"normal.{_overload}({_arguments}, {GENERATOR}) -> Tensor",
        kernel=native,
        grad={
            a: f"zeros({a}.shape, {a}.dtype, None)"
            for a in ("mean", "std")
            if f"Tensor {a}" in _arguments
        },
        forms="function out",
        tags="random",
        doc="Normal numbers, each with its own mean and standard deviation.",
        example=">>> flambeau.normal(0.0, flambeau.tensor([1.0, 100.0]))",
    )
op(
    f"normal.float_float({drawn('float mean, float std, int[] size', FACTORY)}) -> Tensor",
    kernel=native,
    forms="function out",
    tags="random",
)

# ---- in place ----------------------------------------------------------------------------------------
for _name, _arguments, _call, _doc in (
    ("uniform_", "float from=0.0, float to=1.0", "-1, 1", "Uniform numbers in [``from``, ``to``)."),
    ("normal_", "float mean=0.0, float std=1.0", "", "Normal numbers."),
    ("exponential_", "float lambd=1.0", "", "Exponential numbers of rate ``lambd``."),
    (
        "geometric_",
        "float p",
        "0.5",
        "Numbers of trials up to the first success of probability ``p``.",
    ),
    ("cauchy_", "float median=0.0, float sigma=1.0", "", "Cauchy numbers."),
    ("log_normal_", "float mean=1.0, float std=2.0", "", "Exponentials of normal numbers."),
    (
        "bernoulli_.tensor",
        "Tensor p",
        "flambeau.full((3,), 0.5)",
        "1 with probability ``p``, else 0.",
    ),
    ("bernoulli_.float", "float p=0.5", "0.5", "1 with probability ``p``, else 0."),
    ("random_.from", "int from, int? to", "5, 10", "Integers from ``from`` below ``to``."),
    ("random_.to", "int to", "10", "Integers from 0 below ``to``."),
):
    op(
        f"{_name}(Tensor! self, {_arguments}, {GENERATOR}) -> Tensor",
        kernel=native,
        grad={**FLAT, "p": "zeros(p.shape, p.dtype, None)"} if "Tensor p" in _arguments else FLAT,
        forms="method",
        tags="random",
        doc=_doc,
        example=f">>> flambeau.empty(3).{_name.split('.')[0]}({_call})",
    )
op(
    f"random_(Tensor! self, {GENERATOR}) -> Tensor",
    kernel=native,
    grad=FLAT,
    forms="method",
    tags="random",
    doc="Integers from 0 to the largest of the dtype (for floats: up to which every integer is exact).",
)

# ---- sampling ----------------------------------------------------------------------------------------
op(
    f"bernoulli(Tensor self, {GENERATOR}) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.bernoulli(flambeau.full((4,), 0.5))
        tensor([1., 0., 1., 1.])
    """,
    grad=FLAT,
    forms="function method out",
    tags="random",
    doc="1 with the probability that ``input`` holds, else 0.",
)
op(
    f"bernoulli.p(Tensor self, float p, {GENERATOR}) -> Tensor",
    kernel=native,
    grad=FLAT,
    forms="function method",
    tags="random",
)
op(
    f"multinomial(Tensor self, int num_samples, bool replacement=False, {GENERATOR}) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.multinomial(flambeau.tensor([0.1, 0.9]), 4, replacement=True)
        tensor([1, 1, 1, 1])
    """,
    forms="function method out",
    tags="random out:exact",
    doc="Indices drawn with probabilities proportional to ``input``'s rows.",
)
op(
    "poisson(Tensor self, Generator? generator=None) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.poisson(flambeau.tensor([1.0, 50.0]))
        tensor([ 2., 62.])
    """,
    grad=FLAT,
    forms="function",
    tags="random",
    doc="Poisson numbers with the rates that ``input`` holds.",
)
op(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.binomial(flambeau.full((3,), 10.0), flambeau.full((3,), 0.5))
        tensor([7., 5., 5.])
    """,
    forms="function",
    tags="random",
    doc="Numbers of successes among ``count`` trials of probability ``prob``.",
)

op(
    "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau._standard_gamma(flambeau.tensor([2.0, 5.0]))
        tensor([4.5526, 4.0611])
    """,
    grad={"self": "mul(grad, _standard_gamma_grad(self, result))"},
    forms="function",
    tags="random",
    doc="Gamma numbers of rate 1 with the shapes that ``input`` holds.",
)
op(
    "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau._standard_gamma_grad(flambeau.tensor([1.0]), flambeau.tensor([0.5]))
        tensor([0.8070])
    """,
    grad={
        "self": 'no_derivative("_standard_gamma_grad", grad)',
        "output": 'no_derivative("_standard_gamma_grad", grad)',
    },
    forms="function",
    doc="Derivative of a gamma number ``output`` by its shape ``input`` at a fixed quantile.",
)
op(
    "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
    kernel=native,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau._sample_dirichlet(flambeau.tensor([2.0, 5.0]))
        tensor([0.5285, 0.4715])
    """,
    grad={"self": 'no_derivative("_sample_dirichlet", grad)'},
    forms="function",
    tags="random",
    doc="Dirichlet vectors with the concentrations that ``input`` holds in its last dimension.",
)
op(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor",
    kernel=native,
    example="""
        >>> x, alpha = flambeau.tensor([0.3, 0.7]), flambeau.tensor([2.0, 3.0])
        >>> flambeau._dirichlet_grad(x, alpha, alpha.sum().expand(2))
        tensor([0.1993, 0.2448])
    """,
    grad=dict.fromkeys(("x", "alpha", "total"), 'no_derivative("_dirichlet_grad", grad)'),
    forms="function",
    doc="Derivative of a Beta(``alpha``, ``total`` - ``alpha``) number ``x`` by ``alpha`` at a fixed"
    " quantile, over 1 - ``x``.",
)

# ---- dropout -----------------------------------------------------------------------------------------
for _name, _doc in (
    ("dropout", "Elements set to zero with probability ``p``, the others divided by 1 - ``p``."),
    ("feature_dropout", "Dropout of whole channels."),
    ("alpha_dropout", "Dropout that keeps mean and variance of what SELU gives."),
    ("feature_alpha_dropout", "Alpha dropout of whole channels."),
):
    op(
        f"{_name}(Tensor self, float p, bool train) -> Tensor",
        kernel=composite,
        forms="function inplace function_",
        tags="random",
        samples=[(T(2, 3), 0.5, False)],
        doc=_doc,
    )
op(
    "native_dropout(Tensor self, float p, bool? train) -> (Tensor, Tensor)",
    kernel=composite,
    example="""
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.native_dropout(flambeau.ones(4), 0.5, True)
        (tensor([0., 0., 2., 0.]), tensor([False, False,  True, False]))
    """,
    forms="function",
    tags="random",
    doc="Dropout and the mask of kept elements.",
)
op(
    "_dropout(Tensor self, float p, float scale) -> (Tensor output, Tensor mask)",
    kernel=native,
    node="MulBackward0",
    grad={"self": "_dropout_backward(grads[0], results[1], scale)"},
    forms="",
    tags="internal random",
)
op(
    "_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
    kernel=native,
    grad={"grad_output": "_dropout_backward(grad, mask, scale)"},
    forms="",
    tags="internal",
)
op(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False,"
    " Generator? generator=None) -> Tensor",
    kernel=composite,
    forms="function inplace function_",
    tags="random",
    samples=[(T(2, 3),)],
    doc="Leaky ReLU whose slope is drawn from [``lower``, ``upper``) for each element in training.",
)
op(
    "_rrelu(Tensor self, float lower, float upper, Generator? generator=None) -> (Tensor output, Tensor noise)",
    kernel=native,
    grad={"self": "mul(grads[0], results[1])"},
    forms="",
    tags="internal random",
)
