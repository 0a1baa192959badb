"""torchdiffeq: solvers, adjoint gradients, events, callbacks, complex states, a trained ODE."""

import json

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
start = torch.tensor([2.0, 0.0])
times = torch.linspace(0.0, 3.0, 7)
result = {}
single = {"rtol": 1e-5, "atol": 1e-6}  # what float32 can keep


def spiral(t, y):
    return y**3 @ matrix


solvers = {
    "dopri8": {},
    "dopri5": {},
    "bosh3": {},
    "fehlberg2": {},
    "adaptive_heun": {},
    "euler": {"options": {"step_size": 0.05}},
    "midpoint": {"options": {"step_size": 0.05}},
    "heun3": {"options": {"step_size": 0.05}},
    "rk4": {"options": {"step_size": 0.05, "perturb": True}},
    "explicit_adams": {"options": {"step_size": 0.05}},
    "implicit_adams": {"options": {"step_size": 0.05}},
    "scipy_solver": {"options": {"solver": "RK45"}},
}
matrix64 = matrix.double()
for name, extra in solvers.items():
    path = odeint(
        lambda t, y: y**3 @ matrix64,
        start.double(),
        times.double(),
        rtol=1e-5,
        atol=1e-7,
        method=name,
        **extra,
    )
    result[name] = path[1:].flatten().tolist()

# Single precision, decreasing times, several states, gradients with respect to the times.
result["backwards"] = (
    odeint(lambda t, y: -spiral(t, y), start, times.flip(0), **single).flatten().tolist()
)
states = odeint(
    lambda t, y: (y[1], -y[0] * (1 + t)),
    (torch.ones(3), torch.zeros(3)),
    times,
    rtol=1e-5,
    atol=1e-6,
)
result["tuple"] = [part[-1].tolist() for part in states]
moment = torch.tensor([0.0, 1.5], requires_grad=True)
initial = start.clone().requires_grad_()
odeint(spiral, initial, moment, **single)[-1].sum().backward()
result["gradients"] = [moment.grad.tolist(), initial.grad.tolist()]
rotation = odeint(lambda t, y: 1j * y, torch.tensor([1.0 + 0j]), torch.tensor([0.0, 1.0]), **single)
result["complex"] = [rotation[-1].real.item(), rotation[-1].imag.item()]


# A learned right-hand side: backpropagation through the solver and by the adjoint method.
class Field(nn.Module):
    """A small network, which counts its calls."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
        self.calls = 0
        self.steps = []

    def forward(self, t, y):
        self.calls += 1
        return self.net(y**3)

    def callback_accept_step(self, t0, y0, dt):
        self.steps.append(float(dt))


truth = odeint(spiral, start, times, **single)
for kind, solve in (("direct", odeint), ("adjoint", odeint_adjoint)):
    torch.manual_seed(1)
    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=3e-3)
    losses, norms = [], []
    for _ in range(8):
        optimizer.zero_grad()
        loss = (solve(field, start, times, **single) - truth).abs().mean()
        loss.backward()
        norms.append(sum(p.grad.norm() for p in field.parameters()).item())
        optimizer.step()
        losses.append(loss.item())
    result[kind] = {"losses": losses, "norms": norms, "accepted": field.steps[:3]}

# The event: a ball falls until it meets the ground; gradients of the time.
position = torch.tensor([10.0], requires_grad=True)
velocity = torch.tensor([0.0], requires_grad=True)
for name, solver in (("event", odeint), ("event_adjoint", odeint_adjoint)):

    class Fall(nn.Module):
        """Free fall."""

        def __init__(self):
            super().__init__()
            self.gravity = nn.Parameter(torch.tensor([9.8]))

        def forward(self, t, state):
            return state[1], -self.gravity.expand_as(state[1])

    fall = Fall()
    moment, solution = odeint_event(
        fall,
        (position, velocity),
        torch.tensor(0.0),
        event_fn=lambda t, state: state[0],
        odeint_interface=solver,
        atol=1e-7,
        rtol=1e-7,
    )
    gradients = torch.autograd.grad(moment, [position, velocity, fall.gravity])
    result[name] = [moment.item(), solution[1][-1].item(), [g.item() for g in gradients]]

try:
    odeint(spiral, start, torch.tensor([0.0, 2.0, 1.0]))
except AssertionError as error:
    result["error"] = str(error)
TOLERANCE = {"*adjoint*": (1e-3, 1e-4), "direct*": (1e-3, 1e-4), "event*": (1e-3, 1e-4)}
print(json.dumps(result))
