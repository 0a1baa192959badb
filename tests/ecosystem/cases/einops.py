"""einops: rearrange, reduce, repeat, einsum, pack, and its layers in a trained network."""

import json

import torch
from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
images = torch.rand(6, 3, 8, 4, requires_grad=True)
result = {}

# Functions on views, contiguous or not, with several dtypes.
patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)
result["patches"] = [list(patches.shape), patches[0, 1].tolist()]
tiled = rearrange(images, "(b1 b2) c h w -> (b1 h) (b2 w) c", b1=2)
result["tiled"] = [list(tiled.shape), list(tiled.stride()), tiled[9, 5].tolist()]
result["list"] = rearrange([images[0], images[1]], "n c h w -> h w (n c)")[0, 0].tolist()
for operation in ("mean", "sum", "max", "min", "prod"):
    pooled = reduce(images, "b c (h p) w -> b c h", operation, p=4)
    result[operation] = pooled[:2].flatten().tolist()
result["logsumexp"] = reduce(images, "b c h w -> b", torch.logsumexp).tolist()
result["any"] = reduce(images > 0.99, "b c h w -> b c", "any").tolist()
result["integers"] = reduce(torch.arange(24).reshape(2, 12), "b (n k) -> b k", "sum", k=4).tolist()
row = repeat(images[0, 0, 0], "w -> h (w k)", h=2, k=3)
result["repeat"] = [list(row.shape), row[1].tolist()]
loss = (patches * patches).sum() + reduce(images, "b c h w -> c", "max").prod() + row.sum()
(gradient,) = torch.autograd.grad(loss, images)
result["gradient"] = [
    gradient.sum().item(),
    gradient.abs().max().item(),
    gradient[0, 0, 0].tolist(),
]

query, key = torch.randn(2, 5, 4, 8), torch.randn(2, 7, 4, 8)
scores = einsum(query, key, "batch q head channel, batch k head channel -> batch head q k")
result["einsum"] = [list(scores.shape), scores[1, 2].flatten().tolist()]
result["outer"] = einsum(query[0, 0, 0], key[0, 0, 0], "a, b -> a b")[3].tolist()
packed, shapes = pack([torch.randn(2, 3), torch.randn(2, 5, 3), torch.randn(2, 4, 2, 3)], "b * c")
result["pack"] = [list(packed.shape), [list(shape) for shape in shapes]]
result["unpack"] = [list(part.shape) for part in unpack(packed, shapes, "b * c")]
result["shape"] = parse_shape(images, "b _ height width")
result["numpy"] = float(asnumpy(images).sum())
half = rearrange(images.detach().to(torch.bfloat16), "b c h w -> b h w c")
result["bfloat16"] = [str(half.dtype), half[0, 0].float().flatten().tolist()]


# Layers: a network of patches, mixing and attention, trained.
class Mixer(nn.Module):
    """Tokens mixed with EinMix, then pooled."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(
            Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2), nn.Linear(12, 16)
        )
        self.tokens = EinMix("b t c -> b t2 c", weight_shape="t t2", bias_shape="t2", t=8, t2=8)
        self.heads = EinMix(
            "b t (head c) -> b t (head d)",
            weight_shape="head c d",
            bias_shape="head d",
            head=4,
            c=4,
            d=4,
        )
        self.pool = Reduce("b t c -> b c", "mean")
        self.out = nn.Linear(16, 5)

    def forward(self, x):
        x = self.embed(x)
        x = x + torch.tanh(self.tokens(x))
        x = x + torch.tanh(self.heads(x))
        return self.out(self.pool(x))


model = Mixer()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
x, y = torch.rand(20, 3, 8, 4), torch.randint(0, 5, (20,))
losses = []
for _ in range(12):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
result["losses"] = losses
result["parameters"] = {name: list(p.shape) for name, p in model.named_parameters()}
copy = Mixer()
copy.load_state_dict(model.state_dict())
result["reloaded"] = (copy(x) - model(x)).abs().max().item()
result["layers"] = [repr(model.pool), repr(model.embed[0])]
try:
    rearrange(images, "b c h w -> b c h")
except Exception as error:
    result["error"] = type(error).__name__
print(json.dumps(result))
