"""Strides, memory formats, overlap, the rules of out=."""

from __future__ import annotations

import pytest

import flambeau


def test_memory_formats():
    x = flambeau.arange(48).reshape(2, 3, 2, 4).contiguous(memory_format=flambeau.channels_last)
    assert (
        x.stride() == (24, 1, 12, 3)
        and x.is_contiguous(memory_format=flambeau.channels_last)
        and not x.is_contiguous()
    )
    assert (x + 1).stride() == x.stride() and x.clone().stride() == x.stride()
    assert x.contiguous().is_contiguous() and x.contiguous().tolist() == x.tolist()
    assert flambeau.empty_like(x).stride() == x.stride()
    with pytest.raises(RuntimeError, match="rank 4"):
        flambeau.ones(2).contiguous(memory_format=flambeau.channels_last)


def test_views_and_overlap():
    x = flambeau.arange(4.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        flambeau.add(x[:3], 1, out=x[1:])
    with pytest.raises(RuntimeError, match="single memory location"):
        flambeau.add(flambeau.ones(4), 1, out=flambeau.ones(1).expand(4))
    x[1:].copy_(x[:-1].clone())
    assert x.tolist() == [0.0, 0.0, 1.0, 2.0]
    with pytest.raises(RuntimeError, match="view"):
        flambeau.ones(2, 3).t().view(6)
    assert x.as_strided((2, 2), (1, 1)).tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_out_is_resized():
    out = flambeau.empty(0)
    assert flambeau.add(flambeau.ones(2, 3), 1, out=out) is out and out.shape == (2, 3)
    view = flambeau.zeros(6)[::2]
    flambeau.add(flambeau.ones(3), 1, out=view)
    assert view.stride() == (2,) and view.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        flambeau.add(flambeau.ones(2), 1, out=flambeau.empty(2, dtype=flambeau.int64))
    assert (
        flambeau.add(flambeau.ones(2), 1, out=flambeau.empty(2, dtype=flambeau.float64)).dtype
        is flambeau.float64
    )


def test_more_dimensions_than_a_mask_has_bits():
    x = flambeau.ones([1] * 69 + [2])
    assert x.squeeze(68).dim() == 69 and x.squeeze(69).dim() == 70
    assert x.squeeze().shape == (2,)
    assert x.permute(*range(69, -1, -1)).shape == (2, *[1] * 69)
    with pytest.raises(RuntimeError, match="duplicate"):
        x.permute(*range(69), 67)


def test_unfold_with_a_step_beyond_the_tensor():
    for step in (9, 2**62, 2**63 - 1):
        assert flambeau.arange(10.0).unfold(0, 2, step).tolist() == [[0.0, 1.0]]
