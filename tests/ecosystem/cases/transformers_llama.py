"""transformers: decoders with rotary positions, grouped heads, windows and experts."""

import json
import tempfile

import torch
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)


def fill(model, scale=0.12):
    """Weights from arithmetic, so that no generator has a part in the figures."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(model.named_parameters())):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            base = 1.0 if "norm" in name else 0.0
            value.copy_(base + scale * wave.reshape(value.shape))
    return model


torch.manual_seed(0)
shared = {
    "vocab_size": 89,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
tokens = (torch.arange(2 * 14).reshape(2, 14) * 5) % 86 + 3
mask = torch.ones_like(tokens)
mask[0, :4] = 0
models = {
    "llama": (LlamaForCausalLM, LlamaConfig(**shared)),
    "llama_yarn": (
        LlamaForCausalLM,
        LlamaConfig(
            **shared,
            rope_parameters={"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0},
            tie_word_embeddings=True,
        ),
    ),
    "mistral": (MistralForCausalLM, MistralConfig(**shared, sliding_window=6)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**shared)),
    "gemma2": (
        Gemma2ForCausalLM,
        Gemma2Config(**shared, head_dim=8, sliding_window=6, query_pre_attn_scalar=8),
    ),
    "mixtral": (
        MixtralForCausalLM,
        MixtralConfig(**shared, num_local_experts=4),
    ),
}
result = {}
for name, (kind, config) in models.items():
    figures = result[name] = {}
    for attention in ("eager",) if name == "gemma2" else ("eager", "sdpa"):
        config._attn_implementation = attention
        model = fill(kind(config)).train()
        out = model(tokens, attention_mask=mask, labels=tokens)
        out.loss.backward()
        figures[attention] = {
            "loss": out.loss.item(),
            "logits": out.logits[1, -1, :6].tolist(),
            "gradient": float(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])),
        }
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    figures["losses"] = losses
    model.eval()
    for way, arguments in {
        "greedy": {},
        "static": {"cache_implementation": "static"},
        "beams": {"num_beams": 3},
    }.items():
        out = model.generate(
            tokens[:, :8],
            attention_mask=mask[:, :8],
            max_new_tokens=8,
            do_sample=False,
            **arguments,
        )
        figures[way] = out[:, 8:].tolist()
    folder = tempfile.mkdtemp()
    model.save_pretrained(folder)
    again = kind.from_pretrained(folder)
    with torch.no_grad():
        figures["reload"] = bool(torch.equal(model(tokens).logits, again(tokens).logits))
    low = kind.from_pretrained(folder, dtype=torch.bfloat16)
    figures["bfloat16"] = str(low(tokens).logits.dtype)
print(json.dumps(result))
