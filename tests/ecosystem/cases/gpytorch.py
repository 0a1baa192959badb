"""gpytorch: exact and variational Gaussian processes, trained and asked for predictions."""

import json
import math

import gpytorch
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import (
    AdditiveKernel,
    CosineKernel,
    LinearKernel,
    MaternKernel,
    MultitaskKernel,
    PeriodicKernel,
    PolynomialKernel,
    ProductKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
    SpectralMixtureKernel,
)

torch.manual_seed(0)
out = {}
TOLERANCE = {"iterative*": (1e-3, 1e-4), "*trained*": (1e-3, 1e-4)}


def numbers(tensor):
    return tensor.detach().double().reshape(-1).tolist()


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


x = torch.linspace(0, 1, 40)
y = torch.sin(x * (2 * math.pi)) + torch.randn(x.size()) * math.sqrt(0.04)
test_x = torch.linspace(0, 1.2, 9)


def exact(name, kernel, steps, dtype=torch.float32):
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(dtype)
    model = Exact(x.to(dtype), y.to(dtype), likelihood, kernel).to(dtype)
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -objective(model(x.to(dtype)), y.to(dtype))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    out[name + "_losses"] = losses[::4]
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        predicted = likelihood(model(test_x.to(dtype)))
        lower, upper = predicted.confidence_region()
    out[name + "_trained_mean"] = numbers(predicted.mean)
    out[name + "_trained_variance"] = numbers(predicted.variance)
    out[name + "_trained_band"] = [lower.sum().item(), upper.sum().item()]
    return model


model = exact("rbf", ScaleKernel(RBFKernel()), 20)
out["rbf_trained_parameters"] = {n: numbers(p) for n, p in model.named_parameters()}
out["rbf_state"] = sorted(model.state_dict())
exact("matern", ScaleKernel(MaternKernel(nu=2.5)), 8, torch.float64)
exact("sum", ScaleKernel(PeriodicKernel()) + LinearKernel() * RQKernel(), 8, torch.float64)
mixture = SpectralMixtureKernel(num_mixtures=3)
mixture.initialize_from_data(x, y)
exact("mixture", mixture, 8, torch.float64)
with gpytorch.settings.max_cholesky_size(1), gpytorch.settings.cg_tolerance(1e-4):
    exact("iterative", ScaleKernel(RBFKernel()), 5, torch.float64)

# Kernels by themselves: values and the gradient of the inputs.
points = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
for name, kernel in {
    "rbf_ard": RBFKernel(ard_num_dims=3),
    "matern12": MaternKernel(nu=0.5),
    "matern32": MaternKernel(nu=1.5),
    "rq": RQKernel(),
    "periodic": PeriodicKernel(),
    "cosine": CosineKernel(),
    "linear": LinearKernel(),
    "polynomial": PolynomialKernel(power=2),
    "additive": AdditiveKernel(RBFKernel(active_dims=(0,)), RBFKernel(active_dims=(1, 2))),
    "product": ProductKernel(RBFKernel(), LinearKernel()),
}.items():
    values = kernel.double()(points).to_dense()
    out["kernel_" + name] = numbers(values[0])
    weights = torch.arange(25.0, dtype=torch.float64).reshape(5, 5)
    out["kernel_grad_" + name] = numbers(torch.autograd.grad((values * weights).sum(), points)[0])


# Several tasks at once.
class Multitask(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
        self.covar_module = MultitaskKernel(RBFKernel(), num_tasks=2, rank=1)

    def forward(self, x):
        return gpytorch.distributions.MultitaskMultivariateNormal(
            self.mean_module(x), self.covar_module(x)
        )


both = torch.stack([torch.sin(6 * x), torch.cos(6 * x)], -1) + 0.1 * torch.randn(40, 2)
likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
model = Multitask(x.double(), both.double(), likelihood.double()).double()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = -objective(model(x.double()), both.double())
    loss.backward()
    losses.append(loss.item())
    optimizer.step()
out["multitask_losses"] = losses
model.eval()
likelihood.eval()
with torch.no_grad():
    out["multitask_trained"] = numbers(likelihood(model(test_x.double())).mean)


# Variational: inducing points, mini-batches, a Bernoulli likelihood.
class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(inducing.size(0))
        super().__init__(
            gpytorch.variational.VariationalStrategy(
                self, inducing, distribution, learn_inducing_locations=True
            )
        )
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = ScaleKernel(RBFKernel())

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


def variational(name, likelihood, target, objective_class, steps=8):
    model = Variational(x[::5].double()).double().train()
    likelihood.double().train()
    parameters = [*model.parameters(), *likelihood.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.05)
    objective = objective_class(likelihood, model, num_data=target.numel())
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x.double(), target.double()), batch_size=20, shuffle=True
    )
    losses = []
    for _ in range(steps):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = -objective(model(inputs), targets)
            loss.backward()
            losses.append(loss.item())
            optimizer.step()
    out[name + "_trained_losses"] = losses
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        predicted = likelihood(model(test_x.double()))
    out[name + "_trained_mean"] = numbers(predicted.mean)


variational("elbo", gpytorch.likelihoods.GaussianLikelihood(), y, gpytorch.mlls.VariationalELBO)
variational(
    "predictive",
    gpytorch.likelihoods.GaussianLikelihood(),
    y,
    gpytorch.mlls.PredictiveLogLikelihood,
)
variational(
    "bernoulli",
    gpytorch.likelihoods.BernoulliLikelihood(),
    (y > 0).float(),
    gpytorch.mlls.VariationalELBO,
)

# Priors, constraints, sampling.
kernel = ScaleKernel(
    RBFKernel(
        lengthscale_prior=gpytorch.priors.GammaPrior(3.0, 6.0),
        lengthscale_constraint=gpytorch.constraints.Interval(0.05, 3.0),
    ),
    outputscale_prior=gpytorch.priors.GammaPrior(2.0, 0.15),
)
model = exact("priors", kernel, 5, torch.float64)
out["priors_trained_density"] = [
    prior.log_prob(closure(module)).sum().item()
    for _, module, prior, closure, _ in model.named_priors()
]
torch.manual_seed(3)
with torch.no_grad():
    predicted = model(test_x.double())
    out["priors_trained_samples"] = numbers(predicted.rsample(torch.Size([2])))

print(json.dumps(out))
