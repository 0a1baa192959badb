"""pyro: SVI with several guides, HMC and NUTS, enumeration, predictions, handlers."""

import json
import logging

import pyro
import pyro.distributions as dist
import torch
from pyro import poutine
from pyro.infer import (
    HMC,
    MCMC,
    NUTS,
    SVI,
    Importance,
    Predictive,
    Trace_ELBO,
    TraceEnum_ELBO,
    TraceGraph_ELBO,
    TraceMeanField_ELBO,
    config_enumerate,
)
from pyro.infer.autoguide import (
    AutoDelta,
    AutoDiagonalNormal,
    AutoLaplaceApproximation,
    AutoLowRankMultivariateNormal,
    AutoMultivariateNormal,
    AutoNormal,
)
from pyro.nn import PyroModule, PyroSample

logging.disable(logging.WARNING)
out = {}
TOLERANCE = {"nuts*": (1e-3, 1e-3), "hmc*": (1e-3, 1e-3)}


def numbers(tensor):
    return tensor.detach().double().reshape(-1).tolist()


pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 20)
y = 0.7 * x - 0.2 + 0.1 * torch.randn(20)


def model(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
    offset = pyro.sample("offset", dist.Normal(torch.zeros(1), 2.0).to_event(1))
    noise = pyro.sample("noise", dist.LogNormal(-1.0, 0.5))
    with pyro.plate("data", x.shape[0]):
        return pyro.sample("y", dist.Normal(slope * x + offset, noise), obs=y)


# Stochastic variational inference.
for name, make in {
    "normal": AutoNormal,
    "delta": AutoDelta,
    "diagonal": AutoDiagonalNormal,
    "multivariate": AutoMultivariateNormal,
    "low_rank": AutoLowRankMultivariateNormal,
    "laplace": AutoLaplaceApproximation,
}.items():
    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    guide = make(model)
    svi = SVI(model, guide, pyro.optim.ClippedAdam({"lr": 0.05, "lrd": 0.99}), Trace_ELBO())
    out[f"svi_{name}"] = [svi.step(x, y) for _ in range(12)]
    if name == "laplace":
        for _ in range(150):  # to the mode, where the Hessian is definite
            svi.step(x, y)
        guide = guide.laplace_approximation(x, y)
    out[f"svi_{name}_median"] = {key: numbers(v) for key, v in guide.median(x, y).items()}
    if name == "normal":
        predictive = Predictive(model, guide=guide, num_samples=5, return_sites=("y", "slope"))
        out["predictive"] = {key: numbers(v) for key, v in predictive(x[:3]).items()}
        quantiles = guide.quantiles([0.1, 0.9])
        out["quantiles"] = {key: numbers(value) for key, value in quantiles.items()}
    out[f"svi_{name}_store"] = {
        key: numbers(value)[:6] for key, value in pyro.get_param_store().items()
    }


# A guide of one's own, with a mean-field bound, several particles in parallel and a scheduler.
def guide(x, y=None):
    place = pyro.param("place", torch.zeros(2))
    spread = pyro.param("spread", torch.ones(2) * 0.1, constraint=dist.constraints.positive)
    pyro.sample("slope", dist.Normal(place[0], spread[0]))
    pyro.sample("offset", dist.Normal(place[1:], spread[1:]).to_event(1))
    pyro.sample("noise", dist.LogNormal(pyro.param("level", torch.tensor(-1.0)), 0.1))


pyro.clear_param_store()
pyro.set_rng_seed(2)
scheduler = pyro.optim.ExponentialLR(
    {"optimizer": torch.optim.Adam, "optim_args": {"lr": 0.1}, "gamma": 0.9}
)
svi = SVI(model, guide, scheduler, TraceMeanField_ELBO(num_particles=4, vectorize_particles=False))
losses = []
for _ in range(8):
    losses.append(svi.step(x, y))
    scheduler.step()
out["mean_field"] = losses


# Discrete choices: summed out, and with the score-function estimator.
@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(torch.ones(2)))
    with pyro.plate("components", 2):
        place = pyro.sample("place", dist.Normal(0.0, 3.0))
    with pyro.plate("data", len(data)):
        which = pyro.sample("which", dist.Categorical(weights))
        pyro.sample("seen", dist.Normal(place[which], 0.5), obs=data)


pyro.clear_param_store()
pyro.set_rng_seed(3)
data = torch.cat([torch.randn(10) * 0.5 - 2, torch.randn(10) * 0.5 + 2])
auto = AutoDelta(poutine.block(mixture, expose=["weights", "place"]))
svi = SVI(mixture, auto, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
out["enumerated"] = [svi.step(data) for _ in range(10)]
out["enumerated_place"] = numbers(pyro.param("AutoDelta.place"))


def coin(seen):
    fair = pyro.sample("fair", dist.Beta(2.0, 2.0))
    with pyro.plate("throws", len(seen)):
        pyro.sample("seen", dist.Bernoulli(fair), obs=seen)


def coin_guide(seen):
    first = pyro.param("first", torch.tensor(3.0), constraint=dist.constraints.positive)
    second = pyro.param("second", torch.tensor(3.0), constraint=dist.constraints.positive)
    pyro.sample("fair", dist.Beta(first, second))


pyro.set_rng_seed(4)
svi = SVI(coin, coin_guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO(num_particles=3))
seen = torch.tensor([1.0, 1, 0, 1, 1, 1])
out["beta"] = [svi.step(seen) for _ in range(6)]


def chosen(seen):
    which = pyro.sample("which", dist.Bernoulli(0.3))
    pyro.sample("seen", dist.Normal(which * 2, 1.0), obs=seen)


def chosen_guide(seen):
    chance = pyro.param("chance", torch.tensor(0.5), constraint=dist.constraints.unit_interval)
    baseline = {"use_decaying_avg_baseline": True}
    pyro.sample("which", dist.Bernoulli(chance), infer={"baseline": baseline})


pyro.set_rng_seed(5)
svi = SVI(chosen, chosen_guide, pyro.optim.SGD({"lr": 0.01}), TraceGraph_ELBO())
out["score_function"] = [svi.step(torch.tensor(1.6)) for _ in range(8)]

# Sampling.
for name, kernel in {
    "hmc": HMC(model, step_size=0.02, num_steps=4),
    "nuts": NUTS(model, max_tree_depth=4),
}.items():
    pyro.clear_param_store()
    pyro.set_rng_seed(6)
    chain = MCMC(kernel, num_samples=6, warmup_steps=6, disable_progbar=True)
    chain.run(x, y)
    samples = chain.get_samples()
    out[name] = {key: numbers(value) for key, value in samples.items()}
    predictive = Predictive(model, samples, return_sites=("y",))
    out[name + "_predicted"] = numbers(predictive(x[:2])["y"])

pyro.set_rng_seed(7)
posterior = Importance(model, num_samples=5).run(x, y)
out["importance"] = [weight.item() for weight in posterior.log_weights]


# A network with random weights.
class Network(PyroModule):
    def __init__(self):
        super().__init__()
        self.first = PyroModule[torch.nn.Linear](1, 4)
        self.first.weight = PyroSample(dist.Normal(0.0, 1.0).expand([4, 1]).to_event(2))
        self.second = PyroModule[torch.nn.Linear](4, 1)

    def forward(self, x, y=None):
        mean = self.second(torch.tanh(self.first(x[:, None])))[:, 0]
        with pyro.plate("data", len(x)):
            pyro.sample("y", dist.Normal(mean, 0.3), obs=y)
        return mean


pyro.clear_param_store()
pyro.set_rng_seed(8)
network = Network()
guide = AutoDiagonalNormal(network)
svi = SVI(network, guide, pyro.optim.Adam({"lr": 0.02}), Trace_ELBO())
out["network"] = [svi.step(x, y) for _ in range(8)]
out["network_names"] = sorted(pyro.get_param_store())

# Handlers.
pyro.set_rng_seed(9)
trace = poutine.trace(poutine.condition(model, {"slope": torch.tensor(0.5)})).get_trace(x[:4])
out["trace_density"] = trace.log_prob_sum().item()
out["trace_names"] = list(trace.nodes)
trace = poutine.trace(model).get_trace(x[:4])
again = poutine.trace(poutine.replay(model, trace)).get_trace(x[:4])
out["replayed"] = numbers(again.nodes["y"]["value"])
scaled = poutine.trace(poutine.scale(poutine.do(model, {"noise": torch.tensor(0.2)}), 2.0))
out["scaled"] = scaled.get_trace(x[:4], y[:4]).log_prob_sum().item()

# Distributions of pyro's own.
pyro.set_rng_seed(10)
for name, one in {
    "zero_inflated": dist.ZeroInflatedPoisson(torch.tensor(2.0), gate=torch.tensor(0.3)),
    "beta_binomial": dist.BetaBinomial(torch.tensor(2.0), torch.tensor(3.0), 10),
    "gamma_poisson": dist.GammaPoisson(torch.tensor(2.0), torch.tensor(1.5)),
    "mask": dist.Normal(torch.zeros(3), 1.0).mask(torch.tensor([True, False, True])),
    "avf": dist.AVFMultivariateNormal(torch.zeros(2), torch.eye(2), torch.ones(2, 1, 2) / 2),
    "lkj": dist.LKJCholesky(3, torch.tensor(1.5)),
    "stable": dist.Stable(torch.tensor(1.5), torch.tensor(0.2)),
    "flow": dist.TransformedDistribution(
        dist.Normal(torch.zeros(2), 1.0).to_event(1),
        [dist.transforms.affine_coupling(2), dist.transforms.planar(2)],
    ),
}.items():
    value = one.sample(torch.Size([3]))
    out["sample_" + name] = numbers(value)
    if name not in ("avf", "stable"):
        out["density_" + name] = numbers(one.log_prob(value))

hmm = dist.GaussianHMM(
    dist.Normal(torch.zeros(2), 1.0).to_event(1),
    torch.eye(2) * 0.9,
    dist.Normal(torch.zeros(2), 0.5).to_event(1),
    torch.ones(2, 1),
    dist.Normal(torch.zeros(1), 0.3).to_event(1),
    duration=5,
)
series = torch.linspace(-1, 1, 5)[:, None]
out["hmm"] = [hmm.log_prob(series).item(), *numbers(hmm.filter(series).mean)]

print(json.dumps(out))
