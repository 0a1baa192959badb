"""transformers: BERT with both attention implementations, training, tasks, save and load."""

import json
import tempfile

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    get_linear_schedule_with_warmup,
)

# After eight steps of AdamW, whose first steps have the size of the rate however small a gradient
# is; and rounding of bfloat16 in another order.
TOLERANCE = {"logits": (1e-3, 1e-4), "bfloat16*": (1e-2, 1e-2)}


def fill(model, scale=0.1):
    """Weights from arithmetic, so that no generator has a part in the figures."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(model.named_parameters())):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            base = 1.0 if "LayerNorm.weight" in name else 0.0
            value.copy_(base + scale * wave.reshape(value.shape))
    return model


def norm(values):
    return float(torch.stack([v.double().pow(2).sum() for v in values]).sum().sqrt())


torch.manual_seed(0)
config = BertConfig(
    vocab_size=97,
    hidden_size=48,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=96,
    max_position_embeddings=40,
    num_labels=3,
    attention_probs_dropout_prob=0.0,
    hidden_dropout_prob=0.0,
)
tokens = (torch.arange(4 * 12).reshape(4, 12) * 7) % 96 + 1
mask = torch.ones_like(tokens)
mask[0, 9:] = 0
mask[2, 5:] = 0
segments = (torch.arange(12) > 6).long().expand(4, 12)
labels = torch.tensor([0, 2, 1, 1])
result = {}

for kind in ("eager", "sdpa"):
    config._attn_implementation = kind
    model = fill(BertModel(config)).eval()
    out = model(tokens, attention_mask=mask, token_type_ids=segments, output_hidden_states=True)
    result[kind] = {
        "implementation": model.config._attn_implementation,
        "last": out.last_hidden_state[1, :2, :6].flatten().tolist(),
        "pooled": out.pooler_output[:, :5].flatten().tolist(),
        "states": [float(state.detach().pow(2).mean()) for state in out.hidden_states],
        "class": type(out).__name__,
    }
config._attn_implementation = "eager"
out = fill(BertModel(config)).eval()(tokens, attention_mask=mask, output_attentions=True)
result["attentions"] = [a[0, 1, 3].tolist() for a in out.attentions]

config._attn_implementation = "sdpa"
model = fill(BertForSequenceClassification(config)).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
schedule = get_linear_schedule_with_warmup(optimizer, 2, 8)
losses, rates, norms = [], [], []
for _ in range(8):
    out = model(tokens, attention_mask=mask, token_type_ids=segments, labels=labels)
    out.loss.backward()
    norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    losses.append(out.loss.item())
    rates.append(schedule.get_last_lr()[0])
result["training"] = {"losses": losses, "rates": rates, "gradient_norms": norms}
result["logits"] = out.logits.detach().flatten().tolist()

folder = tempfile.mkdtemp()
model.eval().save_pretrained(folder)
again = AutoModelForSequenceClassification.from_pretrained(folder)
with torch.no_grad():
    before, after = model(tokens).logits, again(tokens).logits
result["reload"] = {
    "equal": bool(torch.equal(before, after)),
    "class": type(again).__name__,
    "config": AutoConfig.from_pretrained(folder).hidden_size,
    "dtype": str(again.dtype),
    "parameters": again.num_parameters(),
    "training": again.training,
}
base = AutoModel.from_pretrained(folder, dtype=torch.bfloat16)
result["bfloat16"] = {
    "dtype": str(base.dtype),
    "mean": float(base(tokens).last_hidden_state.float().abs().mean()),
}

masked = fill(BertForMaskedLM(config))
target = tokens.masked_fill(torch.arange(12) % 3 != 0, -100)
out = masked(tokens.masked_fill(target != -100, 5), attention_mask=mask, labels=target)
out.loss.backward()
result["masked"] = {
    "loss": out.loss.item(),
    "gradients": norm([p.grad for p in masked.parameters() if p.grad is not None]),
    "tied": masked.cls.predictions.decoder.weight is masked.bert.embeddings.word_embeddings.weight,
    "best": out.logits[:, 0].argmax(-1).tolist(),
}
masked.resize_token_embeddings(103, mean_resizing=False)
result["resized"] = list(masked(tokens).logits.shape)

answers = fill(BertForQuestionAnswering(BertConfig(**{**config.to_dict(), "num_labels": 2})))
out = answers(tokens, start_positions=torch.tensor([1, 2, 3, 4]), end_positions=labels + 5)
result["answers"] = [out.loss.item(), *out.start_logits[0, :4].tolist()]
tags = fill(BertForTokenClassification(config))
out = tags(tokens, attention_mask=mask, labels=tokens % 3)
result["tags"] = [out.loss.item(), *out.logits[0, 0].tolist()]

plain = fill(BertForSequenceClassification(config)).train()
plain(tokens, labels=labels).loss.backward()
wanted = norm([p.grad for p in plain.parameters()])
plain.zero_grad()
plain.gradient_checkpointing_enable()
plain(tokens, labels=labels).loss.backward()
result["checkpointing"] = [wanted, norm([p.grad for p in plain.parameters()])]

dropping = fill(
    BertForSequenceClassification(BertConfig(**{**config.to_dict(), "hidden_dropout_prob": 0.2}))
)
torch.manual_seed(3)
result["dropout"] = [dropping.train()(tokens, labels=labels).loss.item() for _ in range(3)]
print(json.dumps(result))
