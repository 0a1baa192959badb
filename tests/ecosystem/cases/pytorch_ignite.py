"""pytorch-ignite: trainer and evaluator with metrics, running averages, a checkpoint, early end."""

import json
import tempfile

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, ModelCheckpoint
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, Precision, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
x, y = torch.randn(40, 6), torch.randint(0, 3, (40,))
loader = DataLoader(TensorDataset(x, y), 8, shuffle=True)
loss = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, torch.optim.Adam(model.parameters(), 0.01), loss)
RunningAverage(output_transform=lambda value: value).attach(trainer, "running")
evaluator = create_supervised_evaluator(
    model,
    {
        "accuracy": Accuracy(),
        "loss": Loss(loss),
        "precision": Precision(average=True),
        "confusion": ConfusionMatrix(3),
    },
)
history = []


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(loader)
    metrics = dict(evaluator.state.metrics, running=engine.state.metrics["running"])
    metrics["confusion"] = metrics["confusion"].tolist()
    history.append(metrics)


with tempfile.TemporaryDirectory() as folder:
    saver = ModelCheckpoint(folder, "best", n_saved=1, create_dir=True)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver, {"model": model})
    stop = EarlyStopping(1, lambda engine: -engine.state.metrics["loss"] // 10, trainer)
    evaluator.add_event_handler(Events.COMPLETED, stop)
    trainer.run(loader, 5)
    again = torch.load(saver.last_checkpoint)
same = all(torch.equal(again[name], value) for name, value in model.state_dict().items())
print(json.dumps({"history": history, "epochs": trainer.state.epoch, "saved": same}))
