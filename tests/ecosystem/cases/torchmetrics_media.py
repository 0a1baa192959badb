"""torchmetrics: images, audio, text."""

import json
import warnings

import torch
from torchmetrics import audio, image, text
from torchmetrics.functional.audio import scale_invariant_signal_noise_ratio
from torchmetrics.functional.image import image_gradients
from torchmetrics.functional.image import structural_similarity_index_measure as ssim

warnings.simplefilter("ignore")
torch.manual_seed(0)
result = {}


def value(metric, *batches):
    """What `forward` gives for the first batch, and what the whole gives."""

    def plain(x):
        if isinstance(x, dict):
            return {name: plain(one) for name, one in x.items()}
        if isinstance(x, list | tuple):
            return [plain(one) for one in x]
        return x.tolist() if isinstance(x, torch.Tensor) else x

    first = plain(metric(*batches[0]))
    for batch in batches[1:]:
        metric.update(*batch)
    return [first, plain(metric.compute())]


def smooth(shape):
    """Images with structure."""
    return torch.nn.functional.interpolate(
        torch.rand(*shape[:2], 6, 6), shape[2:], mode="bicubic"
    ).clamp(0, 1)


target = smooth((2, 3, 48, 48))
images = (target + 0.1 * torch.randn(target.shape)).clamp(0, 1)
other = (target * 0.8 + 0.05 * torch.rand(target.shape)).clamp(0, 1)
for name, metric in {
    "ssim": image.StructuralSimilarityIndexMeasure(data_range=1.0),
    "ssim_box": image.StructuralSimilarityIndexMeasure(gaussian_kernel=False, kernel_size=7),
    "psnr": image.PeakSignalNoiseRatio(data_range=1.0),
    "psnr_each": image.PeakSignalNoiseRatio(data_range=1.0, reduction="none", dim=(1, 2, 3)),
    "psnr_range": image.PeakSignalNoiseRatio(data_range=(0.1, 0.9)),
    "uqi": image.UniversalImageQualityIndex(),
    "ergas": image.ErrorRelativeGlobalDimensionlessSynthesis(),
    "sam": image.SpectralAngleMapper(),
    "rase": image.RelativeAverageSpectralError(),
    "rmse_sw": image.RootMeanSquaredErrorUsingSlidingWindow(),
    "scc": image.SpatialCorrelationCoefficient(),
    "vif": image.VisualInformationFidelity(),
    "d_lambda": image.SpectralDistortionIndex(),
}.items():
    result[name] = value(metric, (images, target), (other, target))
result["total_variation"] = value(image.TotalVariation(), (images,), (other,))
large = smooth((1, 1, 180, 180))
noisy = (large + 0.05 * torch.randn(large.shape)).clamp(0, 1)
result["ms_ssim"] = value(
    image.MultiScaleStructuralSimilarityIndexMeasure(data_range=1.0), (noisy, large)
)
solid = torch.rand(1, 1, 14, 14, 14)
result["ssim_3d"] = ssim(solid * 0.9, solid, data_range=1.0).item()
result["gradients"] = [part.abs().sum().item() for part in image_gradients(target)]
learned = images.clone().requires_grad_()
(1 - ssim(learned, target, data_range=1.0)).backward()
result["ssim_gradient"] = [learned.grad.abs().sum().item(), learned.grad[0, 0, 20, :5].tolist()]

clean = torch.sin(torch.arange(800) / 9).repeat(2, 2, 1)
clean[:, 1] = torch.cos(torch.arange(800) / 23)
heard = clean + 0.1 * torch.randn(clean.shape)
for name, metric in {
    "snr": audio.SignalNoiseRatio(),
    "si_snr": audio.ScaleInvariantSignalNoiseRatio(),
    "si_sdr": audio.ScaleInvariantSignalDistortionRatio(zero_mean=True),
    "sdr": audio.SignalDistortionRatio(filter_length=32),
    "sa_sdr": audio.SourceAggregatedSignalDistortionRatio(),
}.items():
    result[name] = value(metric, (heard, clean))
permuted = audio.PermutationInvariantTraining(scale_invariant_signal_noise_ratio, eval_func="max")
result["pit"] = value(permuted, (heard.flip(1), clean))

said = ["the cat sat on the mat", "a quick brown fox jumped"]
meant = [["the cat is on the mat", "there is a cat on the mat"], ["the quick brown fox jumps over"]]
first = [one[0] for one in meant]
for name, metric, batch in (
    ("bleu", text.BLEUScore(n_gram=2), (said, meant)),
    ("sacre_bleu", text.SacreBLEUScore(), (said, meant)),
    ("chrf", text.CHRFScore(), (said, meant)),
    ("ter", text.TranslationEditRate(), (said, meant)),
    ("eed", text.ExtendedEditDistance(), (said, meant)),
    ("wer", text.WordErrorRate(), (said, first)),
    ("cer", text.CharErrorRate(), (said, first)),
    ("mer", text.MatchErrorRate(), (said, first)),
    ("wil", text.WordInfoLost(), (said, first)),
    ("wip", text.WordInfoPreserved(), (said, first)),
    ("edit", text.EditDistance(), (said, first)),
):
    result[name] = value(metric, batch)
logits = torch.randn(2, 7, 11)
tokens = torch.randint(0, 11, (2, 7))
tokens[0, :2] = -100
result["perplexity"] = value(text.Perplexity(ignore_index=-100), (logits, tokens))
squad = text.SQuAD()
squad.update(
    [{"prediction_text": "1976", "id": "a"}],
    [{"answers": {"answer_start": [97], "text": ["1976"]}, "id": "a"}],
)
result["squad"] = {name: float(one) for name, one in squad.compute().items()}
print(json.dumps(result))
