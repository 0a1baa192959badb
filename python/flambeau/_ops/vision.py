"""Images: resizing, borders, sampling on a grid, sliding blocks. The public functions call these."""

from __future__ import annotations

from .table import native, op

# Sizes (N, C, D, H, W). mode: 0 nearest, 1 nearest-exact, 2 linear, 3 cubic; scale: input elements
# that an output element advances by.
_RESIZE = (
    "float scale_d, float scale_h, float scale_w, int mode, bool align_corners, bool antialias"
)
_SAME = "scale_d, scale_h, scale_w, mode, align_corners, antialias"
op(
    f"_resize(Tensor self, int[3] size, {_RESIZE}) -> Tensor",
    kernel=native,
    grad={"self": f"_resize_backward(grad, self.shape, {_SAME})"},
    forms="",
    tags="internal",
)
op(
    f"_resize_backward(Tensor grad_output, int[] size, {_RESIZE}) -> Tensor",
    kernel=native,
    grad={"grad_output": f"_resize(grad, inner_sizes(grad_output.shape), {_SAME})"},
    forms="",
    tags="internal",
)

# mode: 0 reflect, 1 replicate, 2 circular; of the last three dimensions at most.
op(
    "_pad_from_inside(Tensor self, int[] pad, int mode) -> Tensor",
    kernel=native,
    grad={"self": "_pad_from_inside_backward(grad, self.shape, pad, mode)"},
    forms="",
    tags="internal flat_gradient",
)
op(
    "_pad_from_inside_backward(Tensor grad_output, int[] size, int[] pad, int mode) -> Tensor",
    kernel=native,
    grad={"grad_output": "_pad_from_inside(grad, pad, mode)"},
    forms="",
    tags="internal",
)

# Weights are derived `order` times by the position along each dimension, x first. With that the
# derivatives of all three are expressions of the three.
_GRID = "int mode, int padding_mode, bool align_corners, int[] order"
_SAME = "mode, padding_mode, align_corners, order"
op(
    f"_grid_sample(Tensor input, Tensor grid, {_GRID}) -> Tensor",
    kernel=native,
    grad={
        "input": f"_grid_scatter(grad, grid, input.shape, {_SAME})",
        "grid": f"_grid_slope(grad, input, grid, {_SAME})",
    },
    forms="",
    tags="internal autocast:fp32",
)
op(
    f"_grid_scatter(Tensor grad_output, Tensor grid, int[] size, {_GRID}) -> Tensor",
    kernel=native,
    grad={
        "grad_output": f"_grid_sample(grad, grid, {_SAME})",
        "grid": f"_grid_slope(grad_output, grad, grid, {_SAME})",
    },
    forms="",
    tags="internal",
)
op(
    f"_grid_slope(Tensor grad_output, Tensor input, Tensor grid, {_GRID}) -> Tensor",
    kernel=native,
    grad={
        "grad_output": f"slope_grad_output(grad, input, grid, {_SAME})",
        "input": f"slope_input(grad, grad_output, grid, input.shape, {_SAME})",
        "grid": f"slope_grid(grad, grad_output, input, grid, {_SAME})",
    },
    forms="",
    tags="internal",
)

_BLOCKS = "int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride"
_SAME = "kernel_size, dilation, padding, stride"
op(
    f"_im2col(Tensor self, {_BLOCKS}) -> Tensor",
    kernel=native,
    node="Im2ColBackward0",
    grad={"self": f"_col2im(grad, self.shape, {_SAME})"},
    forms="",
    tags="internal",
)
op(
    f"_col2im(Tensor self, int[] size, {_BLOCKS}) -> Tensor",
    kernel=native,
    node="Col2ImBackward0",
    grad={"self": f"_im2col(grad, {_SAME})"},
    forms="",
    tags="internal",
)

op(
    "_sum_bags(Tensor weight, Tensor indices, Tensor offsets, Tensor? per_sample_weights, bool mean, int padding_idx, bool scale_grad_by_freq, bool sparse=False) -> Tensor",
    kernel=native,
    node="EmbeddingBagBackward0",
    grad={
        "weight": "bags_weight(grad, indices, offsets, per_sample_weights, weight.shape, mean, padding_idx, scale_grad_by_freq, sparse)",
        "per_sample_weights": "bags_samples(grad, weight, indices, offsets, padding_idx)",
    },
    forms="",
    tags="internal",
)
