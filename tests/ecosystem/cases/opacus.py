"""opacus: differentially private training, gradients per sample, accountants, validation."""

import functools
import json
import logging
import os
import tempfile
import warnings

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.layers import DPGRU, DPLSTM, DPMultiheadAttention
from opacus.schedulers import ExponentialGradClip, ExponentialNoise
from opacus.utils.batch_memory_manager import BatchMemoryManager
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
result = {}


class Convolutional(nn.Module):
    """A small network for 8 x 8 images."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.norm = nn.GroupNorm(2, 6)
        self.conv2 = nn.Conv2d(6, 8, 3, stride=2)
        self.fc = nn.Linear(8 * 9, 4)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv1(x)))
        return self.fc(torch.tanh(self.conv2(x)).flatten(1))


class Recurrent(nn.Module):
    """Embedding, LSTM of the package, normalisation, a head."""

    def __init__(self, kind=DPLSTM):
        super().__init__()
        self.embedding = nn.Embedding(12, 6)
        self.rnn = kind(6, 7, batch_first=True)
        self.norm = nn.LayerNorm(7)
        self.head = nn.Linear(7, 4)

    def forward(self, words):
        out, _ = self.rnn(self.embedding(words))
        return self.head(self.norm(out[:, -1]))


class Attentive(nn.Module):
    """Attention of the package."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 8)
        self.attention = DPMultiheadAttention(8, 2)
        self.head = nn.Linear(8, 4)

    def forward(self, words):
        x = self.embedding(words).transpose(0, 1)
        x = x + self.attention(x, x, x)[0]
        return self.head(x.mean(0))


torch.manual_seed(0)
images, words = torch.rand(48, 1, 8, 8), torch.randint(0, 12, (48, 5))
labels = torch.randint(0, 4, (48,))
criterion = nn.CrossEntropyLoss()

# Gradients per sample: by the package's rules, by functorch, by expanded weights, one at a time.
for name, make, inputs in (
    ("convolutional", Convolutional, images),
    ("lstm", Recurrent, words),
    ("gru", lambda: Recurrent(DPGRU), words),
    ("attention", Attentive, words),
):
    torch.manual_seed(1)
    model = make()
    state = model.state_dict()
    found = {}
    for mode in ("hooks", "functorch", "ew"):
        if mode == "ew" and name != "convolutional":
            continue
        torch.manual_seed(1)
        module = make()
        module.load_state_dict(state)
        if mode == "functorch":
            module = GradSampleModule(module, force_functorch=True)
        elif mode == "hooks":
            module = GradSampleModule(module)
        else:
            from opacus.grad_sample import GradSampleModuleExpandedWeights

            module = GradSampleModuleExpandedWeights(module)
        criterion(module(inputs[:6]), labels[:6]).backward()
        parameters = dict(module.named_parameters())
        found[mode] = {n.removeprefix("_module."): p.grad_sample for n, p in parameters.items()}
        if mode == "hooks":
            result[name] = {
                n: [list(g.shape), g.sum().item(), g.norm().item(), *g[2].flatten()[:4].tolist()]
                for n, g in found[mode].items()
            }
    for mode in found:
        gaps = [(found[mode][n] - g).abs().max().item() for n, g in found["hooks"].items()]
        result[f"{name}_{mode}_same"] = max(gaps) < 1e-5


def train(make, inputs, epochs=2, schedules=(), virtual=None, **settings):
    """Losses, the budget spent, the weights."""
    torch.manual_seed(2)
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=12)
    engine = PrivacyEngine(accountant=settings.pop("accountant", "rdp"))
    start = engine.make_private
    if "target_epsilon" in settings:
        start = functools.partial(engine.make_private_with_epsilon, epochs=epochs)
    outcome = start(module=model, optimizer=optimizer, data_loader=loader, **settings)
    loss_function = criterion
    if settings.get("grad_sample_mode") == "ghost":
        model, optimizer, loss_function, loader = outcome
    else:
        model, optimizer, loader = outcome
    schedules = [schedule(optimizer) for schedule in schedules]
    losses, sizes = [], []
    for _ in range(epochs):
        batches = loader
        if virtual:
            with BatchMemoryManager(
                data_loader=loader, max_physical_batch_size=virtual, optimizer=optimizer
            ) as batches:
                for x, y in batches:
                    optimizer.zero_grad()
                    loss = loss_function(model(x), y)
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
                    sizes.append(len(x))
            continue
        for x, y in batches:
            optimizer.zero_grad()
            loss = loss_function(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.item()))
            sizes.append(len(x))
        for schedule in schedules:
            schedule.step()
    return {
        "losses": losses,
        "sizes": sizes,
        "epsilon": engine.get_epsilon(1e-3),
        "weights": sum(p.detach().abs().sum() for p in model.parameters()).item(),
        "noise": float(optimizer.noise_multiplier),
    }, (model, optimizer, engine)


plain = {"noise_multiplier": 1.0, "max_grad_norm": 1.0}
result["train_flat"], kept = train(Convolutional, images, **plain)
result["train_uniform"], _ = train(Convolutional, images, poisson_sampling=False, **plain)
result["train_lstm"], _ = train(Recurrent, words, **plain)
result["train_per_layer"], _ = train(
    Convolutional, images, noise_multiplier=0.8, clipping="per_layer", max_grad_norm=[0.5] * 8
)
result["train_adaptive"], _ = train(
    Convolutional,
    images,
    clipping="adaptive",
    target_unclipped_quantile=0.5,
    clipbound_learning_rate=0.2,
    max_clipbound=10,
    min_clipbound=0.05,
    unclipped_num_std=1.0,
    **plain,
)
result["train_functorch"], _ = train(Convolutional, images, grad_sample_mode="functorch", **plain)
result["train_ew"], _ = train(
    Convolutional, images, grad_sample_mode="ew", poisson_sampling=False, **plain
)
result["train_ghost"], _ = train(
    Convolutional, images, grad_sample_mode="ghost", criterion=criterion, **plain
)
result["train_epsilon"], _ = train(
    Convolutional, images, target_epsilon=4.0, target_delta=1e-3, epochs=2, max_grad_norm=1.0
)
result["train_virtual"], _ = train(Convolutional, images, virtual=5, **plain)
result["train_scheduled"], _ = train(
    Convolutional,
    images,
    schedules=(
        lambda o: ExponentialNoise(o, gamma=0.8),
        lambda o: ExponentialGradClip(o, gamma=0.9),
    ),
    **plain,
)

# What an engine stores.
model, optimizer, engine = kept
path = os.path.join(tempfile.mkdtemp(), "private.pt")
engine.save_checkpoint(path=path, module=model, optimizer=optimizer)
fresh = PrivacyEngine(accountant="rdp")
net = Convolutional()
again, optimizer2, _ = fresh.make_private(
    module=net,
    optimizer=torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
    data_loader=DataLoader(TensorDataset(images, labels), batch_size=12),
    **plain,
)
fresh.load_checkpoint(path=path, module=again, optimizer=optimizer2)
result["loaded"] = [
    fresh.get_epsilon(1e-3),
    max((p - q).abs().max().item() for p, q in zip(model.parameters(), again.parameters())),
]

# Accountants and the validator.
for kind in (RDPAccountant, PRVAccountant, GaussianAccountant):
    accountant = kind()
    for _ in range(20):
        accountant.step(noise_multiplier=1.1, sample_rate=0.02)
    result[kind.__name__] = accountant.get_epsilon(1e-5)
result["multiplier"] = get_noise_multiplier(
    target_epsilon=3.0, target_delta=1e-5, sample_rate=0.02, epochs=3
)
refused = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2))
result["errors"] = [type(e).__name__ for e in ModuleValidator.validate(refused, strict=False)]
fixed = ModuleValidator.fix(refused)
result["fixed"] = [type(layer).__name__ for layer in fixed]
result["valid"] = ModuleValidator.is_valid(fixed)
try:
    PrivacyEngine().make_private(
        module=refused,
        optimizer=torch.optim.SGD(refused.parameters(), lr=0.1),
        data_loader=DataLoader(TensorDataset(images, labels), batch_size=12),
        **plain,
    )
except Exception as error:
    result["error"] = type(error).__name__

TOLERANCE = {"*": (1e-3, 1e-4)}
print(json.dumps(result))
