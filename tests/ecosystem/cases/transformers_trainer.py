"""transformers: `Trainer` with a small BERT classifier, checkpoints, and pipelines."""

import json
import os
import pathlib
import tempfile

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertTokenizerFast,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    pipeline,
)

# After steps of AdamW, whose first have the size of the rate however small a gradient is.
# Half precision rounds each result to 8 bits.
TOLERANCE = {"*": (1e-3, 1e-4), "half*": (1e-2, 1e-3)}


def fill(model, scale=0.1):
    """Weights from arithmetic, so that no generator has a part in the figures."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(model.named_parameters())):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            base = 1.0 if "LayerNorm.weight" in name else 0.0
            value.copy_(base + scale * wave.reshape(value.shape))
    return model


words = "the a cat dog film plot was is not very good bad dull fine great poor and but".split()
special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "vocab.txt").write_text("\n".join(special + words) + "\n")
tokenizer = BertTokenizerFast(vocab={w: i for i, w in enumerate(special + words)})
texts = [
    ("the film was very good", 1),
    ("the plot was dull and poor", 0),
    ("a great cat", 1),
    ("the dog is not bad but fine", 1),
    ("the film is bad", 0),
    ("a poor dog", 0),
    ("the plot is great and the film was good", 1),
    ("not good", 0),
]
rows = [{**tokenizer(text), "label": label} for text, label in texts]
config = BertConfig(
    vocab_size=len(special) + len(words),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=24,
    num_labels=2,
    id2label={0: "no", 1: "yes"},
    label2id={"no": 0, "yes": 1},
    attention_probs_dropout_prob=0.0,
    hidden_dropout_prob=0.0,
)


class Steps(TrainerCallback):
    """Counts what the trainer reports."""

    def __init__(self):
        self.events = {}

    def __getattribute__(self, name):
        if name.startswith("on_"):
            self.events[name] = self.events.get(name, 0) + 1
        return super().__getattribute__(name)


def accuracy(prediction):
    return {"accuracy": float(np.mean(prediction.predictions.argmax(-1) == prediction.label_ids))}


def train(name, **changes):
    model = fill(BertForSequenceClassification(config))
    arguments = TrainingArguments(
        output_dir=str(folder / name),
        per_device_train_batch_size=2,
        per_device_eval_batch_size=3,
        learning_rate=1e-3,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        seed=3,
        **changes,
    )
    steps = Steps()
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        eval_dataset=rows,
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
        compute_metrics=accuracy,
        callbacks=[steps],
    )
    return trainer, trainer.train(), steps.events


def figures(trainer):
    history = trainer.state.log_history
    keys = ("loss", "grad_norm", "learning_rate", "eval_loss", "eval_accuracy", "epoch")
    return [{key: float(row[key]) for key in keys if key in row} for row in history]


result = {}
trainer, done, events = train(
    "plain", num_train_epochs=2, eval_strategy="epoch", save_strategy="steps", save_steps=4
)
result["plain"] = {"log": figures(trainer), "steps": done.global_step, "events": events}
result["evaluation"] = trainer.evaluate()["eval_loss"]
predicted = trainer.predict(rows[:3])
result["predicted"] = predicted.predictions.tolist()
saved = sorted(os.listdir(folder / "plain" / "checkpoint-4"))
result["saved"] = [name for name in saved if name != "README.md"]
trainer, done, _ = train(
    "accumulated",
    max_steps=3,
    gradient_accumulation_steps=2,
    gradient_checkpointing=True,
    warmup_steps=1,
    lr_scheduler_type="cosine",
    label_smoothing_factor=0.1,
    max_grad_norm=0.5,
    save_strategy="no",
)
result["accumulated"] = figures(trainer)
trainer, done, _ = train("half", max_steps=2, bf16=True, optim="sgd", save_strategy="no")
result["half"] = figures(trainer)
model = fill(BertForSequenceClassification(config))
arguments = TrainingArguments(
    output_dir=str(folder / "plain"),
    per_device_train_batch_size=2,
    learning_rate=1e-3,
    num_train_epochs=2,
    logging_steps=1,
    report_to=[],
    disable_tqdm=True,
    use_cpu=True,
    seed=3,
    save_strategy="no",
)
trainer = Trainer(
    model=model,
    args=arguments,
    train_dataset=rows,
    data_collator=DataCollatorWithPadding(tokenizer),
    processing_class=tokenizer,
)
trainer.train(resume_from_checkpoint=str(folder / "plain" / "checkpoint-4"))
result["resumed"] = [row["loss"] for row in trainer.state.log_history if "loss" in row]

trainer.save_model(str(folder / "final"))
classify = pipeline("text-classification", model=str(folder / "final"), device="cpu")
result["pipeline"] = classify([text for text, _ in texts[:3]], top_k=None, batch_size=2)
result["first"] = classify("the film was not good")
features = pipeline("feature-extraction", model=trainer.model, tokenizer=tokenizer, device="cpu")
result["features"] = np.asarray(features("a good cat")).reshape(-1)[32:38].tolist()
fill_mask = pipeline(
    "fill-mask", model=fill(BertForMaskedLM(config)), tokenizer=tokenizer, device="cpu"
)
result["filled"] = [
    [one["token_str"], one["score"]] for one in fill_mask("the [MASK] was good", top_k=4)
]
print(json.dumps(result))
