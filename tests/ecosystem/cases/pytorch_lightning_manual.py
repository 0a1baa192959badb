"""PyTorch Lightning: manual optimisation with two optimizers, toggling, several loaders, Fabric."""

import json
import logging
import os
import tempfile
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
import pytorch_lightning as pl  # noqa: E402
from lightning_fabric import Fabric  # noqa: E402
from pytorch_lightning.callbacks import BaseFinetuning, LambdaCallback  # noqa: E402
from pytorch_lightning.loggers import CSVLogger  # noqa: E402
from pytorch_lightning.utilities import CombinedLoader, grad_norm  # noqa: E402

folder = tempfile.mkdtemp()
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
logging.getLogger("lightning_fabric").setLevel(logging.ERROR)
result = {}
quiet = {
    "accelerator": "cpu",
    "devices": 1,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "enable_checkpointing": False,
    "default_root_dir": folder,
}


class Adversaries(pl.LightningModule):
    """A generator against a critic, each with its optimizer and schedule."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.record = []

    def training_step(self, batch, index):
        (real,) = batch
        first, second = self.optimizers()
        noise = torch.randn(len(real), 4, device=self.device)

        self.toggle_optimizer(second)
        fake = self.generator(noise).detach()
        loss_critic = (
            nn.functional.softplus(-self.critic(real)) + nn.functional.softplus(self.critic(fake))
        ).mean()
        second.zero_grad()
        self.manual_backward(loss_critic)
        self.clip_gradients(second, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
        second.step()
        self.untoggle_optimizer(second)

        self.toggle_optimizer(first)
        flags = [p.requires_grad for p in self.critic.parameters()]
        loss_generator = nn.functional.softplus(-self.critic(self.generator(noise))).mean()
        first.zero_grad()
        self.manual_backward(loss_generator)
        norms = grad_norm(self.generator, norm_type=2)
        first.step()
        self.untoggle_optimizer(first)
        self.record.append([loss_critic.item(), loss_generator.item(), *map(float, norms.values())])
        self.log("critic", loss_critic)
        self.flags = flags

    def on_train_epoch_end(self):
        for schedule in self.lr_schedulers():
            schedule.step()

    def configure_optimizers(self):
        first = torch.optim.Adam(self.generator.parameters(), lr=0.01, betas=(0.5, 0.999))
        second = torch.optim.RMSprop(self.critic.parameters(), lr=0.01)
        schedules = [torch.optim.lr_scheduler.ExponentialLR(one, 0.5) for one in (first, second)]
        return [first, second], schedules


pl.seed_everything(3)
points = torch.randn(64, 2) * 0.2 + torch.tensor([1.0, -1.0])
model = Adversaries()
trainer = pl.Trainer(max_epochs=3, logger=False, **quiet)
trainer.fit(model, DataLoader(TensorDataset(points), 16, shuffle=True))
result["record"] = model.record
result["flags"] = model.flags
result["rates"] = [one.param_groups[0]["lr"] for one in trainer.optimizers]
result["steps"] = trainer.global_step


# Layers that are unfrozen later; several loaders; hooks of the loop; LBFGS with its closure.
class Finetuned(pl.LightningModule):
    """A backbone and a head."""

    def __init__(self, optimizer="sgd"):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(2, 8), nn.Tanh())
        self.head = nn.Linear(8, 1)
        self.kind = optimizer
        self.losses = []

    def forward(self, x):
        return self.head(self.backbone(x))

    def training_step(self, batch, index):
        if isinstance(batch, dict):
            batch = torch.cat([batch["a"][0], batch["b"][0]])
        else:
            batch = batch[0]
        loss = (self(batch) - batch.prod(1, keepdim=True)).square().mean()
        self.losses.append(loss.item())
        return {"loss": loss, "size": len(batch)}

    def validation_step(self, batch, index, dataloader_idx=0):
        self.log("error", (self(batch[0]) - batch[0].prod(1, keepdim=True)).abs().mean())

    def configure_optimizers(self):
        trainable = [p for p in self.parameters() if p.requires_grad]
        if self.kind == "lbfgs":
            return torch.optim.LBFGS(trainable, lr=0.2, max_iter=4)
        optimizer = torch.optim.SGD(trainable, lr=0.05, momentum=0.9)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": plateau, "monitor": "error/dataloader_idx_1"},
        }


class Thaw(BaseFinetuning):
    """Trains the backbone from the second epoch on."""

    def freeze_before_training(self, module):
        self.freeze(module.backbone)

    def finetune_function(self, module, epoch, optimizer):
        if epoch == 1:
            self.unfreeze_and_add_param_group(module.backbone, optimizer, lr=0.01)


def loader(size, batch_size):
    return DataLoader(TensorDataset(points[:size]), batch_size)


pl.seed_everything(4)
model = Finetuned()
called = []
callback = LambdaCallback(
    on_train_batch_end=lambda trainer, module, out, batch, index: called.append(out["size"])
)
trainer = pl.Trainer(
    max_epochs=4,
    logger=CSVLogger(folder),
    callbacks=[Thaw(), callback],
    log_every_n_steps=1,
    **quiet,
)
trainer.fit(
    model,
    CombinedLoader({"a": loader(40, 16), "b": loader(20, 8)}, "max_size_cycle"),
    [loader(32, 16), loader(64, 32)],
)
result["finetuned"] = model.losses
result["sizes"] = called
result["errors"] = {name: float(value) for name, value in trainer.callback_metrics.items()}
result["groups"] = [[len(g["params"]), g["lr"]] for g in trainer.optimizers[0].param_groups]

pl.seed_everything(5)
model = Finetuned("lbfgs")
trainer = pl.Trainer(max_epochs=2, logger=False, **quiet)
trainer.fit(model, loader(64, 64))
result["lbfgs"] = model.losses

# Fabric: a loop of one's own.
fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
fabric.launch()
fabric.seed_everything(6)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
net, optimizer = fabric.setup(net, torch.optim.Adam(net.parameters(), lr=0.02))
data = fabric.setup_dataloaders(loader(64, 16))
losses = []
for _ in range(3):
    for (batch,) in data:
        loss = (net(batch) - batch.prod(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        fabric.backward(loss)
        fabric.clip_gradients(net, optimizer, max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
result["fabric"] = losses
path = os.path.join(folder, "state.ckpt")
fabric.save(path, {"net": net, "optimizer": optimizer, "step": 3})
state = {"net": net, "optimizer": optimizer, "step": 0}
fabric.load(path, state)
result["fabric_step"] = state["step"]

TOLERANCE = {"*": (1e-3, 1e-4), "fabric": (3e-2, 1e-2)}
print(json.dumps(result))
