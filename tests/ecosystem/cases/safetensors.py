"""safetensors: save and load dtypes, shared tensors, slices, a model's weights."""

import json
import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
folder = tempfile.mkdtemp()
path = os.path.join(folder, "all.safetensors")
numbers = torch.arange(24.0).reshape(4, 6) / 7 - 1
tensors = {
    str(dtype).removeprefix("torch."): (numbers * 10).to(dtype)
    for dtype in (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
        torch.complex64,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
    )
}
tensors["scalar"] = torch.tensor(2.5)
tensors["empty"] = torch.zeros(0, 3)
save_file(tensors, path, metadata={"format": "pt", "made": "here"})
loaded = load_file(path)
result = {
    "size": os.path.getsize(path),
    "names": sorted(loaded),
    "dtypes": [str(loaded[name].dtype) for name in sorted(loaded)],
    "equal": [
        bool(torch.equal(loaded[name].float(), tensors[name].float()))
        for name in sorted(loaded)
        if not loaded[name].is_complex()
    ],
    "sums": {name: float(abs(value.cfloat()).sum()) for name, value in loaded.items()},
}

with safe_open(path, framework="pt", device="cpu") as file:
    part = file.get_slice("float32")
    result["metadata"] = file.metadata()
    result["slice_shape"] = part.get_shape()
    result["slice"] = part[1:3, 2:].tolist()
    result["row"] = file.get_tensor("bfloat16")[2].tolist()

data = save({"a": numbers, "b": torch.arange(5)})
result["bytes"] = len(data)
result["from_bytes"] = {name: value.sum().item() for name, value in load(data).items()}


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 4)
        self.head = torch.nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight
        self.norm = torch.nn.BatchNorm1d(7)

    def forward(self, tokens):
        return self.norm(self.head(self.embedding(tokens)))


model = Tied()
tokens = torch.tensor([0, 3, 5, 6])
model(tokens).pow(2).sum().backward()
path = os.path.join(folder, "model.safetensors")
save_model(model, path)
other = Tied()
missing, unexpected = load_model(other, path)
result["missing"] = [sorted(missing), sorted(unexpected)]
result["same_output"] = bool(torch.equal(model.eval()(tokens), other.eval()(tokens)))
result["output"] = other(tokens).flatten().tolist()
try:
    save_file({"x": numbers, "y": numbers[:2]}, path)
except RuntimeError as error:
    result["shared"] = str(error)[:60]
try:
    save_file({"x": numbers.t()}, path)
except ValueError as error:
    result["strided"] = str(error)[:60]
try:
    load_model(torch.nn.Linear(2, 2), os.path.join(folder, "model.safetensors"))
except Exception as error:
    result["wrong_model"] = type(error).__name__

print(json.dumps(result))
