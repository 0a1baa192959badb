"""transformers: ViT, classification, hidden states and attentions, masked image modelling."""

import json
import tempfile

import torch
from transformers import ViTConfig, ViTForImageClassification, ViTForMaskedImageModeling, ViTModel


def fill(model, scale=0.1):
    """Weights from arithmetic, so that no generator has a part in the figures."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(model.named_parameters())):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            base = 1.0 if "layernorm" in name and name.endswith("weight") else 0.0
            value.copy_(base + scale * wave.reshape(value.shape))
    return model


torch.manual_seed(0)
config = ViTConfig(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    image_size=16,
    patch_size=4,
    num_labels=5,
    encoder_stride=4,
    attention_probs_dropout_prob=0.0,
    hidden_dropout_prob=0.0,
)
images = torch.sin(torch.arange(3 * 3 * 16 * 16).reshape(3, 3, 16, 16) * 0.37)
labels = torch.tensor([0, 4, 2])
result = {}
for kind in ("eager", "sdpa"):
    config._attn_implementation = kind
    out = fill(ViTModel(config)).eval()(images, output_hidden_states=True)
    result[kind] = {
        "last": out.last_hidden_state[1, :3, :5].flatten().tolist(),
        "pooled": out.pooler_output[:, :4].flatten().tolist(),
        "states": [float(state.detach().pow(2).mean()) for state in out.hidden_states],
    }
config._attn_implementation = "eager"
out = fill(ViTModel(config)).eval()(images, output_attentions=True)
result["attentions"] = [weights[0, 1, 3].tolist() for weights in out.attentions]

model = fill(ViTForImageClassification(config)).train()
out = model(images, labels=labels)
out.loss.backward()
result["classified"] = {
    "loss": out.loss.item(),
    "logits": out.logits.flatten().tolist(),
    "gradients": {name: p.grad.norm().item() for name, p in model.named_parameters()},
}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
optimizer.step()
result["after_step"] = model(images, labels=labels).loss.item()
larger = torch.cos(torch.arange(3 * 24 * 24).reshape(1, 3, 24, 24) * 0.11)
result["interpolated"] = model.eval()(larger, interpolate_pos_encoding=True).logits[0].tolist()

hidden = torch.arange(3 * 16).reshape(3, 16) % 3 == 0
pretraining = fill(ViTForMaskedImageModeling(config))
out = pretraining(images, bool_masked_pos=hidden)
out.loss.backward()
result["masked"] = {
    "loss": out.loss.item(),
    "reconstruction": out.reconstruction[0, :, 2, :4].flatten().tolist(),
    "token_gradient": pretraining.vit.embeddings.mask_token.grad.flatten()[:6].tolist(),
}
folder = tempfile.mkdtemp()
model.save_pretrained(folder)
again = ViTForImageClassification.from_pretrained(folder).eval()
result["reload"] = bool(torch.equal(again(images).logits, model(images).logits))
print(json.dumps(result))
