"""Functions under transforms, whose results are compared with PyTorch's."""

from __future__ import annotations

from shared import (
    F,
    R,
    T,
    case,
    forward_ad,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    nn,
    outcome,
    torch,
    vjp,
    vmap,
)


@case
def vmap_basic():
    return [
        vmap(torch.sin)(T(3, 4)),
        vmap(lambda x, y: x * y + 1)(T(3, 4), T(3, 4, seed=1)),
        vmap(torch.mul, in_dims=(0, None))(T(3), T(2)),
        vmap(torch.dot)(T(3, 4), T(3, 4, seed=2)),
    ]


@case
def vmap_dims():
    return [
        vmap(lambda x: x.sum(), in_dims=1)(T(3, 4)),
        vmap(lambda x: x * 2, in_dims=1, out_dims=1)(T(3, 4)),
        vmap(lambda x: (x, x.sum(0)), out_dims=(1, 0))(T(2, 3, 4)),
        vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))({"a": T(3), "b": T(2)}),
    ]


@case
def vmap_reductions():
    x = T(3, 2, 4)
    return [
        vmap(
            lambda x: [
                x.mean(),
                x.sum(0),
                x.max(),
                x.max(1)[0],
                x.argmax(),
                x.prod(),
                x.var(),
                x.std(1),
                x.logsumexp(0),
                x.norm(),
                x.softmax(-1),
                x.cumsum(1),
                x.sort(0)[0],
                x.median(),
                x.amax((0, 1)),
                x.any(),
                x.topk(1)[0],
            ]
        )(x)
    ]


@case
def vmap_views():
    x = T(3, 2, 4)
    return [
        vmap(
            lambda x: [
                x.t(),
                x.reshape(-1),
                x.view(8),
                x[0],
                x[:, 1],
                x[None],
                x.unsqueeze(-1),
                x.flatten(),
                x.permute(1, 0),
                x.expand(5, 2, 4),
                x.T,
                x.chunk(2, 1)[0],
                x.split(1)[1],
                torch.stack([x, x]),
                torch.cat([x, x], 1),
                x.diagonal(),
                x.unfold(1, 2, 1),
                x.flip(0),
                x.roll(1),
                x.roll(1, 1),
                x.repeat(2, 1, 1),
                x.movedim(0, 1),
                x.squeeze(),
                x.tril(),
                F.pad(x, (1, 1)),
                x.unbind(1)[2],
                x.select(1, -1),
                x.narrow(1, 1, 2),
            ]
        )(x)
    ]


@case
def vmap_matmul():
    a, b, v = T(3, 2, 4), T(3, 4, 5, seed=1), T(3, 4, seed=2)
    return [
        vmap(torch.mm)(a, b),
        vmap(torch.mm, (0, None))(a, b[0]),
        vmap(torch.mm, (None, 0))(a[0], b),
        vmap(torch.mv)(a, v),
        vmap(torch.matmul)(a, b),
        vmap(torch.matmul)(v, b),
        vmap(torch.outer)(v, v),
        vmap(F.linear)(v, a),
        vmap(F.linear, (None, 0))(v[0], a),
        vmap(torch.addmm)(T(3, 2, 5), a, b),
        vmap(torch.einsum, (None, 0, 0))("ij,jk->ik", a, b) if False else 0,
        vmap(torch.baddbmm)(T(3, 2, 2, 5), T(3, 2, 2, 4), T(3, 2, 4, 5)),
    ]


@case
def grad_basic():
    return [
        grad(lambda x: (x**3).sum())(T(4)),
        grad(torch.sin)(T()),
        grad(grad(torch.sin))(T()),
        grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(T(3), T(3, seed=1)),
        grad_and_value(lambda x: (x.sin().sum(), x), has_aux=True)(T(3)),
    ]


@case
def vjp_basic():
    y, f = vjp(lambda x, y: (x * y, x.sin()), T(3), T(3, seed=1))
    return [y, f((T(3), T(3))), f((T(3), T(3)))]


@case
def jvp_basic():
    return [
        jvp(torch.sin, (T(3),), (T(3, seed=1),)),
        jvp(lambda x, y: x @ y, (T(2, 3), T(3, 4)), (T(2, 3, seed=1), T(3, 4, seed=2))),
        jvp(lambda x: x.softmax(-1), (T(3, 4),), (T(3, 4, seed=1),)),
    ]


@case
def jac():
    return [
        jacrev(torch.sin)(T(3)),
        jacfwd(torch.sin)(T(3)),
        jacrev(lambda x, y: (x * y.sum(), y.exp()), argnums=(0, 1))(T(3), T(2)),
        jacfwd(lambda x, y: (x * y.sum(), y.exp()), argnums=(0, 1))(T(3), T(2)),
        hessian(lambda x: (x**3).sum() * x[0])(T(3)),
        jacfwd(jacrev(lambda x: x.sin().prod()))(T(3)),
        jacrev(jacfwd(lambda x: x.sin().prod()))(T(3)),
        jacrev(jacrev(lambda x: x.sin().prod()))(T(3)),
        jacfwd(jacfwd(lambda x: x.sin().prod()))(T(3)),
    ]


@case
def nested():
    return [
        vmap(grad(lambda x: x.sin().sum()))(T(3, 2)),
        grad(lambda x: vmap(lambda y: y.sin().sum())(x).sum())(T(3, 2)),
        vmap(vmap(torch.dot))(T(2, 3, 4), T(2, 3, 4)),
        vmap(vmap(lambda x, y: x + y, (None, 0)), (0, None))(T(3), T(2)),
        vmap(lambda x, t: jvp(torch.sin, (x,), (t,))[1])(T(3, 2), T(3, 2)),
        jvp(vmap(torch.sin), (T(3, 2),), (T(3, 2),)),
        grad(lambda x: jvp(torch.sin, (x,), (torch.ones_like(x),))[1])(T()),
        jvp(grad(torch.sin), (T(),), (T(),)),
    ]


@case
def confusion():
    return [
        grad(lambda x: x * grad(lambda y: x + y)(torch.tensor(1.0)))(torch.tensor(1.0)),
        jvp(
            lambda x: x * jvp(lambda y: x + y, (torch.tensor(1.0),), (torch.tensor(1.0),))[1],
            (torch.tensor(1.0),),
            (torch.tensor(1.0),),
        ),
    ]


@case
def nograd():
    def f(x):
        with torch.no_grad():
            c = x**2
        return x - c

    def g(x):
        with torch.no_grad():
            c = x**2
        return x * c

    with torch.no_grad():
        o = grad(lambda x: x**2)(torch.tensor(3.0))
    return [
        grad(f)(torch.tensor(3.0)),
        grad(g)(torch.tensor(3.0)),
        grad(grad(g))(torch.tensor(3.0)),
        o,
        o.requires_grad,
        grad(lambda x: x.detach() * x)(torch.tensor(3.0)),
        grad(grad(lambda x: x.detach() * x * x))(torch.tensor(3.0)),
    ]


@case
def inplace():
    def f(x):
        y = x.clone()
        y.mul_(2)
        y[0] = 1.0
        y[1:] += x[1:] ** 2
        return y

    def h(x):
        z = torch.zeros(3, dtype=x.dtype)
        z[0] = x[0]
        z[1] = x[1] * x[2]
        return z

    def k(x):
        z = x.new_zeros(3)
        z[0] = x[0]
        z.add_(x)
        return z

    return [
        vmap(f)(T(2, 3)),
        jacrev(f)(T(3)),
        jacfwd(f)(T(3)),
        jacrev(h)(T(3)),
        jacfwd(h)(T(3)),
        vmap(k)(T(2, 3)),
        vmap(jacrev(f))(T(2, 3)),
        jacrev(k)(T(3)),
        vmap(jacfwd(k))(T(2, 3)),
    ]


@case
def indexing():
    x = T(3, 4, 5)
    i = torch.tensor([[0, 1], [2, 3], [1, 1]])
    return [
        vmap(lambda x: x[torch.tensor([0, 2])])(x),
        vmap(lambda x, i: x[i])(x, i),
        vmap(lambda x, i: x[:, i])(x, i),
        vmap(lambda i: x[0][i])(i),
        vmap(lambda x, i: x.index_select(0, i))(x, i),
        vmap(lambda x, i: x.gather(0, i[:, None].expand(2, 5)))(x, i),
        vmap(lambda x, i: x.index_select(1, i))(x, i),
        vmap(lambda x, i: x[i, i])(x, i),
        vmap(lambda x, i: x[i[0]])(x, i),
        vmap(lambda x, i: x.scatter_add(0, i[:, None].expand(2, 5), x))(x, i),
        vmap(lambda x, i: x.index_add(0, i, x[:2]))(x, i),
        vmap(lambda x, i: torch.where(x > 0, x, -x))(x, i),
        vmap(lambda x: x.masked_fill(x > 0, 0.0))(x),
        vmap(lambda x, i: F.embedding(i, x))(x, i),
        vmap(lambda i: F.embedding(i, x[0]))(i),
        vmap(lambda x, i: x.index_put((i,), torch.ones(2, 5, dtype=x.dtype)))(x, i),
    ]


@case
def randomness():
    out = []
    for mode in ("error", "same", "different"):
        try:
            torch.manual_seed(0)
            r = vmap(lambda x: x + torch.randn(2, dtype=x.dtype), randomness=mode)(
                torch.zeros(3, 2, dtype=torch.float64)
            )
            out.append([bool((r[0] == r[1]).all()), tuple(r.shape)])
            r = vmap(lambda x: F.dropout(x, 0.5), randomness=mode)(torch.ones(3, 20))
            out.append(bool((r[0] == r[1]).all()))
        except RuntimeError:
            out.append("error")
    return out


@case
def lin():
    y, f = linearize(lambda x: x.sin() * x, T(3))
    return [y, f(T(3)), vmap(f)(T(4, 3))]


@case
def linalg():
    a = T(3, 4, 4)
    b = T(3, 4, 2)
    return [
        vmap(torch.linalg.det)(a),
        vmap(torch.linalg.inv)(a),
        vmap(torch.linalg.solve)(a, b),
        vmap(lambda a: torch.linalg.svdvals(a))(a),
        vmap(grad(lambda a: torch.linalg.det(a)))(a),
        vmap(lambda a: torch.linalg.cholesky(a @ a.T + torch.eye(4, dtype=a.dtype)))(a),
        vmap(lambda x: torch.fft.fft(x).real)(T(3, 8)),
        jacfwd(torch.linalg.inv)(a[0]),
        vmap(lambda a: torch.linalg.eigvalsh(a @ a.T))(a),
        vmap(grad(lambda a: torch.linalg.eigvalsh(a @ a.T).prod()))(a),
    ]


@case
def closures():
    w = T(3).requires_grad_()
    x = T(4, 3)
    out = vmap(lambda x: (x * w).sum())(x)
    (g,) = torch.autograd.grad(out.sum(), w)
    out2 = grad(lambda x: (x * w).sin().sum())(T(3))
    (g2,) = torch.autograd.grad(out2.sum(), w)
    out3 = vmap(grad(lambda x: (x * w).sin().sum()))(x)
    (g3,) = torch.autograd.grad(out3.sum(), w)
    out4 = jvp(lambda x: (x * w).sin(), (T(3),), (T(3),))
    (g4,) = torch.autograd.grad(out4[1].sum(), w)
    return [g, g2, g3, g4, out2.requires_grad]


@case
def fad():
    out = []
    x = T(3).requires_grad_()
    t = T(3, seed=1)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        y = (d.sin() * d).sum()
        p, tt = forward_ad.unpack_dual(y)
        out += [p, tt]
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        out += [forward_ad.unpack_dual(g).primal, forward_ad.unpack_dual(g).tangent]
        z = torch.zeros(3, dtype=x.dtype)
        z[1] = d[0]
        z.add_(d)
        out += [forward_ad.unpack_dual(z).primal, forward_ad.unpack_dual(z).tangent]
        w = torch.ones(3, dtype=x.dtype)
        out.append(forward_ad.unpack_dual(w).tangent is None)
        v = d.detach()
        out.append(forward_ad.unpack_dual(v).tangent is None)
        out.append(outcome(lambda: forward_ad.make_dual(x, torch.ones(2, dtype=x.dtype))))
        out.append(outcome(lambda: forward_ad.enter_dual_level()))
        out.append(d.shape == x.shape)
        out.append(float(d[0].detach()))
        out.append(d.requires_grad)
    out.append(forward_ad.unpack_dual(d).tangent is None)
    out.append(outcome(lambda: forward_ad.make_dual(x, t)))
    return out


class Exp(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, k):
        return x.exp() * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y, None

    @staticmethod
    def jvp(ctx, t, _):
        (y,) = ctx.saved_tensors
        return t * y


class Mul(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * 2, g * x

    @staticmethod
    def jvp(ctx, a, b):
        x, y = ctx.saved_tensors
        return a * y * 2 + b * x

    @staticmethod
    def vmap(info, in_dims, x, y):
        assert info.batch_size == 3
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x
        y = y.movedim(in_dims[1], 0) if in_dims[1] is not None else y
        return Mul.apply(x, y), 0


class Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class GV(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return (x * y).sum(), x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.x = inputs[0]

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * ctx.x


@case
def custom():
    x = T(3, 4)
    y = T(3, 4, seed=1)

    def f(x):
        return Exp.apply(x, 2.0).sum()

    return [
        grad(f)(x),
        grad(lambda x: grad(f)(x).sum())(x),
        vmap(lambda x: Exp.apply(x, 2.0))(x),
        vmap(grad(f))(x),
        jvp(f, (x,), (y,)),
        jacrev(lambda x: Exp.apply(x, 2.0))(x[0]),
        jacfwd(lambda x: Exp.apply(x, 2.0))(x[0]),
        grad(lambda x: vmap(lambda a: Exp.apply(a, 2.0))(x).sum())(x),
        jvp(lambda x: vmap(lambda a: Exp.apply(a, 2.0))(x), (x,), (y,)),
        vmap(Mul.apply)(x, y),
        vmap(Mul.apply, (0, None))(x, y[0]),
        grad(lambda x, y: Mul.apply(x, y).sum(), (0, 1))(x, y),
        vmap(grad(lambda x, y: Mul.apply(x, y).sum(), (0, 1)))(x, y),
        jvp(Mul.apply, (x, y), (y, x)),
        vmap(lambda x, y: jvp(Mul.apply, (x, y), (y, x)))(x, y),
        grad(lambda x: vmap(Mul.apply, (0, None))(x, y[0]).sum())(x),
        outcome(lambda: vmap(Plain.apply)(x)),
        outcome(lambda: grad(lambda x: Plain.apply(x).sum())(x)),
        vmap(GV.apply)(x, y),
        vmap(GV.apply, (0, None))(x, y[0]),
        grad(
            lambda x, y: (lambda a, b: a.sum() + b.sin().sum())(*vmap(GV.apply, (0, None))(x, y)),
            (0, 1),
        )(x, y[0]),
        vmap(grad(lambda x, y: GV.apply(x, y)[0], (0, 1)))(x, y),
        vmap(vmap(lambda a: Exp.apply(a, 2.0)))(x[:, :, None]),
        hessian(f)(x[0]),
    ]


@case
def errors():
    x = T(3)

    def cf(x):
        if x > 0:
            return x
        return -x

    def itm(x):
        return torch.tensor(x.item())

    return [
        outcome(lambda: vmap(cf)(x)),
        outcome(lambda: vmap(itm)(x)),
        outcome(lambda: vmap(lambda x: x.nonzero())(T(3, 2))),
        outcome(lambda: vmap(lambda x: x[x > 0])(T(3, 2))),
        outcome(lambda: vmap(torch.sin, in_dims=2)(x)),
        outcome(lambda: vmap(torch.sin, in_dims=(0, 0))(x)),
        outcome(lambda: vmap(torch.add)(T(3), T(2))),
        outcome(lambda: vmap(lambda x: 3)(x)),
        outcome(lambda: vmap(lambda x: x, out_dims=3)(x)),
        outcome(lambda: grad(lambda x: x)(x)),
        outcome(lambda: grad(lambda x: 3.0)(x)),
        outcome(lambda: grad(lambda x: x.sum(), argnums=1)(x)),
        outcome(lambda: vmap(lambda x: torch.zeros(2).add_(x))(x)),
        outcome(lambda: vmap(lambda x: x.numpy())(x)),
        outcome(lambda: vmap(lambda x: x.tolist())(x)),
        outcome(lambda: jvp(torch.sin, x, x)),
        outcome(lambda: jvp(torch.sin, (x,), (x, x))),
        outcome(lambda: vmap(lambda x: x, randomness="a")(x)),
        outcome(lambda: vmap(torch.sin, in_dims=None)(x)),
        outcome(lambda: vmap(torch.sin)()),
        outcome(lambda: vmap(lambda x: x.sum().backward())(T(3, 2).requires_grad_())),
        grad(cf)(torch.tensor(2.0)),
        outcome(lambda: vmap(torch.sin, chunk_size=0)(x)),
        outcome(lambda: jacrev(torch.sin)(3)),
        outcome(lambda: vjp(torch.sin, x)[1]((x, x))),
    ]


@case
def batched_grads():
    x = T(3).requires_grad_()
    y = x.sin() * x.sum()
    m = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 2)).double()
    r = R(3)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.tensor(r.randn(*p.shape)))
    z = m(x[None])
    (g,) = torch.autograd.grad(
        y, x, torch.eye(3, dtype=x.dtype), is_grads_batched=True, retain_graph=True
    )
    gs = torch.autograd.grad(
        z, list(m.parameters()), torch.eye(2, dtype=x.dtype)[:, None], is_grads_batched=True
    )
    J = torch.autograd.functional.jacobian(lambda x: x.sin() * x.sum(), x.detach(), vectorize=True)
    J2 = torch.autograd.functional.jacobian(
        lambda x: x.sin() * x.sum(), x.detach(), vectorize=True, strategy="forward-mode"
    )
    H = torch.autograd.functional.hessian(
        lambda x: (x.sin() * x.sum()).prod(), x.detach(), vectorize=True
    )
    H2 = torch.autograd.functional.hessian(
        lambda x: (x.sin() * x.sum()).prod(),
        x.detach(),
        vectorize=True,
        outer_jacobian_strategy="forward-mode",
    )
    return [g, *gs, J, J2, H, H2, g.requires_grad]


@case
def complexes():
    z = torch.complex(T(3), T(3, seed=1))
    t = torch.complex(T(3, seed=2), T(3, seed=3))
    fs = [
        torch.exp,
        torch.abs,
        torch.angle,
        lambda z: z * z.conj(),
        lambda z: z.real,
        lambda z: torch.view_as_real(z),
        torch.sqrt,
        lambda z: z**3,
        lambda z: z.sum() / z,
    ]
    return [torch.view_as_real(r) if (r := jvp(f, (z,), (t,))[1]).is_complex() else r for f in fs]


@case
def mixed_dtypes():
    a = torch.tensor([1.0, 2.0, 3.0])
    b = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    i = torch.tensor([1, 2, 3])
    rs = [
        vmap(lambda a, b: a + b)(a, b),
        vmap(lambda a, b: a * b)(a, b[0].expand(3)),
        vmap(lambda a, i: a * i)(a, i),
        vmap(lambda i: i + 1.5)(i),
        vmap(lambda i: i / 2)(i),
        vmap(lambda a: torch.ones(2, dtype=torch.float64) * a)(a),
        vmap(lambda b: torch.ones(2) * b)(b),
        vmap(lambda i: torch.ones(2, dtype=torch.int32) * i)(i),
        vmap(lambda a: a.to(torch.float64))(a),
        vmap(lambda b: torch.where(b > 1, b, torch.tensor(0.0)))(b),
        vmap(lambda a: torch.ones(2, dtype=torch.float16) * a)(a),
        vmap(lambda i: torch.pow(2.0, i))(i),
        vmap(lambda i: i < 1.5)(i),
    ]
    return [[r, str(r.dtype)] for r in rs]


@case
def chunks():
    x = T(7, 3)
    return [
        vmap(torch.sin, chunk_size=2)(x),
        vmap(lambda x: (x, x.sum()), chunk_size=3, out_dims=(1, 0))(x),
        jacrev(torch.sin, chunk_size=2)(x[0]),
    ]


@case
def aux():
    x = T(3)
    return [
        vjp(lambda x: (x.sin(), x + 1), x, has_aux=True)[0],
        vjp(lambda x: (x.sin(), x + 1), x, has_aux=True)[2],
        jvp(lambda x: (x.sin(), x + 1), (x,), (x,), has_aux=True),
        jacrev(lambda x: (x.sin(), x + 1), has_aux=True)(x),
        jacfwd(lambda x: (x.sin(), x + 1), has_aux=True)(x),
        grad(lambda x: (x.sin().sum(), {"a": x}), has_aux=True)(x),
        jacrev(lambda d: {"o": d["a"] * d["b"]})({"a": x, "b": T(3, seed=2)}),
        grad(lambda x, k: (x * k).sum())(x, k=2.0),
        vmap(lambda x, k=None: x * k)(x, k=T(3)),
    ]


@case
def views_grad():
    x = T(3, 4)

    def f(x):
        y = x.clone()
        y[0].mul_(2)
        y[:, 1] = 0
        y.t_()
        y.unsqueeze_(0)
        return y.sin()

    def g(x):
        y = x * 1
        y[y > 0] = 0.5
        return y.sum() + (x**2).sum()

    return [
        vmap(f)(x[:, None].expand(3, 2, 4)),
        jacrev(f)(x),
        jacfwd(f)(x),
        grad(g)(x),
        vmap(jacrev(f))(x[:, None].expand(3, 2, 4)),
        jvp(g, (x,), (x,)),
    ]


@case
def randoms():
    out = []
    for mode in ("same", "different"):
        for f in (
            lambda x: torch.rand(4),
            lambda x: torch.randn_like(x),
            lambda x: torch.randint(0, 1000, (4,)),
            lambda x: torch.randperm(50),
            lambda x: torch.bernoulli(torch.full((20,), 0.5)),
            lambda x: F.dropout(torch.ones(40)),
            lambda x: x.clone().uniform_(),
            lambda x: torch.normal(torch.zeros(4), 1.0),
            lambda x: torch.multinomial(torch.ones(50), 20),
            lambda x: F.alpha_dropout(torch.ones(40), 0.5, True),
        ):
            r = vmap(f, randomness=mode)(torch.zeros(3, 4))
            out.append([tuple(r.shape), bool((r[0] == r[1]).all())])
    return out
