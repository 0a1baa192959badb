"""PyTorch Lightning: the summary of a model, with its counts of operations."""

import json

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.model_summary import summarize
from torch import nn


class Model(pl.LightningModule):
    """A perceptron."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
        self.example_input_array = torch.zeros(2, 8)

    def forward(self, x):
        return self.net(x)


summary = summarize(Model(), max_depth=2)
result = {
    "parameters": summary.total_parameters,
    "names": summary.layer_names,
    "inputs": summary.in_sizes,
    "outputs": summary.out_sizes,
    "sizes": summary.param_nums,
    "operations": summary.total_flops,
}
print(json.dumps(result))
