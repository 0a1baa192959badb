"""diffusers: a small UNet, samplers, an autoencoder, a training step, files."""

import json
import tempfile
import warnings

import torch
from diffusers import (
    AutoencoderKL,
    DDIMPipeline,
    DDIMScheduler,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)
from diffusers.training_utils import EMAModel

warnings.simplefilter("ignore")
result = {}


def stats(t):
    """Enough of a tensor to tell it from another."""
    flat = t.detach().float().flatten()
    return {
        "shape": list(t.shape),
        "mean": flat.mean().item(),
        "spread": flat.std().item(),
        "first": flat[:4].tolist(),
    }


torch.manual_seed(0)
model = UNet2DModel(
    sample_size=16,
    in_channels=3,
    out_channels=3,
    layers_per_block=1,
    block_out_channels=(16, 32),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=8,
)
result["parameters"] = sum(p.numel() for p in model.parameters())
x = torch.randn(2, 3, 16, 16)
result["forward"] = stats(model(x, torch.tensor([10, 500])).sample)

# Noise, its prediction, and its removal by different samplers.
noise = torch.randn(2, 3, 16, 16)
train = DDPMScheduler(num_train_timesteps=100, beta_schedule="squaredcos_cap_v2")
steps = torch.tensor([3, 77])
noisy = train.add_noise(x, noise, steps)
result["noisy"] = stats(noisy)
result["velocity"] = stats(train.get_velocity(x, noise, steps))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
average = EMAModel(model.parameters(), decay=0.9)
losses = []
for _ in range(3):
    loss = torch.nn.functional.mse_loss(model(noisy, steps).sample, noise)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    average.step(model.parameters())
    losses.append([loss.item(), norm.item()])
result["losses"] = losses
result["average"] = stats(average.shadow_params[0])
model.eval()
with torch.no_grad():
    for kind, name in [
        (DDPMScheduler, "ddpm"),
        (DDIMScheduler, "ddim"),
        (DPMSolverMultistepScheduler, "dpm"),
        (EulerDiscreteScheduler, "euler"),
    ]:
        scheduler = kind(num_train_timesteps=100)
        scheduler.set_timesteps(4)
        generator = torch.Generator().manual_seed(5)
        sample = noise * scheduler.init_noise_sigma
        for t in scheduler.timesteps:
            scaled = scheduler.scale_model_input(sample, t)
            options = {"generator": generator} if name in ("ddpm", "euler") else {}
            sample = scheduler.step(model(scaled, t).sample, t, sample, **options).prev_sample
        result[name] = stats(sample)
    pipeline = DDIMPipeline(model, DDIMScheduler(num_train_timesteps=100))
    pipeline.set_progress_bar_config(disable=True)
    images = pipeline(
        batch_size=1,
        generator=torch.Generator().manual_seed(3),
        num_inference_steps=3,
        output_type="np",
    ).images
result["pipeline"] = [list(images.shape), float(images.mean()), float(images.std())]

torch.manual_seed(1)
coder = AutoencoderKL(
    in_channels=3,
    out_channels=3,
    down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
    up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
    block_out_channels=(8, 16),
    latent_channels=4,
    norm_num_groups=4,
)
posterior = coder.encode(x).latent_dist
latent = posterior.sample(torch.Generator().manual_seed(2))
result["latent"] = stats(latent)
result["divergence"] = posterior.kl().tolist()
decoded = coder.decode(latent).sample
result["decoded"] = stats(decoded)
(decoded - x).square().mean().backward()
result["gradient"] = stats(coder.encoder.conv_in.weight.grad)

conditional = UNet2DConditionModel(
    sample_size=8,
    in_channels=4,
    out_channels=4,
    layers_per_block=1,
    block_out_channels=(16, 32),
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    cross_attention_dim=12,
    attention_head_dim=8,
    norm_num_groups=8,
)
words = torch.randn(2, 5, 12)
result["conditional"] = stats(conditional(latent, 7, encoder_hidden_states=words).sample)
with tempfile.TemporaryDirectory() as folder:
    conditional.save_pretrained(folder)
    again = UNet2DConditionModel.from_pretrained(folder)
same = again(latent, 7, encoder_hidden_states=words).sample
result["restored"] = stats(same)
print(json.dumps(result))
