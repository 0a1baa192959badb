"""Models and layers under transforms, whose results are compared with PyTorch's."""

# ruff: noqa: B023 (functions made in a loop run in it)
from __future__ import annotations

from shared import (
    F,
    R,
    T,
    case,
    fill,
    forward_ad,
    functional_call,
    grad,
    hessian,
    jvp,
    nn,
    outcome,
    stack_module_state,
    torch,
    vmap,
)


def per_sample(model, x, y, loss):
    params = {k: v.detach() for k, v in model.named_parameters()}
    bufs = {k: v for k, v in model.named_buffers()}

    def f(p, x, y):
        return loss(functional_call(model, (p, bufs), (x[None],)), y[None])

    g = vmap(grad(f), (None, 0, 0))(params, x, y)
    ref = [grad(f)(params, x[i], y[i]) for i in range(len(x))]
    for k in g:
        r = torch.stack([q[k] for q in ref])
        assert torch.allclose(g[k], r, atol=1e-5, rtol=1e-4), (k, (g[k] - r).abs().max())
    return g


@case
def per_sample_mlp():
    return per_sample(
        fill(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).double()),
        T(5, 4),
        torch.tensor([0, 1, 2, 1, 0]),
        F.cross_entropy,
    )


@case
def per_sample_conv():
    return per_sample(
        fill(
            nn.Sequential(
                nn.Conv2d(2, 4, 3, padding=1),
                nn.GroupNorm(2, 4),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(4, 4, 3, groups=2),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.LayerNorm(4),
                nn.Linear(4, 3),
            ).double()
        ),
        T(3, 2, 8, 8),
        torch.tensor([0, 1, 2]),
        F.cross_entropy,
    )


@case
def per_sample_bn():
    m = nn.Sequential(
        nn.Linear(4, 6), nn.BatchNorm1d(6, track_running_stats=False), nn.Linear(6, 3)
    ).double()
    fill(m)
    params = {k: v.detach() for k, v in m.named_parameters()}

    def f(p, x, y):
        return F.cross_entropy(functional_call(m, p, (x,)), y)

    return vmap(grad(f), (None, 0, 0))(params, T(3, 5, 4), torch.tensor(R(0).randint(0, 3, (3, 5))))


@case
def per_sample_lstm():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.e = nn.Embedding(10, 4)
            s.l = nn.LSTM(4, 5, batch_first=True)
            s.o = nn.Linear(5, 3)

        def forward(s, x):
            return s.o(s.l(s.e(x))[0][:, -1])

    return per_sample(
        fill(M().double()),
        torch.tensor(R(0).randint(0, 10, (3, 6))),
        torch.tensor([0, 1, 2]),
        F.cross_entropy,
    )


@case
def ensemble():
    ms = [fill(nn.Linear(4, 3).double()) for _ in range(3)]
    with torch.no_grad():
        for i, m in enumerate(ms):
            m.weight.mul_(i + 1)
    p, b = stack_module_state(ms)
    base = ms[0]
    return vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), (0, 0, None))(
        p, b, T(5, 4)
    ).detach()


@case
def hess_mlp():
    m = fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double())
    p = {k: v.detach() for k, v in m.named_parameters()}
    return hessian(lambda p, x: functional_call(m, p, (x,)).sum())(p, T(2, 3))


@case
def fad_module():
    m = nn.Linear(3, 2).double()
    with torch.no_grad():
        m.weight.copy_(T(2, 3))
        m.bias.copy_(T(2))
    tang = {n: T(*p.shape, seed=3) for n, p in m.named_parameters()}
    with forward_ad.dual_level():
        params = {n: forward_ad.make_dual(p, tang[n]) for n, p in m.named_parameters()}
        o = functional_call(m, params, (T(4, 3),))
        return [forward_ad.unpack_dual(o).tangent]


@case
def conv_models():
    def net(kind):
        torch.manual_seed(0)
        L = {
            "c1": nn.Conv1d(2, 4, 3, stride=2, padding=1),
            "ct": nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1),
            "c3": nn.Conv3d(2, 2, 2),
            "dw": nn.Conv2d(4, 8, 3, groups=4, dilation=2, padding=2),
        }[kind].double()
        return fill(L)

    out = []
    for kind, shape in (
        ("c1", (3, 5, 2, 9)),
        ("ct", (3, 2, 2, 5, 5)),
        ("c3", (3, 2, 2, 4, 4, 4)),
        ("dw", (3, 2, 4, 6, 6)),
    ):
        m = net(kind)
        p = {k: v.detach() for k, v in m.named_parameters()}
        x = T(*shape)

        def f(p, x):
            return functional_call(m, p, (x,))

        P = {k: torch.stack([v, v * 2, v - 1]) for k, v in p.items()}
        out += [
            vmap(f, (None, 0))(p, x),
            vmap(f, (0, None))(P, x[0]),
            vmap(f, (0, 0))(P, x),
            vmap(grad(lambda p, x: f(p, x).sin().sum()), (None, 0))(p, x),
            vmap(grad(lambda p, x: f(p, x).sin().sum(), (0, 1)), (0, 0))(P, x),
        ]
        out.append(jvp(lambda x: f(p, x), (x[0],), (T(*shape[1:], seed=4),)))
        out.append(jvp(lambda p: f(p, x[0]), (p,), (p,)))
    return out


@case
def pools():
    x = T(3, 2, 2, 6, 6)
    fs = [
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 3, 2),
        lambda x: F.adaptive_avg_pool2d(x, 3),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.unfold(x, 2),
        lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
        lambda x: F.adaptive_max_pool2d(x, 2),
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.instance_norm(x),
        lambda x: F.group_norm(x, 2),
        lambda x: F.layer_norm(x, (6,)),
        lambda x: F.pixel_shuffle(x.repeat(1, 2, 1, 1), 2),
        lambda x: F.scaled_dot_product_attention(x, x, x),
        lambda x: F.gelu(x),
        lambda x: F.softmax(x, 1),
        lambda x: F.normalize(x, dim=1),
        lambda x: F.grid_sample(
            x,
            F.affine_grid(
                torch.eye(2, 3, dtype=x.dtype).expand(2, 2, 3), (2, 2, 4, 4), align_corners=False
            ),
            align_corners=False,
        ),
        lambda x: F.local_response_norm(x, 2),
        lambda x: F.fold(F.unfold(x, 2), (6, 6), 2),
    ]
    return [
        [
            vmap(f)(x),
            vmap(grad(lambda x: f(x).sin().sum()))(x),
            outcome(lambda: jvp(f, (x[0],), (x[1],))[1]),
        ]
        for f in fs
    ]


@case
def losses():
    x, y = T(3, 4, 5), T(3, 4, 5, seed=1)
    c = torch.tensor(R(0).randint(0, 5, (3, 4)))
    w = T(5).abs()
    fs = [
        lambda x, y, c: F.mse_loss(x, y),
        lambda x, y, c: F.cross_entropy(x, c),
        lambda x, y, c: F.cross_entropy(x, c, weight=w),
        lambda x, y, c: F.cross_entropy(x, c, reduction="none").sin().sum(),
        lambda x, y, c: F.nll_loss(x, c, reduction="sum"),
        lambda x, y, c: F.cross_entropy(x, c, label_smoothing=0.1),
        lambda x, y, c: F.cross_entropy(x, c, ignore_index=2),
        lambda x, y, c: F.smooth_l1_loss(x, y),
        lambda x, y, c: F.kl_div(x, y),
        lambda x, y, c: F.binary_cross_entropy_with_logits(x, y),
        lambda x, y, c: F.cosine_similarity(x, y).sum(),
        lambda x, y, c: F.cross_entropy(x, y.softmax(-1)),
        lambda x, y, c: F.huber_loss(x, y),
        lambda x, y, c: F.triplet_margin_loss(x, y, x + y),
        lambda x, y, c: F.multi_margin_loss(x, c),
        lambda x, y, c: torch.cdist(x, y).sum(),
        lambda x, y, c: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    ]
    return [
        [
            vmap(f)(x, y, c),
            vmap(grad(f))(x, y, c),
            outcome(
                lambda: vmap(lambda x, y, c: jvp(lambda x: f(x, y, c), (x,), (y,))[1])(x, y, c)
            ),
        ]
        for f in fs
    ]
