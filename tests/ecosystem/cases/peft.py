"""peft: adapters on a small decoder are trained, merged, unmerged, saved and loaded again."""

import json
import tempfile

import torch
from peft import (
    IA3Config,
    LoraConfig,
    PeftModel,
    PromptTuningConfig,
    get_peft_model,
    get_peft_model_state_dict,
)
from transformers import LlamaConfig, LlamaForCausalLM


def fill(parameters, scale=0.12):
    """Weights from arithmetic, so that no generator has a part in the figures."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(parameters)):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            base = 1.0 if "norm" in name else 0.0
            value.copy_(base + scale * wave.reshape(value.shape))


def base():
    """The model that is adapted, always with the same weights."""
    config = LlamaConfig(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = LlamaForCausalLM(config)
    fill(model.named_parameters())
    return model


torch.manual_seed(0)
tokens = (torch.arange(2 * 10).reshape(2, 10) * 7) % 58 + 3
projections = ["q_proj", "v_proj"]
configs = {
    "lora": LoraConfig(r=4, lora_alpha=8, target_modules=projections, task_type="CAUSAL_LM"),
    "rslora": LoraConfig(
        r=4, target_modules="all-linear", use_rslora=True, bias="lora_only", task_type="CAUSAL_LM"
    ),
    "dora": LoraConfig(r=2, target_modules=projections, use_dora=True, task_type="CAUSAL_LM"),
    "modules_to_save": LoraConfig(
        r=2, target_modules=["embed_tokens", "o_proj"], modules_to_save=["lm_head"]
    ),
    "ia3": IA3Config(
        target_modules=["k_proj", "down_proj"],
        feedforward_modules=["down_proj"],
        task_type="CAUSAL_LM",
    ),
    "prompt": PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
}
result = {}
for kind, config in configs.items():
    model = get_peft_model(base(), config)
    figures = result[kind] = {"parameters": list(model.get_nb_trainable_parameters())}
    adapters = [
        (name, value)
        for name, value in model.named_parameters()
        if value.requires_grad and ("lora_A" in name or "embedding" in name)
    ]
    fill(adapters)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=0.02)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    figures["losses"] = losses
    figures["base_untouched"] = all(
        value.grad is None for value in model.parameters() if not value.requires_grad
    )
    model.eval()
    with torch.no_grad():
        logits = model(input_ids=tokens).logits
        figures["logits"] = logits[1, -1, :5].tolist()
        state = get_peft_model_state_dict(model)
        figures["state"] = {name: list(value.shape) for name, value in sorted(state.items())}
        folder = tempfile.mkdtemp()
        model.save_pretrained(folder)
        again = PeftModel.from_pretrained(base(), folder).eval()
        figures["reload"] = bool(torch.equal(again(input_ids=tokens).logits, logits))
        if kind == "prompt":
            continue
        with model.disable_adapter():
            plain = model(input_ids=tokens).logits
        figures["disabled"] = plain[1, -1, :5].tolist()
        model.merge_adapter()
        figures["merged"] = bool(torch.allclose(model(input_ids=tokens).logits, logits, atol=1e-4))
        model.unmerge_adapter()
        figures["unmerged"] = bool(
            torch.allclose(model(input_ids=tokens).logits, logits, atol=1e-4)
        )
        alone = again.merge_and_unload()
        figures["unloaded"] = [
            type(alone).__name__,
            bool(torch.allclose(alone(input_ids=tokens).logits, logits, atol=1e-4)),
        ]

# Two adapters on one model, then their weighted sum.
model = get_peft_model(base(), configs["lora"], adapter_name="one")
model.add_adapter("two", configs["lora"])
fill((name, value) for name, value in model.named_parameters() if "lora_" in name)
figures = result["adapters"] = {}
with torch.no_grad():
    model.eval()
    for kind in ("linear", "cat", "svd"):
        model.add_weighted_adapter(["one", "two"], [0.7, 0.3], kind, combination_type=kind)
    for name in ("one", "two", "linear", "cat", "svd"):
        model.set_adapter(name)
        figures[name] = model(input_ids=tokens).logits[0, -1, :4].tolist()
print(json.dumps(result))
