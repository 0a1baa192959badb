"""transformers: T5, loss and training, relative position bias, cross attention, generation."""

import json

import torch
from transformers import T5Config, T5EncoderModel, T5ForConditionalGeneration


def fill(model, scale=0.15):
    """Weights from arithmetic, so that no generator has a part in the figures."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(model.named_parameters())):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            base = 1.0 if "layer_norm" in name else 0.0
            value.copy_(base + scale * wave.reshape(value.shape))
    return model


torch.manual_seed(0)
settings = {
    "vocab_size": 71,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 20,
    "dropout_rate": 0.0,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": 1,
}
tokens = (torch.arange(3 * 10).reshape(3, 10) * 7) % 68 + 3
mask = torch.ones_like(tokens)
mask[1, 7:] = 0
labels = (torch.arange(3 * 6).reshape(3, 6) * 5) % 68 + 3
labels[2, 4:] = -100
result = {}
for kind, changes in {
    "relu": {},
    "gated": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
}.items():
    model = fill(T5ForConditionalGeneration(T5Config(**settings, **changes))).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    out = model(tokens, attention_mask=mask, labels=labels)
    out.loss.backward()
    found = {
        "loss": out.loss.item(),
        "logits": out.logits[1, 2, :8].tolist(),
        "encoded": out.encoder_last_hidden_state[0, 3, :6].tolist(),
        "gradients": {name: p.grad.norm().item() for name, p in model.named_parameters()},
    }
    optimizer.step()
    found["after_step"] = model(tokens, attention_mask=mask, labels=labels).loss.item()
    model.eval()
    for name, arguments in {
        "greedy": {},
        "beams": {"num_beams": 3, "num_return_sequences": 2},
        "penalty": {"repetition_penalty": 1.5, "no_repeat_ngram_size": 2},
    }.items():
        out = model.generate(
            tokens, attention_mask=mask, max_new_tokens=8, do_sample=False, **arguments
        )
        found[name] = out.tolist()
    torch.manual_seed(5)
    out = model.generate(
        tokens, attention_mask=mask, max_new_tokens=8, do_sample=True, top_k=9, temperature=0.8
    )
    found["sampled"] = out.tolist()
    result[kind] = found

model.set_attn_implementation("eager")
out = model(tokens, attention_mask=mask, labels=labels, output_attentions=True)
result["cross"] = out.cross_attentions[1][0, 2, 1].tolist()
encoder = fill(T5EncoderModel(T5Config(**settings))).eval()
out = encoder(tokens, attention_mask=mask, output_hidden_states=True)
result["encoder"] = [float(state.detach().pow(2).mean()) for state in out.hidden_states]
print(json.dumps(result))
