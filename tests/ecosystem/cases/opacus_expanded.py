"""opacus: gradients per sample by expanded weights (`torch.nn.utils._expanded_weights`)."""

import json

import torch
from opacus.grad_sample import GradSampleModuleExpandedWeights
from torch import nn

torch.manual_seed(0)
layers = nn.Sequential(
    nn.Conv2d(1, 6, 3, padding=1),
    nn.GroupNorm(2, 6),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(6 * 64, 4),
)
module = GradSampleModuleExpandedWeights(layers)
images, labels = torch.rand(6, 1, 8, 8), torch.randint(0, 4, (6,))
nn.functional.cross_entropy(module(images), labels).backward()
result = {
    name: [list(p.grad_sample.shape), p.grad_sample.abs().sum().item(), p.grad_sample.norm().item()]
    for name, p in module.named_parameters()
}
print(json.dumps(result))
