"""monai: networks in two and three dimensions, losses, metrics, transforms, sliding windows."""

import json
import warnings

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, FocalLoss, TverskyLoss
from monai.metrics import DiceMetric, HausdorffDistanceMetric
from monai.networks.nets import BasicUNet, SegResNet, UNet, ViT
from monai.transforms import Compose, GaussianSmooth, Resize, ScaleIntensity

warnings.simplefilter("ignore")
result = {}


def stats(t):
    """Enough of a tensor to tell it from another."""
    t = t.detach()
    flat = (torch.view_as_real(t) if t.is_complex() else t).double().flatten()
    return [list(t.shape), flat.sum().item(), flat.abs().sum().item(), flat[:3].tolist()]


def train(model, loss_of, steps=3):
    """Losses of a few steps of gradient descent."""
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    losses = []
    for _ in range(steps):
        loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


torch.manual_seed(0)
unet = UNet(
    spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2),
    num_res_units=1,
)  # fmt: skip
x = torch.randn(1, 1, 32, 32)
mask = (torch.rand(1, 1, 32, 32) > 0.5).float()
dice = DiceCELoss(softmax=True, to_onehot_y=True)
result["unet"] = train(unet, lambda: dice(unet(x), mask))
result["focal"] = FocalLoss(to_onehot_y=True)(unet(x), mask).item()
result["tversky"] = TverskyLoss(to_onehot_y=True, softmax=True)(unet(x), mask).item()
with torch.no_grad():
    large = torch.randn(1, 1, 48, 48)
    result["windows"] = stats(sliding_window_inference(large, (32, 32), 2, unet, mode="gaussian"))
torch.manual_seed(2)
solid = SegResNet(spatial_dims=3, init_filters=8, in_channels=1, out_channels=2).eval()
result["solid"] = stats(solid(torch.randn(1, 1, 16, 16, 16)))
basic = BasicUNet(spatial_dims=2, features=(4, 4, 8, 8, 16, 4), norm=("batch", {})).eval()
result["basic"] = stats(basic(torch.randn(1, 1, 32, 32)))
vit = ViT(
    in_channels=1, img_size=(16, 16), patch_size=(8, 8), hidden_size=24, mlp_dim=32, num_layers=1,
    num_heads=4, spatial_dims=2,
)  # fmt: skip
result["vit"] = stats(vit(torch.randn(1, 1, 16, 16))[0])
chain = Compose([ScaleIntensity(), Resize((20, 20)), GaussianSmooth(1.0)])
result["transforms"] = stats(torch.as_tensor(chain(torch.randn(1, 32, 32))))
overlap, distance = DiceMetric(), HausdorffDistanceMetric()
overlap(y_pred=mask, y=mask.flip(2))
distance(mask, mask.flip(3))
result["metrics"] = [overlap.aggregate().item(), distance.aggregate().item()]
print(json.dumps(result))
