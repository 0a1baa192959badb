"""linear_operator: structured matrices, their solves, log-determinants, roots and gradients."""

import json

import linear_operator
import torch
from linear_operator import operators as ops

torch.manual_seed(0)
out = {}


def numbers(tensor):
    return tensor.detach().double().reshape(-1).tolist()


root = torch.randn(6, 6, dtype=torch.float64)
matrix = (root @ root.mT + 3 * torch.eye(6, dtype=torch.float64)).requires_grad_()
right = torch.randn(6, 2, dtype=torch.float64)
dense = linear_operator.to_linear_operator(matrix)

out["matmul"] = numbers(dense @ right)
out["solve"] = numbers(torch.linalg.solve(dense, right))
quadratic, logdet = dense.inv_quad_logdet(right, logdet=True)
out["inv_quad_logdet"] = [quadratic.item(), logdet.item()]
out["grad"] = numbers(torch.autograd.grad(quadratic + logdet, matrix)[0])
out["cholesky"] = numbers(torch.linalg.cholesky(dense).to_dense())
values, vectors = torch.linalg.eigh(dense)
out["eigh"] = numbers(values)
out["eigh_rebuilt"] = numbers((vectors.to_dense() * values) @ vectors.to_dense().mT)
out["sqrt_inv_matmul"] = numbers(dense.sqrt_inv_matmul(right))

diagonal = ops.DiagLinearOperator(torch.rand(6, dtype=torch.float64) + 0.5)
added = dense + diagonal
out["added_kind"] = type(added).__name__
out["added_solve"] = numbers(added.solve(right))
out["added_logdet"] = added.logdet().item()

small = linear_operator.to_linear_operator(torch.tensor([[2.0, 0.5], [0.5, 1.0]]).double())
product = ops.KroneckerProductLinearOperator(
    small, ops.DiagLinearOperator(torch.arange(1.0, 4).double())
)
out["kronecker"] = numbers(product.to_dense())
out["kronecker_logdet"] = product.logdet().item()
out["kronecker_solve"] = numbers(product.solve(right))
noisy = product + ops.ConstantDiagLinearOperator(torch.tensor([0.3]).double(), diag_shape=6)
out["kronecker_noisy"] = numbers(noisy.solve(right))
out["kronecker_noisy_kind"] = type(noisy).__name__

toeplitz = ops.ToeplitzLinearOperator(torch.tensor([4.0, 2.0, 1.0, 0.5, 0.25, 0.1]).double())
out["toeplitz"] = numbers(toeplitz @ right)
out["toeplitz_dense"] = numbers(toeplitz.to_dense()[2])
low_rank = ops.LowRankRootLinearOperator(torch.randn(6, 2).double())
plus = low_rank.add_diagonal(torch.full((6,), 0.7).double())
out["low_rank_kind"] = type(plus).__name__
out["low_rank_solve"] = numbers(plus.solve(right))
out["low_rank_logdet"] = plus.logdet().item()
triangular = ops.TriangularLinearOperator(torch.linalg.cholesky(matrix.detach()))
out["triangular"] = numbers(triangular.solve(right))
batch = ops.BlockDiagLinearOperator(
    linear_operator.to_linear_operator(torch.randn(3, 2, 2).double())
)
out["block"] = [*batch.shape, *numbers(batch @ right)]
out["slice"] = numbers(dense[1:4, ::2].to_dense())
out["index"] = numbers(dense[torch.tensor([0, 2]), torch.tensor([1, 5])])
out["sums"] = [dense.sum().item(), *numbers(dense.sum(-1)), *numbers(dense.diagonal())]
out["cat"] = numbers(linear_operator.operators.cat((dense, diagonal), dim=-2) @ right)

# Larger than the size from which Cholesky gives way to conjugate gradients and Lanczos.
large_root = torch.randn(80, 80, dtype=torch.float64) / 9
large = (large_root @ large_root.mT + torch.eye(80).double()).requires_grad_()
target = torch.randn(80, dtype=torch.float64)
with (
    linear_operator.settings.max_cholesky_size(1),
    linear_operator.settings.num_trace_samples(20),
    linear_operator.settings.cg_tolerance(1e-6),
):
    iterative = linear_operator.to_linear_operator(large)
    quadratic, logdet = iterative.inv_quad_logdet(target, logdet=True)
    out["cg_quadratic"] = quadratic.item()
    out["cg_logdet"] = logdet.item()
    out["cg_grad_norm"] = torch.autograd.grad(quadratic + logdet, large)[0].norm().item()
    pivoted = linear_operator.pivoted_cholesky(iterative, rank=10)
    out["pivoted"] = [*pivoted.shape, pivoted.norm().item()]
    lanczos = iterative.root_decomposition().to_dense()
    out["root_error"] = (lanczos - large).norm().item() < 2
    out["root_inverse"] = iterative.root_inv_decomposition(method="lanczos").to_dense().shape[0]

print(json.dumps(out))
