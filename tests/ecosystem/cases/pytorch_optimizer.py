"""pytorch-optimizer: a few steps with each of its optimizers (over a hundred)."""

import json
import warnings

import pytorch_optimizer
import torch

warnings.simplefilter("ignore")
# It takes signs in a basis of eigenvectors, some of numbers that are zero but for rounding.
TOLERANCE = {"splus*": (1e-3, 1e-4)}


def follow(make):
    """Losses of four steps."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    x, y = torch.randn(10, 8), torch.randn(10, 4)
    optimizer = make(model.parameters())
    if hasattr(optimizer, "train"):
        optimizer.train()
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


result = {}
for name in sorted(pytorch_optimizer.get_supported_optimizers()):
    try:
        result[name] = follow(pytorch_optimizer.load_optimizer(name))
    except Exception as error:  # those that want a graph, a closure, a model, another package
        result[name] = type(error).__name__
print(json.dumps(result))
