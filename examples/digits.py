"""Learns to read handwritten digits with a small convolutional network, in a few seconds.

    python examples/digits.py [--epochs 10] [--out demo_output]

Writes curve.png, the learning curve, and model.pt, a checkpoint, which is loaded into a fresh
model at the end to read digits that it has never seen. Ctrl-C stops early and keeps both.
"""

from __future__ import annotations

import argparse
import os
import pathlib

import flambeau
import flambeau.nn.functional as F
from flambeau import nn, optim
from flambeau.utils.data import DataLoader, TensorDataset

try:
    from tqdm import tqdm
except ImportError:

    def tqdm(iterable, **_):
        return iterable


class DigitNet(nn.Module):
    """Two convolutions and a linear layer over 8×8 pictures: 10 scores a picture."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.conv2 = nn.Sequential(nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
        self.out = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 2 * 2, 10))

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return self.out(x)


def load_data(test_share=0.25):
    """scikit-learn's 1,797 digits, shuffled with the current seed: (train, test) datasets."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = flambeau.from_numpy(digits.images).float().unsqueeze(1) / 16
    labels = flambeau.from_numpy(digits.target).long()
    order = flambeau.randperm(len(labels))
    split = int(len(labels) * test_share)
    test, train = order[:split], order[split:]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


def accuracy(model, dataset):
    images, labels = dataset.tensors
    model.eval()
    with flambeau.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def train_epoch(model, loader, optimizer, scheduler, title):
    """One pass over the data; returns the mean loss."""
    model.train()
    total = 0.0
    for images, labels in tqdm(loader, desc=title, leave=False):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(labels)
    return total / len(loader.dataset)


def train(model, train_set, test_set, epochs, checkpoint):
    """Trains and saves after every epoch; returns [(loss, accuracy)], shorter after Ctrl-C."""
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    optimizer = optim.AdamW(model.parameters())
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, epochs * len(loader))
    history = []
    try:
        for epoch in range(1, epochs + 1):
            loss = train_epoch(model, loader, optimizer, scheduler, f"epoch {epoch}")
            correct = accuracy(model, test_set)
            flambeau.save(model.state_dict(), f"{checkpoint}.part")
            os.replace(f"{checkpoint}.part", checkpoint)  # never half a checkpoint
            history.append((loss, correct))
            print(f"epoch {epoch:2}/{epochs}  loss {loss:.4f}  accuracy {correct:.4f}")
    except KeyboardInterrupt:
        print(f"\nstopped after {len(history)} of {epochs} epochs")
    return history


def draw_curve(history, path):
    """The learning curve as a PNG, where matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return print("matplotlib is not installed: no learning curve")
    losses, accuracies = zip(*history, strict=True)
    epochs = range(1, len(history) + 1)
    figure = Figure(figsize=(6, 4), layout="tight")
    left = figure.subplots()
    right = left.twinx()
    left.semilogy(epochs, losses, "o-", color="tab:red")
    right.plot(epochs, accuracies, "o-", color="tab:blue")
    left.set_xlabel("epoch")
    left.set_ylabel("training loss", color="tab:red")
    right.set_ylabel("test accuracy", color="tab:blue")
    return figure.savefig(path, dpi=120)


def show(model, dataset, count=3):
    """Prints a few digits as text with what the model reads."""
    images, labels = (t[:count] for t in dataset.tensors)
    with flambeau.no_grad():
        sure, read = model(images).softmax(1).max(1)
    for image, label, guess, p in zip(images, labels, read, sure, strict=True):
        print(f"\nread {guess.item()} ({p.item():.0%} sure), is {label.item()}")
        for row in image[0].tolist():
            print("  " + "".join(" .:-=+*#%@"[int(v * 9)] * 2 for v in row))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("demo_output"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    checkpoint = options.out / "model.pt"
    flambeau.manual_seed(options.seed)
    train_set, test_set = load_data()
    history = train(DigitNet(), train_set, test_set, options.epochs, checkpoint)
    if not history:
        return
    draw_curve(history, options.out / "curve.png")
    model = DigitNet().eval()
    model.load_state_dict(flambeau.load(checkpoint))
    show(model, test_set)
    print(f"\nwrote {options.out / 'curve.png'} and {checkpoint}")
    print(f"test accuracy: {accuracy(model, test_set):.4f}")


if __name__ == "__main__":
    main()
