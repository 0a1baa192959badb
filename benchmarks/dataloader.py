"""Throughput of `DataLoader`, with and without workers; the same script runs under PyTorch.

    flambeau run benchmarks/dataloader.py          # or: python benchmarks/dataloader.py

Prints items per second of each case, and what memory and /dev/shm did over 50 epochs.
"""

import os
import resource
import time

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Images(Dataset):
    """One of a few images, by index: the time goes into batches and their way to this process."""

    def __init__(self, count, side):
        self.count = count
        self.images = torch.rand(8, 3, side, side)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.images[index % 8], index


def seconds(loader):
    begin = time.perf_counter()
    for images, _ in loader:
        images[(0,) * images.dim()].item()
    return time.perf_counter() - begin


def best(make, count, times=3):
    return count / min(seconds(make()) for _ in range(times))


def rate(name, make, count, times=3):
    print(f"{name:<44} {best(make, count, times):>12,.0f} items/s", flush=True)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def main():
    large, small = Images(3200, 224), Images(20_000, 32)
    rows = TensorDataset(torch.rand(200_000, 32), torch.arange(200_000))
    rate("3x224x224, batch 64, 2 workers", lambda: DataLoader(large, 64, num_workers=2), len(large))
    for workers in (0, 2):
        rate(
            f"3x32x32, batch 64, {workers} workers",
            lambda: DataLoader(small, 64, num_workers=workers),  # noqa: B023
            len(small),
        )
    for shuffle in (False, True):
        rate(
            f"TensorDataset of 32, batch 64{', shuffled' * shuffle}",
            lambda: DataLoader(rows, 64, shuffle=shuffle),  # noqa: B023
            len(rows),
        )
    few = Images(512, 64)
    for persistent in (False, True):
        loader = DataLoader(few, 64, num_workers=2, persistent_workers=persistent)
        seconds(loader), seconds(loader)
        before, begin = resident(), time.perf_counter()
        for _ in range(50):
            seconds(loader)
        took = time.perf_counter() - begin
        print(
            f"50 epochs{', persistent workers' * persistent:<35} {took:>10.2f} s, "
            f"{resident() - before:+.1f} MiB, {len(os.listdir('/dev/shm'))} files in /dev/shm",
            flush=True,
        )
        del loader


if __name__ == "__main__":
    main()
