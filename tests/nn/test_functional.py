"""`nn.functional` against values recorded from PyTorch 2.13 (`data/functional.json`)."""

import json
import math
import pathlib
import warnings

import pytest

import flambeau
import flambeau.nn.functional as F

DATA = pathlib.Path(__file__).parent / "data" / "functional.json"


def filled(*shape, step=7919):
    values = [(i * step % 101) / 50 - 1 for i in range(math.prod(shape))]
    return flambeau.tensor(values).reshape(shape)


def other(*shape):
    return filled(*shape, step=53)


def unit(*shape):
    return (other(*shape) + 1.01) / 2.03


def sign(*shape):
    return flambeau.where(other(*shape) > 0, 1.0, -1.0)


CLASS = [2, 0, 3, 1]
X = (4, 5)


def classes():
    return flambeau.tensor(CLASS)


# name: function of one tensor x of the shape, differentiated with respect to it
CASES = {
    "mse": (X, lambda x: F.mse_loss(x, other(*X))),
    "mse-sum": (X, lambda x: F.mse_loss(x, other(*X), reduction="sum")),
    "mse-weight": (X, lambda x: F.mse_loss(x, other(*X), weight=unit(*X))),
    "l1": (X, lambda x: F.l1_loss(x, other(*X), reduction="none")),
    "smooth_l1": (X, lambda x: F.smooth_l1_loss(x, other(*X), beta=0.5)),
    "smooth_l1-0": (X, lambda x: F.smooth_l1_loss(x, other(*X), beta=0.0)),
    "huber": (X, lambda x: F.huber_loss(x, other(*X), delta=0.7)),
    "kl": (X, lambda x: F.kl_div(x.log_softmax(1), unit(*X), reduction="batchmean")),
    "kl-log": (X, lambda x: F.kl_div(x, other(*X), reduction="sum", log_target=True)),
    "bce": (X, lambda x: F.binary_cross_entropy(x.sigmoid(), unit(*X))),
    "bce-logits": (
        X,
        lambda x: F.binary_cross_entropy_with_logits(
            x, unit(*X), weight=unit(*X), pos_weight=unit(5)
        ),
    ),
    "nll": (X, lambda x: F.nll_loss(x.log_softmax(1), classes(), weight=unit(5))),
    "nll-ignore": (X, lambda x: F.nll_loss(x, classes(), ignore_index=3, reduction="sum")),
    "cross_entropy": (X, lambda x: F.cross_entropy(x, classes(), label_smoothing=0.1)),
    "cross_entropy-prob": (X, lambda x: F.cross_entropy(x, unit(*X), reduction="none")),
    "cross_entropy-2d": (
        (2, 5, 2),
        lambda x: F.cross_entropy(x, classes().reshape(2, 2), weight=unit(5), ignore_index=0),
    ),
    "linear_cross_entropy": (X, lambda x: F.linear_cross_entropy(x, other(6, 5), classes())),
    "gaussian_nll": (X, lambda x: F.gaussian_nll_loss(x, other(*X), unit(4, 1), full=True)),
    "gaussian_nll-float": (X, lambda x: F.gaussian_nll_loss(x, other(*X), 0.5)),
    "poisson_nll": (X, lambda x: F.poisson_nll_loss(x, 3 * unit(*X), full=True)),
    "poisson_nll-rate": (X, lambda x: F.poisson_nll_loss(x.exp(), unit(*X), log_input=False)),
    "hinge_embedding": (X, lambda x: F.hinge_embedding_loss(x, sign(*X), margin=0.5)),
    "margin_ranking": (X, lambda x: F.margin_ranking_loss(x, other(*X), sign(*X), margin=0.3)),
    "soft_margin": (X, lambda x: F.soft_margin_loss(x, sign(*X))),
    "multilabel_soft_margin": (
        X,
        lambda x: F.multilabel_soft_margin_loss(x, (sign(*X) + 1) / 2, weight=unit(5)),
    ),
    "multi_margin": (X, lambda x: F.multi_margin_loss(x, classes(), p=2, weight=unit(5))),
    "multi_margin-1d": ((5,), lambda x: F.multi_margin_loss(x, flambeau.tensor(2), margin=0.4)),
    "multilabel_margin": (
        (2, 4),
        lambda x: F.multilabel_margin_loss(
            x, flambeau.tensor([[3, 0, -1, 1], [1, 2, 3, -1]]), reduction="none"
        ),
    ),
    "cosine_embedding": (
        X,
        lambda x: F.cosine_embedding_loss(x, other(*X), sign(4), margin=0.1, reduction="none"),
    ),
    "triplet": (X, lambda x: F.triplet_margin_loss(x, other(*X), unit(*X), swap=True)),
    "triplet-distance": (
        X,
        lambda x: F.triplet_margin_with_distance_loss(
            x, other(*X), unit(*X), distance_function=lambda a, b: (a - b).abs().sum(1)
        ),
    ),
    "normalize": (X, lambda x: F.normalize(x, p=3.0, dim=0)),
    "cosine": (X, lambda x: F.cosine_similarity(x, other(5), dim=-1)),
    "pairwise": (X, lambda x: F.pairwise_distance(x, other(*X), p=1.0)),
    "pdist": (X, lambda x: F.pdist(x)),
    "softmax-dtype": (X, lambda x: F.softmax(x, 1, dtype=flambeau.float64)),
    "glu": ((4, 6), lambda x: F.glu(x)),
    "bilinear": ((2, 3), lambda x: F.bilinear(x, other(2, 4), unit(5, 3, 4), unit(5))),
    "instance_norm": (
        (2, 3, 5),
        lambda x: F.instance_norm(x, weight=unit(3), bias=other(3)),
    ),
    "local_response_norm": ((2, 6, 3), lambda x: F.local_response_norm(x, 4, alpha=0.5)),
    "lp_pool2d": ((1, 2, 4, 5), lambda x: F.lp_pool2d(x.abs(), 3, 2, stride=1)),
    "unfold": ((2, 3, 5, 4), lambda x: F.unfold(x, 2, dilation=2, padding=1)),
    "fold": ((2, 8, 6), lambda x: F.fold(x, (5, 4), 2, padding=0, stride=(2, 1))),
    "pixel_shuffle": ((1, 8, 2, 3), lambda x: F.pixel_shuffle(x, 2)),
    "affine_grid": (
        (1, 2, 3),
        lambda x: F.affine_grid(x, [1, 1, 3, 4], align_corners=False),
    ),
    "grid_sample": (
        (1, 2, 4, 5),
        lambda x: F.grid_sample(x, 1.3 * other(1, 3, 3, 2), align_corners=False),
    ),
    "grid_sample-reflect": (
        (1, 2, 4, 5),
        lambda x: F.grid_sample(
            x, 2.3 * other(1, 3, 3, 2), padding_mode="reflection", align_corners=True
        ),
    ),
    "grid_sample-cubic": (
        (1, 2, 4, 5),
        lambda x: F.grid_sample(
            x, 1.3 * other(1, 3, 3, 2), "bicubic", "border", align_corners=False
        ),
    ),
    "attention": (
        (2, 2, 3, 4),
        lambda x: F.scaled_dot_product_attention(x, other(2, 2, 5, 4), unit(2, 2, 5, 3)),
    ),
    "attention-causal": (
        (2, 3, 4),
        lambda x: F.scaled_dot_product_attention(
            x, other(2, 3, 4), unit(2, 3, 4), is_causal=True, scale=0.3
        ),
    ),
    "attention-mask": (
        (2, 3, 4),
        lambda x: F.scaled_dot_product_attention(
            x,
            other(2, 3, 4),
            unit(2, 3, 4),
            attn_mask=flambeau.tensor(
                [[True, False, True], [False, False, False], [True, True, True]]
            ),
        ),
    ),
    "attention-groups": (
        (1, 4, 3, 2),
        lambda x: F.scaled_dot_product_attention(
            x, other(1, 2, 3, 2), unit(1, 2, 3, 2), attn_mask=other(3, 3), enable_gqa=True
        ),
    ),
}
for _mode, _shape, _factor in (
    ("nearest", (1, 2, 4), 1.7),
    ("nearest-exact", (1, 2, 4, 3), 1.7),
    ("linear", (1, 2, 5), 0.6),
    ("bilinear", (1, 2, 4, 3), 1.7),
    ("bicubic", (1, 2, 4, 3), 1.7),
    ("trilinear", (1, 1, 2, 3, 2), 2.0),
    ("area", (1, 2, 5, 3), 0.7),
):
    CASES[f"interpolate-{_mode}"] = (
        _shape,
        lambda x, m=_mode, f=_factor: F.interpolate(x, scale_factor=f, mode=m),
    )
for _mode in ("bilinear", "bicubic"):
    CASES[f"interpolate-{_mode}-corners"] = (
        (1, 2, 4, 3),
        lambda x, m=_mode: F.interpolate(x, size=(7, 2), mode=m, align_corners=True),
    )
    CASES[f"interpolate-{_mode}-antialias"] = (
        (1, 2, 7, 9),
        lambda x, m=_mode: F.interpolate(x, size=(3, 4), mode=m, antialias=True),
    )


def flat(t):
    values = t.detach().double().reshape(-1)
    return values[:24].tolist() + [float(values.sum())]


def record(name):
    shape, function = CASES[name]
    x = filled(*shape).requires_grad_()
    out = function(x)
    (out * other(*out.shape)).sum().backward()
    return {"shape": list(out.shape), "out": flat(out), "grad": flat(x.grad)}


@pytest.fixture(scope="module")
def recorded():
    return json.loads(DATA.read_text())


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, recorded):
    actual, expected = record(name), recorded[name]
    assert actual["shape"] == expected["shape"]
    assert actual["out"] == pytest.approx(expected["out"], rel=2e-5, abs=2e-5)
    assert actual["grad"] == pytest.approx(expected["grad"], rel=5e-5, abs=5e-5)


def test_inplace_forms_change_their_input():
    for function in (F.relu, F.elu, F.leaky_relu, F.hardtanh, F.silu, F.mish, F.celu, F.selu):
        x = filled(6)
        expected = function(x).tolist()
        out = function(x, inplace=True)
        assert out is x and x.tolist() == pytest.approx(expected), function.__name__
    x = filled(6)
    assert F.threshold(x, 0.1, 5.0, True) is x and F.relu6(x, True) is x


def test_implicit_softmax_dimension():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        out = F.softmax(filled(2, 3))
    assert out.sum(1).tolist() == pytest.approx([1.0, 1.0])


def test_fully_masked_attention_has_no_nan():
    q = filled(2, 4).requires_grad_()
    mask = flambeau.tensor([[False, False], [True, True]])
    out = F.scaled_dot_product_attention(q, other(2, 4), other(2, 4), attn_mask=mask)
    assert out[0].tolist() == [0.0] * 4
    out.sum().backward()
    assert q.grad[0].tolist() == [0.0] * 4


def test_gumbel_softmax():
    logits = filled(3, 4).requires_grad_()
    soft, hard = F.gumbel_softmax(logits), F.gumbel_softmax(logits, hard=True)
    assert soft.sum(1).tolist() == pytest.approx([1.0] * 3)
    assert sorted(hard.detach().round().reshape(-1).tolist()) == [0.0] * 9 + [1.0] * 3
    hard.sum().backward()
    assert logits.grad is not None


def test_embedding_bag_weights_and_padding():
    weight = flambeau.tensor([[1.0], [2.0], [4.0]])
    index = flambeau.tensor([[0, 1, 2], [2, 2, 0]])
    scaled = F.embedding_bag(index, weight, mode="sum", per_sample_weights=filled(2, 3))
    direct = (weight[index].squeeze(2) * filled(2, 3)).sum(1, keepdim=True)
    assert scaled.reshape(-1).tolist() == pytest.approx(direct.reshape(-1).tolist())
    assert F.embedding_bag(index, weight, padding_idx=2).tolist() == [[1.5], [1.0]]
    ends = flambeau.tensor([0, 2, 3])
    bags = F.embedding_bag(
        flambeau.tensor([0, 1, 2]), weight, ends, mode="sum", include_last_offset=True
    )
    assert bags.tolist() == [[3.0], [4.0]]


def x():
    return filled(2, 3)


V, R, N = ValueError, RuntimeError, NotImplementedError


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: F.dropout(x(), 1.5), V, "dropout probability has to be between 0 and 1"),
        (lambda: F.dropout1d(flambeau.ones(3)), R, "dropout1d: Expected 2D or 3D input"),
        (lambda: F.hardtanh(x(), 2, 1), V, "min_val cannot be greater than max_val"),
        (lambda: F.batch_norm(flambeau.ones(1, 3), None, None, training=True), V, "more than 1"),
        (lambda: F.instance_norm(flambeau.ones(1, 3, 1)), V, "more than 1 spatial element"),
        (lambda: F.group_norm(flambeau.ones(3), 1), R, "Expected at least 2 dimensions"),
        (lambda: F.local_response_norm(x(), 1), V, "Expected 3D or higher dimensionality"),
        (lambda: F.embedding_bag(flambeau.tensor([1]), x()), V, "offsets has to be a 1D Tensor"),
        (
            lambda: F.embedding_bag(flambeau.tensor([[1]]), x(), mode="foo"),
            V,
            "mode has to be one of sum, mean or max",
        ),
        (lambda: F.gaussian_nll_loss(x(), x(), -1.0), V, "var has negative entry/entries"),
        (lambda: F.gaussian_nll_loss(x(), x(), flambeau.ones(4)), V, "var is of incorrect size"),
        (lambda: F.mse_loss(x(), x(), reduction="foo"), V, "foo is not a valid value"),
        (
            lambda: F.binary_cross_entropy(x().sigmoid(), flambeau.ones(3)),
            V,
            "Using a target size",
        ),
        (
            lambda: F.binary_cross_entropy_with_logits(x(), flambeau.ones(3)),
            V,
            "must be the same as input size",
        ),
        (
            lambda: F.margin_ranking_loss(x(), x(), flambeau.ones(2)),
            R,
            "All input tensors should have same dimension",
        ),
        (
            lambda: F.cosine_embedding_loss(x(), x(), flambeau.ones(3, 1)),
            R,
            "multi-target not supported",
        ),
        (lambda: F.triplet_margin_loss(x(), x(), x(), margin=-1), V, "greater than 0, got -1"),
        (lambda: F.triplet_margin_loss(x(), x(), flambeau.ones(3)), R, "same number of"),
        (
            lambda: F.multilabel_margin_loss(x(), flambeau.tensor([0, 1])),
            R,
            "inconsistent target size",
        ),
        (lambda: F.interpolate(x(), 3), N, "Only 3D, 4D and 5D input"),
        (
            lambda: F.interpolate(flambeau.ones(1, 1, 2), 3, align_corners=True),
            V,
            "align_corners option can only be set",
        ),
        (lambda: F.interpolate(flambeau.ones(1, 1, 2)), V, "either size or scale_factor"),
        (lambda: F.pixel_shuffle(flambeau.ones(1, 3, 2, 2), 2), R, "divisible by the square"),
        (
            lambda: F.scaled_dot_product_attention(x(), x(), x(), x(), is_causal=True),
            R,
            "Explicit attn_mask should not be set when is_causal=True",
        ),
    ],
)
def test_errors(call, kind, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind) as info:
            call()
    assert text in str(info.value)


def test_warnings():
    with pytest.warns(UserWarning, match="Using a target size"):
        F.mse_loss(x(), flambeau.ones(3))
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert F.l1_loss(x(), x(), reduce=False).shape == (2, 3)
    with pytest.warns(UserWarning, match="batchmean"):
        F.kl_div(x(), x())
    with pytest.warns(UserWarning, match="nn.functional.upsample` is deprecated"):
        F.upsample(flambeau.ones(1, 1, 2), scale_factor=2)
