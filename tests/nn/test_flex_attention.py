"""Attention with functions of the scores and masks of blocks."""

import math

import pytest

import flambeau
from flambeau.nn.attention import flex_attention as flex


def causal(batch, head, row, column):
    return row >= column


@pytest.fixture
def inputs():
    flambeau.manual_seed(0)
    return [flambeau.randn(2, 3, 6, 4, requires_grad=True) for _ in range(3)]


def test_is_attention(inputs):
    want = flambeau.nn.functional.scaled_dot_product_attention(*inputs)
    flambeau.testing.assert_close(flex.flex_attention(*inputs), want)


def test_causal_block_mask_and_gradients(inputs):
    mask = flex.create_block_mask(causal, None, None, 6, 6, BLOCK_SIZE=2)
    got = flex.flex_attention(*inputs, block_mask=mask)
    want = flambeau.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)
    flambeau.testing.assert_close(got, want)
    for one, other in zip(
        flambeau.autograd.grad(got.pow(2).sum(), inputs),
        flambeau.autograd.grad(want.pow(2).sum(), inputs),
    ):
        flambeau.testing.assert_close(one, other)


def test_score_function_and_what_it_returns_besides(inputs):
    output, lse = flex.flex_attention(
        *inputs, score_mod=lambda score, b, h, q, k: score + (q - k) * 0.5, return_lse=True
    )
    query, key, value = inputs
    distance = flambeau.arange(6).unsqueeze(1) - flambeau.arange(6)
    scores = query @ key.transpose(-2, -1) / math.sqrt(4) + distance * 0.5
    flambeau.testing.assert_close(output, scores.softmax(-1) @ value)
    flambeau.testing.assert_close(lse, scores.logsumexp(-1))


def test_blocks_of_a_mask():
    mask = flex.create_block_mask(causal, 1, 1, 256, 256)
    assert mask.shape == (1, 1, 256, 256) and mask.sparsity() == 25.0
    assert mask.kv_num_blocks.tolist() == [[[1, 1]]]
    assert mask.kv_indices.tolist() == [[[[0, 1], [1, 0]]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1]]]
    assert mask.q_indices.tolist() == [[[[0, 1], [1, 0]]]]
    assert mask.full_q_num_blocks.tolist() == [[[1, 0]]]
    assert mask.to_dense().tolist() == [[[[1, 0], [1, 1]]]]


def test_heads_must_fit(inputs):
    query, key, value = inputs
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex.flex_attention(query, key[:, :1], value[:, :1])
    assert flex.flex_attention(query, key[:, :1], value[:, :1], enable_gqa=True).shape == (
        2,
        3,
        6,
        4,
    )
