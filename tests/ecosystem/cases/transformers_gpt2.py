"""transformers: GPT-2, losses and training, every way to generate, caches, shards."""

import json
import os
import tempfile

import torch
from transformers import (
    DynamicCache,
    GenerationConfig,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    LogitsProcessorList,
    StoppingCriteriaList,
    TemperatureLogitsWarper,
)

TOLERANCE = {"half*": (2e-2, 2e-2), "bfloat16*": (2e-2, 2e-2)}


def fill(model, scale=0.15):
    """Weights from arithmetic, so that no generator has a part in the figures."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(model.named_parameters())):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            base = 1.0 if ".ln_" in name and "weight" in name else 0.0
            value.copy_(base + scale * wave.reshape(value.shape))
    return model


torch.manual_seed(0)
config = GPT2Config(
    vocab_size=101,
    n_positions=64,
    n_embd=48,
    n_layer=3,
    n_head=4,
    resid_pdrop=0.0,
    embd_pdrop=0.0,
    attn_pdrop=0.0,
    bos_token_id=99,
    eos_token_id=100,
    pad_token_id=100,
)
model = fill(GPT2LMHeadModel(config))
tokens = (torch.arange(3 * 16).reshape(3, 16) * 11) % 97
result = {}

optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
losses = []
for _ in range(12):
    loss = model(tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
result["losses"] = losses
model.eval()

prompt = tokens[:2, :5]
with torch.no_grad():
    full = model(tokens).logits
    past = model(tokens[:, :9], use_cache=True).past_key_values
    rest = model(tokens[:, 9:], past_key_values=past).logits
result["cache"] = {
    "kind": type(past).__name__,
    "length": past.get_seq_length(),
    "difference": float((full[:, 9:] - rest).abs().max()) < 1e-4,
}
result["logits"] = full[0, -1, :8].tolist()

generate = {
    "greedy": {},
    "no_cache": {"use_cache": False},
    "beams": {"num_beams": 4, "length_penalty": 0.8, "num_return_sequences": 2},
    "early": {"num_beams": 3, "early_stopping": True, "no_repeat_ngram_size": 2},
    "penalties": {"repetition_penalty": 1.3, "min_new_tokens": 4, "bad_words_ids": [[5], [7, 8]]},
    "static": {"cache_implementation": "static"},
    "forced": {"forced_eos_token_id": 100, "suppress_tokens": [3, 4]},
}
for name, arguments in generate.items():
    out = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=12,
        do_sample=False,
        **arguments,
    )
    result[name] = out.tolist()
for name, arguments in {
    "sampled": {},
    "top": {"top_k": 8, "temperature": 0.7},
    "nucleus": {"top_p": 0.8, "top_k": 0, "num_return_sequences": 2},
    "typical": {"typical_p": 0.6, "min_p": 0.02},
    "beam_sampled": {"num_beams": 3},
    "epsilon": {"epsilon_cutoff": 0.01, "eta_cutoff": 0.005},
}.items():
    torch.manual_seed(7)
    out = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=10,
        do_sample=True,
        **arguments,
    )
    result[name] = out.tolist()

out = model.generate(
    prompt,
    attention_mask=torch.ones_like(prompt),
    generation_config=GenerationConfig(
        max_new_tokens=6,
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
        pad_token_id=100,
    ),
)
scores = model.compute_transition_scores(out.sequences, out.scores, normalize_logits=True)
result["scores"] = scores.flatten().tolist()
result["returned"] = type(out).__name__


class Stop:
    def __call__(self, ids, scores, **arguments):
        return torch.full((ids.shape[0],), ids.shape[1] >= 9, dtype=torch.bool)


out = model.generate(
    prompt,
    attention_mask=torch.ones_like(prompt),
    do_sample=False,
    max_new_tokens=20,
    stopping_criteria=StoppingCriteriaList([Stop()]),
    logits_processor=LogitsProcessorList([TemperatureLogitsWarper(0.5)]),
)
result["stopped"] = out.tolist()

padded = torch.full((2, 7), 100)
padded[0, 2:], padded[1] = tokens[0, :5], tokens[1, :7]
out = model.generate(
    padded, attention_mask=(padded != 100).long(), max_new_tokens=8, do_sample=False
)
result["left_padded"] = out.tolist()
helper = fill(GPT2LMHeadModel(GPT2Config(**{**config.to_dict(), "n_layer": 1}))).eval()
out = model.generate(
    prompt[:1],
    attention_mask=torch.ones_like(prompt[:1]),
    assistant_model=helper,
    max_new_tokens=10,
    do_sample=False,
)
result["assisted"] = out.tolist()

folder = tempfile.mkdtemp()
model.save_pretrained(folder, max_shard_size="80KB")
result["files"] = len([name for name in os.listdir(folder) if name.endswith(".safetensors")])
again, report = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
result["report"] = sorted(key for key, value in report.items() if value)
result["reload"] = bool(torch.equal(model(tokens).logits, again(tokens).logits))
result["tied"] = again.lm_head.weight is again.transformer.wte.weight
eager = GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval()
result["eager"] = eager(tokens).logits[1, 3, :6].tolist()
for name, dtype in (("bfloat16", torch.bfloat16), ("half", torch.float16)):
    low = GPT2LMHeadModel.from_pretrained(folder, dtype=dtype).eval()
    result[name] = [*low(tokens, labels=tokens).loss.reshape(1).tolist()]

ranked = fill(GPT2ForSequenceClassification(GPT2Config(**{**config.to_dict(), "num_labels": 2})))
out = ranked(tokens, labels=torch.tensor([0, 1, 1]))
out.loss.backward()
result["classified"] = [out.loss.item(), *out.logits.flatten().tolist()]
result["counted"] = DynamicCache(config=config).get_seq_length()
print(json.dumps(result))
