"""skorch: classifier and regressor in pipelines and grids, callbacks, files, pickle, probes."""

import io
import json
import os
import pickle
import tempfile
import warnings

import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNet, NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import (
    Callback,
    Checkpoint,
    EarlyStopping,
    EpochScoring,
    Freezer,
    GradientNormClipping,
    LoadInitState,
    LRScheduler,
    ParamMapper,
    TrainEndCheckpoint,
)
from skorch.dataset import Dataset, ValidSplit
from skorch.helper import SliceDataset, predefined_split
from torch import nn

warnings.simplefilter("ignore")
folder = tempfile.mkdtemp()
iris = load_iris()
x, y = iris.data.astype(np.float32), iris.target.astype(np.int64)
order = np.random.default_rng(0).permutation(len(y))
x, y = x[order], y[order]
result = {}


class Net(nn.Module):
    """A perceptron."""

    def __init__(self, inputs=4, hidden=12, outputs=3, dropout=0.1):
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.BatchNorm1d(hidden)
        self.second = nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.second(self.dropout(self.norm(torch.relu(self.first(x)))))


def classifier(**more):
    settings = {
        "criterion": nn.CrossEntropyLoss,
        "optimizer": torch.optim.Adam,
        "optimizer__eps": 1e-3,  # else it amplifies what is only rounding
        "lr": 0.02,
        "max_epochs": 6,
        "batch_size": 16,
        "iterator_train__shuffle": True,
        "verbose": 0,
    }
    return NeuralNetClassifier(Net, **{**settings, **more})


torch.manual_seed(0)
net = classifier(
    callbacks=[
        EpochScoring("f1_macro", lower_is_better=False, name="f1"),
        LRScheduler(policy="StepLR", step_size=3, gamma=0.5),
        GradientNormClipping(1.0),
        Checkpoint(dirname=folder, monitor="valid_loss_best"),
        TrainEndCheckpoint(dirname=folder),
        EarlyStopping(patience=4),
    ]
)
net.fit(x, y)
result["train_loss"] = net.history[:, "train_loss"]
result["valid_loss"] = net.history[:, "valid_loss"]
result["f1"] = net.history[:, "f1"]
result["rates"] = net.history[:, "event_lr"]
result["best"] = [int(best) for best in net.history[:, "valid_loss_best"]]
result["proba"] = net.predict_proba(x[:4]).tolist()
result["score"] = float(net.score(x, y))
result["files"] = sorted(os.listdir(folder))
result["batches"] = len(net.history[0, "batches"])

# Everything that can be stored comes back.
again = classifier().initialize()
again.load_params(checkpoint=Checkpoint(dirname=folder))
result["checkpoint"] = again.predict_proba(x[:2]).tolist()
net.save_params(
    f_params=os.path.join(folder, "p.pt"),
    f_optimizer=os.path.join(folder, "o.pt"),
    f_history=os.path.join(folder, "h.json"),
    f_criterion=os.path.join(folder, "c.pt"),
)
other = classifier().initialize()
other.load_params(
    f_params=os.path.join(folder, "p.pt"),
    f_optimizer=os.path.join(folder, "o.pt"),
    f_history=os.path.join(folder, "h.json"),
    f_criterion=os.path.join(folder, "c.pt"),
)
result["restored"] = [
    float(np.abs(other.predict_proba(x) - net.predict_proba(x)).max()),
    len(other.history),
    float(other.optimizer_.state_dict()["state"][0]["step"]),
]
for one in (net, other):
    torch.manual_seed(3)
    one.partial_fit(x, y)
result["continued"] = [net.history[-1]["train_loss"], other.history[-1]["train_loss"]]
revived = pickle.loads(pickle.dumps(net))
result["pickled"] = float(np.abs(revived.predict_proba(x) - net.predict_proba(x)).max())
torch.manual_seed(4)
resumed = classifier(callbacks=[LoadInitState(Checkpoint(dirname=folder))], max_epochs=1).fit(x, y)
result["resumed"] = [len(resumed.history), resumed.history[-1]["train_loss"]]
result["clone"] = clone(net).get_params()["lr"]

# In scikit-learn's tools.
torch.manual_seed(1)
pipeline = Pipeline([("scale", StandardScaler()), ("net", classifier(train_split=None))])
grid = GridSearchCV(
    pipeline,
    {"net__lr": [0.01, 0.05], "net__module__hidden": [6, 12]},
    cv=3,
    scoring="neg_log_loss",
    refit=True,
)
grid.fit(x, y)
result["grid"] = grid.cv_results_["mean_test_score"].tolist()
result["grid_best"] = grid.best_params_
result["cross"] = cross_val_score(pipeline, x, y, cv=3).tolist()
result["predicted"] = np.bincount(cross_val_predict(pipeline, x, y, cv=3)).tolist()

# Regression with an own split, frozen and re-initialised parameters, a callback of ours.
diabetes = load_diabetes()
inputs = diabetes.data.astype(np.float32) * 20
targets = ((diabetes.target - 150) / 80).astype(np.float32)[:, None]


class Norms(Callback):
    """Keeps the norm of the gradients."""

    def on_train_begin(self, net, **kwargs):
        self.norms = []

    def on_grad_computed(self, net, named_parameters, **kwargs):
        self.norms.append(
            sum(float(p.grad.norm()) for _, p in named_parameters if p.grad is not None)
        )


torch.manual_seed(2)
regressor = NeuralNetRegressor(
    Net,
    module__inputs=10,
    module__outputs=1,
    optimizer=torch.optim.SGD,
    optimizer__momentum=0.9,
    optimizer__param_groups=[("second.*", {"lr": 0.003})],
    lr=0.01,
    max_epochs=5,
    batch_size=64,
    train_split=predefined_split(Dataset(inputs[:100], targets[:100])),
    callbacks=[("norms", Norms()), ("freeze", Freezer("norm.*"))],
    verbose=0,
)
regressor.fit(inputs[100:], targets[100:])
result["regression"] = regressor.history[:, ("train_loss", "valid_loss")]
result["norms"] = dict(regressor.callbacks_)["norms"].norms[:4]
result["frozen"] = [p.requires_grad for p in regressor.module_.parameters()]
result["r2"] = float(regressor.score(inputs[:100], targets[:100]))

torch.manual_seed(5)
binary = NeuralNetBinaryClassifier(
    Net,
    module__outputs=1,
    callbacks=[ParamMapper("first.*", at=2, fn=nn.init.zeros_)],
    train_split=ValidSplit(4, stratified=True),
    lr=0.1,
    max_epochs=4,
    verbose=0,
)
binary.fit(x, (y == 0).astype(np.float32))
result["binary"] = [binary.history[:, "valid_acc"], binary.predict_proba(x[:3]).tolist()]

# A data set of tensors, several forward passes, printing.
torch.manual_seed(6)
plain = NeuralNet(Net, criterion=nn.CrossEntropyLoss, max_epochs=2, verbose=0, train_split=None)
data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
plain.fit(data, y=None)
result["plain"] = plain.history[:, "train_loss"]
result["forward"] = plain.forward(torch.from_numpy(x[:2])).tolist()
result["iterated"] = [list(part.shape) for part in plain.forward_iter(data)]
result["sliced"] = [int(v) for v in SliceDataset(data, idx=1)[:5]]
text = io.StringIO()
printing = classifier(verbose=1, max_epochs=1)
printing.set_params(callbacks__print_log__sink=lambda line: text.write(str(line)))
printing.fit(x, y)
result["header"] = [w for w in text.getvalue().split() if w.isalpha() or "_" in w]
result["shown"] = str(printing.initialize()).splitlines()[0]
print(json.dumps(result))
