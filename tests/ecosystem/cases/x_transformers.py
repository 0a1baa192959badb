"""x-transformers: kinds of attention and feed-forward layers, encoder and decoder, sampling."""

import functools
import json

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper, XTransformer

result = {}


def stats(t):
    """Enough of a tensor to tell it from another."""
    t = t.detach()
    flat = (torch.view_as_real(t) if t.is_complex() else t).double().flatten()
    return [list(t.shape), flat.sum().item(), flat.abs().sum().item(), flat[:3].tolist()]


def train(model, loss_of, steps=3):
    """Losses of a few steps of gradient descent."""
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    losses = []
    for _ in range(steps):
        loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


for name, options in {
    "plain": {},
    "rotary": {"rotary_pos_emb": True},
    "relative": {"rel_pos_bias": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "gated": {"ff_glu": True, "ff_swish": True},
    "rmsnorm": {"use_rmsnorm": True},
    "one head": {"attn_one_kv_head": True},
    "normed": {"attn_qk_norm": True},
}.items():
    torch.manual_seed(1)
    layers = Decoder(dim=32, depth=2, heads=4, **options)
    model = TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers)
    tokens = torch.randint(0, 50, (2, 16))
    result[name] = stats(model(tokens))
    wrapped = AutoregressiveWrapper(model)
    result[f"{name} trained"] = train(wrapped, functools.partial(wrapped, tokens))

torch.manual_seed(2)
both = XTransformer(
    dim=32, enc_num_tokens=40, enc_depth=1, enc_heads=4, enc_max_seq_len=20,
    dec_num_tokens=40, dec_depth=1, dec_heads=4, dec_max_seq_len=20,
)  # fmt: skip
tokens = torch.randint(0, 40, (2, 10))
result["both"] = train(both, lambda: both(tokens, tokens, mask=torch.ones_like(tokens).bool()))

torch.manual_seed(3)
layers = Decoder(dim=32, depth=1, heads=4)
writer = AutoregressiveWrapper(
    TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers)
)
result["greedy"] = writer.generate(torch.randint(0, 50, (1, 4)), 8, temperature=0.0).tolist()
print(json.dumps(result))
