"""torchsde: solvers of stochastic differential equations, gradients through them and adjoint."""

import json

import torch
import torchsde

result = {}


def stats(t):
    """Enough of a tensor to tell it from another."""
    t = t.detach()
    flat = (torch.view_as_real(t) if t.is_complex() else t).double().flatten()
    return [list(t.shape), flat.sum().item(), flat.abs().sum().item(), flat[:3].tolist()]


class Equation(torch.nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Linear(3, 3)
        self.spread = torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return torch.sigmoid(self.spread(y))


def noise():
    return torchsde.BrownianInterval(
        0.0, 1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time"
    )


torch.manual_seed(0)
equation = Equation()
start = torch.full((4, 3), 0.1, requires_grad=True)
times = torch.linspace(0, 1, 5)
for method in ("euler", "milstein", "srk"):
    path = torchsde.sdeint(equation, start, times, bm=noise(), method=method, dt=0.1)
    (gradient,) = torch.autograd.grad(path.sum(), start)
    result[method] = [stats(path), stats(gradient)]
path = torchsde.sdeint_adjoint(equation, start, times, bm=noise(), dt=0.1)
path.sum().backward()
result["adjoint"] = [stats(path), stats(start.grad), stats(equation.drift.weight.grad)]
print(json.dumps(result))
