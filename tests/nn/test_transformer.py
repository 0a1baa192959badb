"""Transformer layers and stacks: against their parts called by hand, masks, states, errors."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

E, HEADS = 8, 2
causal = nn.Transformer.generate_square_subsequent_mask


def encoder_layer(**options):
    return nn.TransformerEncoderLayer(E, HEADS, 16, 0.0, **options)


def decoder_layer(**options):
    return nn.TransformerDecoderLayer(E, HEADS, 16, 0.0, **options)


def attend(m, x, memory, **options):
    return m(x, memory, memory, need_weights=True, **options)[0]


def feedforward(m, x):
    return m.linear2(m.activation(m.linear1(x)))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", flambeau.tanh])
def test_encoder_layer(norm_first, activation):
    m = encoder_layer(norm_first=norm_first, activation=activation, batch_first=True)
    x, mask = flambeau.randn(2, 3, E), causal(3)
    padding = flambeau.tensor([[0, 0, 1], [0, 0, 0]]).bool()
    if norm_first:
        a = m.norm1(x)
        y = x + attend(m.self_attn, a, a, attn_mask=mask, key_padding_mask=padding.float() * -1e30)
        expected = y + feedforward(m, m.norm2(y))
    else:
        both = {"attn_mask": mask, "key_padding_mask": padding.float() * -1e30}
        y = m.norm1(x + attend(m.self_attn, x, x, **both))
        expected = m.norm2(y + feedforward(m, y))
    with pytest.warns(UserWarning, match="mismatched src_key_padding_mask and src_mask"):
        out = m(x, mask, padding)
    flambeau.testing.assert_close(out, expected)
    hint = m(x, mask, is_causal=True)
    flambeau.testing.assert_close(hint, m(x, mask.bool()))
    kind = {"relu": 1, "gelu": 2}.get(activation if isinstance(activation, str) else "", 0)
    assert m.activation_relu_or_gelu == kind


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer(norm_first):
    m = decoder_layer(norm_first=norm_first)
    x, memory, mask = flambeau.randn(3, 2, E), flambeau.randn(5, 2, E), causal(3)
    if norm_first:
        a = m.norm1(x)
        y = x + attend(m.self_attn, a, a, attn_mask=mask)
        y = y + attend(m.multihead_attn, m.norm2(y), memory)
        expected = y + feedforward(m, m.norm3(y))
    else:
        y = m.norm1(x + attend(m.self_attn, x, x, attn_mask=mask))
        y = m.norm2(y + attend(m.multihead_attn, y, memory))
        expected = m.norm3(y + feedforward(m, y))
    flambeau.testing.assert_close(m(x, memory, mask), expected)
    flambeau.testing.assert_close(m(x, memory, mask, tgt_is_causal=True), expected)
    seen = flambeau.randn(3, 5)
    other = m(x, memory, mask, seen)
    assert not flambeau.allclose(other, expected)
    padding = flambeau.tensor([[0, 0, 0, 0, 1]] * 2).bool()
    flambeau.testing.assert_close(
        m(x, memory, mask, memory_key_padding_mask=padding), m(x, memory[:4], mask)
    )


def test_stacks_call_copies_in_order():
    layer = encoder_layer()
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(E))
    x = flambeau.randn(3, 2, E)
    flambeau.testing.assert_close(encoder(x), encoder.norm(layer(layer(x))))
    assert encoder.layers[0].linear1.weight is not layer.linear1.weight
    decoder = nn.TransformerDecoder(decoder_layer(), 2)
    memory = flambeau.randn(5, 2, E)
    a, b = decoder.layers
    mask = causal(3)
    expected = b(a(x, memory, mask), memory, mask)
    flambeau.testing.assert_close(decoder(x, memory, mask), expected)
    flambeau.testing.assert_close(decoder(x, memory, mask, tgt_is_causal=False), expected)


class Spy(nn.Module):
    """A layer that keeps what it was called with."""

    def forward(self, x, *args, **options):
        self.options = options
        return x


def test_causal_masks_are_found():
    encoder = nn.TransformerEncoder(Spy(), 1)
    spy, x = encoder.layers[0], flambeau.ones(3, 2, E)
    for mask, hint, found in [
        (None, None, False),
        (causal(3), None, True),
        (causal(3).bool(), None, True),
        (flambeau.zeros(3, 3), None, False),
        (causal(4), None, False),
        (causal(3), False, False),
        (flambeau.zeros(3, 3), True, True),
    ]:
        encoder(x, mask, is_causal=hint)
        assert spy.options["is_causal"] is found
    decoder = nn.TransformerDecoder(Spy(), 1)
    decoder(x, x, causal(3), memory_is_causal=True)
    options = decoder.layers[0].options
    assert options["tgt_is_causal"] is True and options["memory_is_causal"] is True


def test_padding_in_evaluation():
    encoder = nn.TransformerEncoder(encoder_layer(batch_first=True), 2).eval()
    x = flambeau.randn(2, 3, E)
    padding = flambeau.tensor([[0, 0, 1], [0, 1, 1]]).bool()
    full = encoder(x, src_key_padding_mask=padding)
    assert encoder.use_nested_tensor and bool((full != 0).all())
    with flambeau.no_grad():
        out = encoder(x, src_key_padding_mask=padding)
        assert bool((out[padding] == 0).all())
        flambeau.testing.assert_close(out[~padding], full[~padding])
        assert bool((encoder(x, src_key_padding_mask=padding.flip(1)) != 0).all())
        encoder.mask_check = False
        assert not bool((encoder(x, src_key_padding_mask=padding.flip(1)) != 0).all())
    kept = nn.TransformerEncoder(encoder_layer(batch_first=True), 1, enable_nested_tensor=False)
    with flambeau.no_grad():
        assert bool((kept.eval()(x, src_key_padding_mask=padding) != 0).all())
    for options in ({}, {"norm_first": True}, {"bias": False}, {"activation": flambeau.tanh}):
        batch_first = bool(options)
        stack = nn.TransformerEncoder(encoder_layer(batch_first=batch_first, **options), 1)
        assert not stack.use_nested_tensor


def test_transformer():
    model = nn.Transformer(E, HEADS, 1, 2, 16, 0.0, batch_first=True)
    src, tgt = flambeau.randn(2, 5, E), flambeau.randn(2, 3, E)
    mask = causal(3)
    out = model(src, tgt, tgt_mask=mask)
    flambeau.testing.assert_close(out, model.decoder(tgt, model.encoder(src), mask))
    # What comes later in tgt changes nothing before it.
    changed = flambeau.cat([tgt[:, :2], tgt[:, 2:] + 1], 1)
    flambeau.testing.assert_close(model(src, changed, tgt_mask=mask)[:, :2], out[:, :2])
    one = model(src[0], tgt[0], tgt_mask=mask)
    flambeau.testing.assert_close(one, out[0])
    out.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    custom = nn.Transformer(E, custom_encoder=model.encoder, custom_decoder=model.decoder)
    assert custom.encoder is model.encoder and len(list(custom.modules())) > 20


def test_transformer_errors():
    model = nn.Transformer(E, HEADS, 1, 1, 16)
    x = flambeau.ones(3, 2, E)
    with pytest.raises(RuntimeError, match="the batch number of src and tgt must be equal"):
        model(x, x[:, :1])
    with pytest.raises(RuntimeError, match="the feature number of src and tgt must be equal"):
        model(x[..., :4], x[..., :4])
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not foo"):
        encoder_layer(activation="foo")
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not foo"):
        decoder_layer(activation="foo")
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        encoder_layer()(x, is_causal=True)
    with pytest.raises(AssertionError, match="only bool and floating types of src_mask"):
        encoder_layer()(x, flambeau.ones(3, 3, dtype=flambeau.int64))


def test_state():
    layer = decoder_layer(bias=False)
    assert [k for k in layer.state_dict() if "attn" not in k] == [
        "linear1.weight",
        "linear2.weight",
        "norm1.weight",
        "norm2.weight",
        "norm3.weight",
    ]
    names = [name for name, _ in decoder_layer().named_children()]
    assert names == [
        "self_attn", "multihead_attn", "linear1", "dropout", "linear2",
        "norm1", "norm2", "norm3", "dropout1", "dropout2", "dropout3",
    ]  # fmt: skip
    model = nn.Transformer(E, HEADS, 1, 1, 16, 0.0)
    x = flambeau.randn(3, 2, E)
    expected = model(x, x).tolist()
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin(x, x).tolist() == expected
    other = nn.Transformer(E, HEADS, 1, 1, 16, 0.0)
    other.load_state_dict(model.state_dict())
    assert other(x, x).tolist() == expected
    old = {k: v for k, v in encoder_layer().__dict__.items() if k != "activation"}
    revived = nn.TransformerEncoderLayer.__new__(nn.TransformerEncoderLayer)
    revived.__setstate__(old)
    assert revived.activation is F.relu


def test_square_mask():
    assert causal(2).tolist() == [[0.0, -float("inf")], [0.0, 0.0]]
    assert causal(2, dtype=flambeau.float64).dtype == flambeau.float64
    flambeau.set_default_dtype(flambeau.float64)
    assert causal(2).dtype == flambeau.float64


def test_eps_and_dropout_reach_the_parts():
    layer = nn.TransformerDecoderLayer(E, HEADS, 16, 0.25, layer_norm_eps=0.5)
    assert {m.eps for m in layer.modules() if isinstance(m, nn.LayerNorm)} == {0.5}
    assert {m.p for m in layer.modules() if isinstance(m, nn.Dropout)} == {0.25}
    assert layer.self_attn.dropout == layer.multihead_attn.dropout == 0.25
    model = nn.Transformer(E, HEADS, 1, 1, 16, layer_norm_eps=0.5, bias=False)
    assert model.encoder.norm.eps == 0.5 and model.decoder.norm.bias is None
