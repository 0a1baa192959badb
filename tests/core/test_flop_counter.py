"""FlopCounterMode: PyTorch 2.13's counts of forward and backward passes."""

import pytest

import flambeau
from flambeau import nn
from flambeau.utils.flop_counter import FlopCounterMode

CNN = [
    nn.Conv2d(4, 8, 3, stride=2, groups=2),
    nn.ReLU(),
    nn.Conv2d(8, 6, 3, padding=1, bias=False),
    nn.ConvTranspose2d(6, 4, 2, stride=2, groups=2),
]


@pytest.mark.parametrize(
    ("model", "shape", "forward", "both"),
    [
        (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)), (4, 8), 1280, 2816),
        (nn.Sequential(*CNN), (2, 4, 9, 9), 39936, 122880),
        (nn.GRU(4, 5, 2), (3, 2, 4), 3420, 8940),
    ],
)
def test_totals(model, shape, forward, both):
    with FlopCounterMode(display=False) as counter:
        out = model(flambeau.randn(shape))
    assert counter.get_total_flops() == forward
    with FlopCounterMode(display=False) as counter:
        out = model(flambeau.randn(shape))
        (out[0] if isinstance(out, tuple) else out).sum().backward()
    assert counter.get_total_flops() == both


def test_modules():
    model = nn.Sequential(*CNN)
    with FlopCounterMode(display=False) as counter:
        model(flambeau.randn(2, 4, 9, 9)).sum().backward()
    totals = {n: sum(c.values()) for n, c in counter.get_flop_counts().items()}
    assert (totals["Sequential.0"], totals["Sequential.2"]) == (27648, 82944)
    assert totals["Sequential.3"] == 12288


def flops(run, backward=False):
    counter = FlopCounterMode(display=False)
    with counter:
        out = run()
        if backward:
            (out[0] if isinstance(out, tuple) else out).sum().backward()
    return counter.get_total_flops()


def test_attention():
    x, k = flambeau.ones(2, 5, 8), flambeau.ones(2, 3, 8)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    assert (flops(lambda: layer(x)), flops(lambda: layer(x), True)) == (11840, 31680)
    for options, expected in (
        ({}, [6720, 5056, 16320, 12352]),
        ({"bias": False}, [6720, 5056, 16320, 12352]),
        ({"add_bias_kv": True}, [7040, 5376, 17280, 13312]),
        ({"add_zero_attn": True}, [7040, 5376, 17280, 13312]),
    ):
        m = nn.MultiheadAttention(8, 2, batch_first=True, **options)
        found = [
            flops(lambda m=m: m(x, x, x)),
            flops(lambda m=m: m(x, k, k)),
            flops(lambda m=m: m(x, x, x), True),
            flops(lambda m=m: m(x, k, k.clone()), True),
        ]
        assert found == expected, options
    m = nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=7)
    k, v = flambeau.ones(2, 3, 6), flambeau.ones(2, 3, 7)
    assert (flops(lambda: m(x, k, v)), flops(lambda: m(x, k, v), True)) == (4768, 11776)
