"""The softmax over many classes of which few are frequent."""

from __future__ import annotations

from collections import namedtuple

from flambeau._C import ops
from flambeau.nn import functional as F

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes sorted by frequency, the rare ones in clusters.

    The head gives the log-probabilities of the frequent classes and of the clusters; a cluster's
    classes are computed, by a narrower projection, for the samples that need them alone.

    Args:
        in_features: size of an input.
        n_classes: number of classes.
        cutoffs: the classes at which the clusters begin, increasing.
        div_value: cluster i projects to ``in_features / div_value ** (i + 1)`` features.
        head_bias: whether the head has a bias.

    The call takes inputs (N, in_features) and targets (N,), or one of each without N. It returns
    ``output``, the log-probabilities (N,) of the targets, and ``loss``, the negative of their mean.

    Raises:
        ValueError: cutoffs are empty, not increasing, not whole or beyond the classes.
        RuntimeError: shapes of input and target do not fit, or a target is no class.

    Example:
        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[4, 10])
        >>> layer(flambeau.ones(3, 16), flambeau.tensor([0, 5, 19])).output.shape
        torch.Size([3])
    """

    def __init__(
        self,
        in_features,
        n_classes,
        cutoffs,
        div_value=4.0,
        head_bias=False,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            any(a >= b for a, b in zip([0, *cutoffs], cutoffs))
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **options),
                    Linear(hidden, size, bias=False, **options),
                )
            )

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:
                layer.reset_parameters()

    def forward(self, input_, target_):
        if target_.dim() == 1:
            if input_.shape[0] != target_.shape[0]:
                raise RuntimeError(
                    "Input and target should have the same size in the batch dimension."
                )
            if input_.dim() != 2:
                raise RuntimeError(
                    "1D target tensor expects 2D input tensors, but found inputs with size "
                    f"{input_.shape}"
                )
        elif target_.dim() != 0:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        elif input_.dim() != 1:
            raise RuntimeError(
                "0D target tensor expects 1D input tensors, but found inputs with size "
                f"{input_.shape}"
            )
        batched = target_.dim() == 1
        input = input_ if batched else input_.unsqueeze(0)
        output = self._target_log_prob(input, target_ if batched else target_.unsqueeze(0))
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _target_log_prob(self, input, target):
        if target.numel():
            low, high = int(target.min()), int(target.max())
            if low < 0 or high >= self.n_classes:
                raise RuntimeError(
                    f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                    f"[{low}, {high}] were found. "
                )
        # What each sample reads from the head: its class, or its cluster.
        column = target
        rows_of = []
        for i in range(self.n_clusters):
            inside = (target >= self.cutoffs[i]) & (target < self.cutoffs[i + 1])
            column = column.masked_fill(inside, self.shortlist_size + i)
            rows_of.append(inside.nonzero().squeeze(1))
        head = F.log_softmax(self.head(input), 1)
        output = head.gather(1, column.unsqueeze(1)).squeeze(1)
        for i, rows in enumerate(rows_of):
            if not rows.numel():
                continue
            inside = F.log_softmax(self.tail[i](input.index_select(0, rows)), 1)
            place = target.index_select(0, rows) - self.cutoffs[i]
            output = output.index_add(0, rows, inside.gather(1, place.unsqueeze(1)).squeeze(1))
        return output

    def _all_log_prob(self, input, head):
        """Log-probabilities of all classes, from the head's result."""
        head = F.log_softmax(head, 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            of_cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), 1) + of_cluster)
        return ops.cat(parts, 1)

    def log_prob(self, input):
        """The log-probabilities (N, n_classes) of all classes, for inputs (N, in_features)."""
        return self._all_log_prob(input, self.head(input))

    def predict(self, input):
        """The most probable class (N,) of each input (N, in_features).

        Faster than ``log_prob(input).argmax(1)`` where most inputs are of frequent classes.
        """
        head = self.head(input)
        best = head.argmax(1)
        rows = (best >= self.shortlist_size).nonzero().squeeze(1)
        if not rows.numel():
            return best
        rare = self._all_log_prob(input.index_select(0, rows), head.index_select(0, rows))
        return best.index_copy(0, rows, rare.argmax(1))
