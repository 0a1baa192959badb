"""botorch: a fitted Gaussian process, acquisition functions and their maxima (Sobol starts)."""

import json
import warnings

import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    UpperConfidenceBound,
    qExpectedImprovement,
)
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
TOLERANCE = {"*": (1e-3, 1e-4)}  # results of optimizers that stop at a tolerance of their own
torch.manual_seed(0)
x = torch.rand(8, 2, dtype=torch.double)
y = (x - 0.3).square().sum(1, keepdim=True).neg()
model = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
result = {"lengthscale": model.covar_module.lengthscale.flatten().tolist()}
posterior = model.posterior(torch.rand(3, 2, dtype=torch.double))
result["mean"] = posterior.mean.flatten().tolist()
result["variance"] = posterior.variance.flatten().tolist()
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
for name, acquisition in {
    "improvement": LogExpectedImprovement(model, y.max()),
    "bound": UpperConfidenceBound(model, 0.2),
    "sampled": qExpectedImprovement(model, y.max()),
}.items():
    torch.manual_seed(1)
    candidate, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=2, raw_samples=16)
    result[name] = [candidate.tolist(), value.item()]
print(json.dumps(result))
