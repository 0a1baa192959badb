"""linear_operator: interpolation, whose sums are products of sparse matrices."""

import json

import linear_operator
import torch
from linear_operator import operators as ops
from linear_operator.utils import sparse

torch.manual_seed(0)
out = {}


def numbers(tensor):
    return tensor.detach().double().reshape(-1).tolist()


root = torch.randn(6, 6, dtype=torch.float64)
matrix = (root @ root.mT + 3 * torch.eye(6, dtype=torch.float64)).requires_grad_()
right = torch.randn(6, 2, dtype=torch.float64)
indices = torch.tensor([[0, 1], [2, 3], [4, 5], [1, 1]])
values = torch.rand(4, 2, dtype=torch.float64).requires_grad_()
interpolated = ops.InterpolatedLinearOperator(
    linear_operator.to_linear_operator(matrix),
    left_interp_indices=indices,
    left_interp_values=values,
    right_interp_indices=indices,
    right_interp_values=values,
)
out["dense"] = numbers(interpolated.to_dense())
product = interpolated @ right[:4]
out["product"] = numbers(product)
out["grad"] = [
    numbers(grad) for grad in torch.autograd.grad(product.square().sum(), (matrix, values))
]
out["diagonal"] = numbers(interpolated.diagonal())
out["solve"] = numbers(interpolated.add_jitter(0.5).solve(right[:4]))
summing = sparse.make_sparse_from_indices_and_values(indices, values.detach(), 6)
out["sparse"] = [summing.is_sparse, *summing.shape, *numbers(summing.to_dense())]
out["sparse_product"] = numbers(sparse.bdsmm(summing, right[:4]))
out["sparse_row"] = numbers(sparse.sparse_getitem(summing, (2, slice(None))).to_dense())
identity = sparse.sparse_eye(3)
out["identity"] = numbers(identity.to_dense())
out["repeated"] = numbers(sparse.sparse_repeat(identity, 2, 1, 1).to_dense())

print(json.dumps(out))
