"""vector-quantize-pytorch: codebooks by averages, k-means, cosine; residual, finite, others."""

import json

import torch
from vector_quantize_pytorch import FSQ, LFQ, GroupedResidualVQ, ResidualVQ, VectorQuantize

result = {}


def stats(t):
    """Enough of a tensor to tell it from another."""
    t = t.detach()
    flat = (torch.view_as_real(t) if t.is_complex() else t).double().flatten()
    return [list(t.shape), flat.sum().item(), flat.abs().sum().item(), flat[:3].tolist()]


def plain(outputs):
    """Statistics of floats, the first of integers."""
    return [stats(t) if t.is_floating_point() else t.flatten()[:20].tolist() for t in outputs]


torch.manual_seed(0)
x = torch.randn(2, 32, 16, requires_grad=True)
for name, model in {
    "average": VectorQuantize(dim=16, codebook_size=32, decay=0.8, commitment_weight=1.0),
    "k-means": VectorQuantize(dim=16, codebook_size=8, kmeans_init=True, kmeans_iters=3),
    "cosine": VectorQuantize(dim=16, codebook_size=32, use_cosine_sim=True),
    "residual": ResidualVQ(dim=16, num_quantizers=3, codebook_size=16),
    "grouped": GroupedResidualVQ(dim=16, num_quantizers=2, groups=2, codebook_size=16),
}.items():
    torch.manual_seed(3)
    for _ in range(3):
        outputs = model(x)
    result[name] = plain(outputs)
    (gradient,) = torch.autograd.grad(outputs[0].square().sum() + outputs[2].sum(), x)
    result[f"{name} gradient"] = stats(gradient)
result["finite"] = plain(FSQ([8, 5, 5, 5])(torch.randn(2, 32, 4)))
free = LFQ(codebook_size=256, dim=8, entropy_loss_weight=0.1, diversity_gamma=1.0)
result["lookup-free"] = plain(free(torch.randn(1, 8, 8, 8))[:3])
print(json.dumps(result))
