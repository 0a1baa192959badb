"""timm: models from random weights, a training step, optimizers, schedulers, averages, losses."""

import enum
import json
import sys
import types

try:
    import torchvision  # noqa: F401
except ImportError:  # timm declares it; what is done here uses nothing of it

    class StandIn(types.ModuleType):
        __version__ = "0.0.0"
        __path__ = ()

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            if name.endswith("Mode"):
                value = enum.Enum(name, "NEAREST BILINEAR BICUBIC BOX HAMMING LANCZOS")
            else:
                value = type(name, (), {})
            setattr(self, name, value)
            return value

    for name in ("", ".ops", ".ops.misc", ".datasets", ".transforms", ".transforms.functional"):
        sys.modules["torchvision" + name] = StandIn("torchvision" + name)
        parent, _, leaf = ("torchvision" + name).rpartition(".")
        if parent:
            setattr(sys.modules[parent], leaf, sys.modules["torchvision" + name])

import timm
import torch
from timm import optim, scheduler, utils
from timm.data.mixup import Mixup
from timm.loss import (
    AsymmetricLossMultiLabel,
    BinaryCrossEntropy,
    JsdCrossEntropy,
    LabelSmoothingCrossEntropy,
    SoftTargetCrossEntropy,
)

torch.manual_seed(0)
out = {}


def totals(tensor):
    flat = tensor.detach().double().reshape(-1)
    return [flat.sum().item(), flat.abs().sum().item(), *flat[:4].tolist()]


# Models.
for name, size, options in (
    ("resnet18", 64, {}),
    ("resnet26d", 64, {"drop_path_rate": 0.1}),
    ("seresnext26d_32x4d", 64, {}),
    ("vit_tiny_patch16_224", 32, {"img_size": 32, "depth": 3}),
    ("deit3_small_patch16_224", 32, {"img_size": 32, "depth": 2, "embed_dim": 48, "num_heads": 3}),
    ("efficientnet_b0", 64, {"drop_rate": 0.2}),
    ("convnext_atto", 64, {}),
    ("mobilenetv3_small_050", 64, {}),
    (
        "swin_tiny_patch4_window7_224",
        56,
        {"img_size": 56, "window_size": 7, "depths": (1, 1, 1, 1)},
    ),
    ("mixer_s32_224", 64, {"img_size": 64}),
    ("regnety_002", 64, {}),
    ("densenet121", 64, {"growth_rate": 8, "block_config": (2, 2, 2, 2)}),
):
    torch.manual_seed(1)
    model = timm.create_model(name, pretrained=False, num_classes=5, **options)
    images, target = torch.randn(4, 3, size, size), torch.tensor([0, 3, 1, 4])
    key = "model_" + name
    out[key + "_parameters"] = sum(p.numel() for p in model.parameters())
    model.eval()
    with torch.no_grad():
        out[key] = totals(model(images))
        out[key + "_features"] = [list(f.shape) for f in [model.forward_features(images)]]
    model.train()
    torch.manual_seed(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = LabelSmoothingCrossEntropy(0.1)(model(images), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out[key + "_step"] = losses

features = timm.create_model("resnet18", features_only=True, out_indices=(1, 3))
out["features_only"] = [list(f.shape) for f in features(torch.randn(1, 3, 64, 64))]
out["reduction"] = features.feature_info.reduction()
names = timm.list_models("resnet*")
out["listed"] = [len(names) > 20, "resnet50" in names]

# Optimizers: a few steps of each on a small problem.
data, goal = torch.randn(16, 6), torch.randn(16, 3)
for name in (
    "adamw",
    "sgd",
    "momentum",
    "nadam",
    "radam",
    "adamp",
    "sgdp",
    "adabelief",
    "lamb",
    "lars",
    "lion",
    "adafactor",
    "adahessian",
    "adan",
    "adopt",
    "novograd",
    "rmsproptf",
    "madgrad",
    "nadamw",
    "lookahead_adam",
    "laprop",
    "mars",
    "kron",
    "muon",
    "sgdw",
    "cadamw",
    "adafactorbv",
):
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    optimizer = optim.create_optimizer_v2(net, opt=name, lr=0.01, weight_decay=0.02)
    losses = []
    second = name == "adahessian"
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(data), goal)
        loss.backward(create_graph=second)
        optimizer.step()
        losses.append(loss.item())
    out["optimizer_" + name] = losses

# Schedules.
parameter = torch.nn.Parameter(torch.zeros(1))
for name in ("cosine", "step", "multistep", "plateau", "poly", "tanh"):
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    schedule, epochs = scheduler.create_scheduler_v2(
        optimizer,
        sched=name,
        num_epochs=12,
        warmup_epochs=2,
        min_lr=1e-4,
        decay_epochs=4,
        decay_milestones=[5, 8],
        patience_epochs=2,
    )
    rates = []
    for epoch in range(12):
        schedule.step(epoch, 1.0 + 0.01 * epoch)
        rates.append(optimizer.param_groups[0]["lr"])
    out["schedule_" + name] = [epochs, rates]

# Averages of weights, gradient clipping, mixup, losses.
net = torch.nn.Linear(3, 2)
average = utils.ModelEmaV3(net, decay=0.9, use_warmup=True)
older = utils.ModelEmaV2(net, decay=0.9)
for step in range(4):
    with torch.no_grad():
        net.weight.add_(0.5)
    average.update(net, step=step)
    older.update(net)
out["ema"] = [totals(average.module.weight), totals(older.module.weight)]
for mode in ("norm", "value", "agc"):
    net.zero_grad()
    net(torch.ones(2, 3)).square().sum().backward()
    utils.dispatch_clip_grad(net.parameters(), 0.1, mode=mode)
    out["clip_" + mode] = totals(net.weight.grad)
import numpy  # noqa: E402

numpy.random.seed(0)
mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, prob=1.0, num_classes=4, label_smoothing=0.1)
mixed, labels = mixup(torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3]))
out["mixup"] = [totals(mixed), labels.reshape(-1).tolist()]
logits = torch.randn(6, 4, requires_grad=True)
classes = torch.tensor([0, 1, 2, 3, 0, 1])
hot = torch.nn.functional.one_hot(classes, 4).float()
for name, loss in {
    "smooth": LabelSmoothingCrossEntropy(0.1)(logits, classes),
    "soft": SoftTargetCrossEntropy()(logits, hot),
    "binary": BinaryCrossEntropy(smoothing=0.1)(logits, classes),
    "divergence": JsdCrossEntropy(3)(logits, classes),
    "asymmetric": AsymmetricLossMultiLabel()(logits, hot),
}.items():
    out["loss_" + name] = [loss.item(), *totals(torch.autograd.grad(loss, logits)[0])]
out["accuracy"] = [a.item() for a in utils.accuracy(logits, classes, topk=(1, 2))]

# Layers by themselves.
from timm import layers  # noqa: E402

images = torch.randn(2, 8, 6, 6)
for name, layer in {
    "drop_path": layers.DropPath(0.3),
    "drop_block": layers.DropBlock2d(0.2, block_size=3),
    "squeeze": layers.SEModule(8),
    "eca": layers.EcaModule(8),
    "ese": layers.EffectiveSEModule(8),
    "pool": layers.SelectAdaptivePool2d(pool_type="catavgmax"),
    "blur": layers.BlurPool2d(8),
    "mixed": layers.MixedConv2d(8, 8, [3, 5]),
    "same": layers.Conv2dSame(8, 4, 3, stride=2),
    "standard": layers.StdConv2d(8, 4, 3),
    "evo": layers.EvoNorm2dS0(8, groups=4),
    "group": layers.GroupNorm1(8),
    "norm": layers.LayerNorm2d(8),
    "act": layers.create_act_layer("hard_swish"),
}.items():
    torch.manual_seed(7)
    out["layer_" + name] = totals(layer(images))
out["position"] = totals(layers.build_sincos2d_pos_embed([4, 4], dim=16))
rotary = layers.RotaryEmbeddingCat(16, in_pixels=False, feat_shape=[3, 3])
out["rotary"] = totals(layers.apply_rot_embed_cat(torch.randn(1, 2, 9, 16), rotary.get_embed()))
out["resampled"] = totals(layers.resample_abs_pos_embed(torch.randn(1, 17, 8), new_size=[6, 6]))

print(json.dumps(out))
