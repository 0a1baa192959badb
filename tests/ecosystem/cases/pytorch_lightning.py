"""PyTorch Lightning: fit, validate, test and predict with a data module, callbacks and resuming."""

import csv
import json
import logging
import os
import tempfile
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
import pytorch_lightning as pl  # noqa: E402
from pytorch_lightning.callbacks import (  # noqa: E402
    Callback,
    EarlyStopping,
    GradientAccumulationScheduler,
    LearningRateMonitor,
    ModelCheckpoint,
    StochasticWeightAveraging,
    Timer,
)
from pytorch_lightning.loggers import CSVLogger  # noqa: E402
from pytorch_lightning.utilities.model_summary import summarize  # noqa: E402

folder = tempfile.mkdtemp()
result = {}
quiet = {
    "accelerator": "cpu",
    "devices": 1,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "default_root_dir": folder,
    "num_sanity_val_steps": 1,
}


class Data(pl.LightningDataModule):
    """Two noisy classes."""

    def __init__(self, size=120, batch_size=16):
        super().__init__()
        self.save_hyperparameters()
        self.stages = []

    def setup(self, stage):
        self.stages.append(stage)
        generator = torch.Generator().manual_seed(5)
        x = torch.randn(self.hparams.size, 8, generator=generator)
        y = (x[:, :3].sum(1) + 0.3 * torch.randn(len(x), generator=generator) > 0).long()
        parts = random_split(TensorDataset(x, y), [0.6, 0.2, 0.2], generator=generator)
        self.train, self.valid, self.test = parts

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.hparams.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.valid, batch_size=self.hparams.batch_size)

    def test_dataloader(self):
        return DataLoader(self.test, batch_size=self.hparams.batch_size)

    predict_dataloader = test_dataloader


class Model(pl.LightningModule):
    """A classifier."""

    def __init__(self, width=16, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Linear(8, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 2)
        )
        self.example_input_array = torch.zeros(2, 8)
        self.dtypes = set()

    def forward(self, x):
        return self.net(x)

    def step(self, batch, name):
        logits = self(batch[0])
        self.dtypes.add(str(logits.dtype))
        loss = nn.functional.cross_entropy(logits, batch[1])
        accuracy = (logits.argmax(1) == batch[1]).float().mean()
        self.log_dict(
            {f"{name}_loss": loss, f"{name}_acc": accuracy},
            on_epoch=True,
            on_step=name == "train",
            prog_bar=True,
        )
        return loss

    def training_step(self, batch, index):
        return self.step(batch, "train")

    def validation_step(self, batch, index):
        return self.step(batch, "val")

    def test_step(self, batch, index):
        self.step(batch, "test")

    def predict_step(self, batch, index):
        return self(batch[0]).softmax(1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, eps=1e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=40)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class Notes(Callback):
    """Writes down hooks and gradients' norms."""

    def __init__(self):
        self.hooks, self.norms = [], []

    def on_fit_start(self, trainer, module):
        self.hooks.append("fit_start")

    def on_before_optimizer_step(self, trainer, module, optimizer):
        self.norms.append(sum(p.grad.norm() for p in module.parameters()).item())

    def on_train_epoch_end(self, trainer, module):
        self.hooks.append(f"epoch {trainer.current_epoch} step {trainer.global_step}")

    def state_dict(self):
        return {"hooks": self.hooks}

    def load_state_dict(self, state):
        self.hooks = state["hooks"]


def numbers(metrics):
    return {name: float(value) for name, value in sorted(metrics.items())}


pl.seed_everything(7)
notes, data, model = Notes(), Data(), Model()
best = ModelCheckpoint(
    dirpath=os.path.join(folder, "best"),
    monitor="val_loss",
    save_top_k=2,
    save_last=True,
    filename="{epoch}-{step}",
)
trainer = pl.Trainer(
    max_epochs=5,
    logger=CSVLogger(folder, name="csv"),
    callbacks=[notes, best, LearningRateMonitor("step"), EarlyStopping("val_loss", patience=3)],
    gradient_clip_val=0.5,
    log_every_n_steps=2,
    **quiet,
)
trainer.fit(model, datamodule=data)
result["fit"] = numbers(trainer.callback_metrics)
result["hooks"] = notes.hooks
result["norms"] = notes.norms[:6]
result["best"] = [float(best.best_model_score), os.path.basename(best.best_model_path)]
result["kept"] = sorted(os.listdir(best.dirpath))
result["validate"] = numbers(trainer.validate(model, data, verbose=False)[0])
result["test"] = numbers(
    trainer.test(model, data, ckpt_path="best", verbose=False, weights_only=False)[0]
)
predictions = torch.cat(trainer.predict(model, data))
result["predict"] = [list(predictions.shape), predictions[:3].flatten().tolist()]
with open(os.path.join(trainer.logger.log_dir, "metrics.csv")) as file:
    rows = list(csv.DictReader(file))
result["csv"] = [len(rows), sorted(rows[0])]
result["rates"] = [float(row["lr-AdamW"]) for row in rows if row["lr-AdamW"]][:5]
result["stages"] = [str(stage) for stage in data.stages]

# The file, and models made from it.
content = torch.load(best.best_model_path, weights_only=False)
result["checkpoint"] = {
    "keys": sorted(content),
    "epoch": content["epoch"],
    "step": content["global_step"],
    "hyper_parameters": dict(content["hyper_parameters"]),
    "states": sorted(content["callbacks"]),
    "weights": {name: list(w.shape) for name, w in content["state_dict"].items()},
}
loaded = Model.load_from_checkpoint(best.best_model_path, lr=0.1, weights_only=False)
result["loaded"] = [loaded.hparams.lr, loaded.hparams.width, loaded.net[0].weight.sum().item()]
summary = summarize(model, max_depth=2)
result["summary"] = [
    summary.total_parameters,
    summary.layer_names,
    summary.in_sizes,
    summary.param_nums,
]

# Three epochs, then two more from the file: the same as five at once.
weights = []
for pause in (False, True):
    pl.seed_everything(11)
    model, data = Model(), Data()
    data.train_dataloader = lambda data=data: DataLoader(data.train, batch_size=16)
    if pause:
        short = pl.Trainer(max_epochs=3, logger=False, enable_checkpointing=False, **quiet)
        short.fit(model, datamodule=data)
        path = os.path.join(folder, "pause.ckpt")
        short.save_checkpoint(path)
        model = Model()
    trainer = pl.Trainer(max_epochs=5, logger=False, enable_checkpointing=False, **quiet)
    trainer.fit(model, datamodule=data, ckpt_path=path if pause else None, weights_only=False)
    weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    result["resumed" if pause else "whole"] = [trainer.global_step, weights[-1].abs().sum().item()]
result["resume_difference"] = (weights[0] - weights[1]).abs().max().item()

# Precision, accumulation, averaging, limits.
for name, settings in {
    "bf16": {"precision": "bf16-mixed", "max_epochs": 2},
    "bf16-true": {"precision": "bf16-true", "max_epochs": 1},
    "double": {"precision": "64-true", "max_epochs": 1},
    "accumulate": {"accumulate_grad_batches": 2, "max_epochs": 2},
    "schedule": {"callbacks": [GradientAccumulationScheduler({0: 1, 1: 3})], "max_epochs": 2},
    "average": {"callbacks": [StochasticWeightAveraging(1e-2, 1)], "max_epochs": 3},
    "limits": {"limit_train_batches": 3, "limit_val_batches": 0.5, "max_steps": 5},
    "clip_value": {"gradient_clip_val": 0.01, "gradient_clip_algorithm": "value", "max_epochs": 1},
    "fast": {"fast_dev_run": 2},
    "often": {"val_check_interval": 2, "max_epochs": 1},
    "anomaly": {
        "detect_anomaly": True,
        "max_steps": 2,
        "callbacks": [Timer(duration={"hours": 1})],
    },
}.items():
    pl.seed_everything(13)
    model = Model()
    trainer = pl.Trainer(logger=False, enable_checkpointing=False, **{**quiet, **settings})
    trainer.fit(model, datamodule=Data())
    result[name] = {
        "dtypes": sorted(model.dtypes),
        "steps": trainer.global_step,
        "metrics": numbers(trainer.callback_metrics),
        "weights": sum(p.double().abs().sum() for p in model.parameters()).item(),
        "dtype": str(model.net[0].weight.dtype),
    }

# Rounded steps drift apart over a few epochs; half precision soonest.
TOLERANCE = {
    "*": (1e-3, 1e-4),
    "bf16*": (2e-2, 2e-2),
}
print(json.dumps(result))
