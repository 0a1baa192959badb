"""accelerate: a loop is prepared, accumulates, clips, is saved, goes on; modules load in pieces."""

import json
import os
import tempfile

import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch
from accelerate.state import AcceleratorState, GradientState
from accelerate.utils import (
    ProjectConfiguration,
    compute_module_sizes,
    extract_model_from_parallel,
    find_tied_parameters,
    infer_auto_device_map,
    set_seed,
)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

# One rounding of bfloat16, whose sums the two sides add in different orders.
TOLERANCE = {"bf16*": (4e-3, 1e-4)}


def network():
    """Weights from arithmetic, so that no generator has a part in the figures."""
    model = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
    with torch.no_grad():
        for index, (_, value) in enumerate(sorted(model.named_parameters())):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            value.copy_(0.4 * wave.reshape(value.shape))
    return model


inputs = torch.sin(torch.arange(42 * 6).reshape(42, 6) * 0.37)
targets = torch.arange(42) % 3
result = {}


def train(steps=None, precision="no", **options):
    """One epoch (or some steps of it); the accelerator with all that was prepared."""
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    accelerator = Accelerator(cpu=True, mixed_precision=precision, **options)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=8)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    figures = {"losses": [], "norms": [], "rates": [], "synchronized": []}
    run(accelerator, model, optimizer, loader, schedule, figures, steps)
    return accelerator, model, optimizer, loader, schedule, figures


def run(accelerator, model, optimizer, loader, schedule, figures, steps=None):
    """Trains with what was prepared."""
    for index, (batch, labels) in enumerate(loader):
        if index == steps:
            break
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(batch).float(), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norm = accelerator.clip_grad_norm_(model.parameters(), 0.5)
                figures["norms"].append(float(norm))
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        figures["losses"].append(loss.item())
        figures["rates"].append(schedule.get_last_lr()[0])
        figures["synchronized"].append(accelerator.sync_gradients)


def weights(model):
    """A few figures of every parameter."""
    return {name: value.flatten()[:4].tolist() for name, value in model.state_dict().items()}


set_seed(3)
accelerator, model, *_, figures = train()
figures["weights"] = weights(accelerator.unwrap_model(model))
figures["state"] = [
    str(accelerator.device),
    accelerator.num_processes,
    accelerator.is_main_process,
    str(accelerator.distributed_type),
    type(extract_model_from_parallel(model)).__name__,
]
result["plain"] = figures

accelerator, model, *_, figures = train(gradient_accumulation_steps=3)
figures["weights"] = weights(model)
result["accumulate"] = figures

accelerator, model, optimizer, *_, figures = train(precision="bf16")
with torch.no_grad():
    figures["logits"] = model(inputs[:2]).tolist()
    with accelerator.autocast():
        figures["inside"] = str((inputs @ inputs.T).dtype)
    figures["unwrapped"] = accelerator.unwrap_model(model, False)(inputs[:2]).tolist()
result["bf16"] = figures

# The state after two steps, saved; what went on from it equals what goes on after loading it.
folder = tempfile.mkdtemp()
project = ProjectConfiguration(project_dir=folder, automatic_checkpoint_naming=True, total_limit=2)
accelerator, model, optimizer, loader, schedule, figures = train(2, project_config=project)
for _ in range(3):
    saved = accelerator.save_state()
figures["files"] = sorted(os.listdir(saved))
figures["kept"] = sorted(os.listdir(os.path.join(folder, "checkpoints")))
on, again = ({"losses": [], "norms": [], "rates": [], "synchronized": []} for _ in range(2))
run(accelerator, model, optimizer, loader, schedule, on)
accelerator.load_state(saved)
run(accelerator, model, optimizer, loader, schedule, again)
figures["on"] = on
figures["again"] = on == again
rest = accelerator.skip_first_batches(loader, 4)
figures["rest"] = [len(labels) for _, labels in rest]
result["state"] = figures

# Collectives of one process, and a metric over a last batch that is not whole.
gathered = []
for batch, labels in loader:
    with torch.no_grad():
        found = model(batch).argmax(-1)
    gathered.append(accelerator.gather_for_metrics((found, labels)))
right = torch.cat([found == labels for found, labels in gathered])
result["gather"] = {
    "rows": len(right),
    "right": int(right.sum()),
    "reduce": accelerator.reduce(torch.tensor([1.0, 2.0]), reduction="sum").tolist(),
    "pad": list(accelerator.pad_across_processes(torch.ones(2, 3), dim=1).shape),
}
accelerator.save_model(model, os.path.join(folder, "model"), max_shard_size="0.4KB")

# A module without storage takes its weights from the pieces.
with init_empty_weights():
    empty = network()
figures = result["pieces"] = {
    "meta": sorted({str(value.device) for value in empty.parameters()}),
    "sizes": dict(sorted(compute_module_sizes(empty).items())),
    "files": sorted(os.listdir(os.path.join(folder, "model"))),
    "map": dict(infer_auto_device_map(empty, max_memory={"cpu": 10**6})),
}
whole = load_checkpoint_and_dispatch(empty, os.path.join(folder, "model"), device_map={"": "cpu"})
with torch.no_grad():
    figures["equal"] = bool(torch.equal(whole(inputs), accelerator.unwrap_model(model)(inputs)))
tied = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
tied["b"].weight = tied["a"].weight
figures["tied"] = find_tied_parameters(tied)
print(json.dumps(result))
