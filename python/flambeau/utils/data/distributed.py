"""The sampler that gives every process of a distributed run its part of a dataset."""

from __future__ import annotations

import math
import sys

from flambeau._C import Generator, ops

from .sampler import Sampler


class DistributedSampler(Sampler):
    """Every `num_replicas`-th index, beginning at `rank`, of an order that all processes share.

    Args:
        dataset: anything with a length.
        num_replicas, rank: the number of processes and the number of this one; those of the default
            process group if left out.
        shuffle: shuffle the order, by `seed` and the epoch.
        seed: the same in all processes.
        drop_last: leave out the tail instead of repeating indices so that parts are equal.

    Call `set_epoch` before each epoch, or the order stays the same.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False
    ):
        if num_replicas is None or rank is None:
            group = sys.modules.get("flambeau.distributed")  # loaded where there is a group
            if group is None or not group.is_initialized():
                missing = "num_replicas" if num_replicas is None else "rank"
                raise ValueError(
                    "Default process group has not been initialized, please make sure to call "
                    f"init_process_group; or give DistributedSampler its {missing}"
                )
            num_replicas = group.get_world_size() if num_replicas is None else num_replicas
            rank = group.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        if drop_last and count % num_replicas != 0:
            self.num_samples = math.ceil((count - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self):
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = ops.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if self.drop_last:
            indices = indices[: self.total_size]
        else:
            padding = self.total_size - count
            indices += (indices * math.ceil(padding / max(count, 1)))[:padding]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Sets the epoch that, with the seed, determines the order."""
        self.epoch = epoch
