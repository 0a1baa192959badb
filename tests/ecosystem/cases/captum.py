"""captum: attributions of inputs, layers and neurons, by gradients and by perturbation."""

import json
import warnings

import torch
from captum import attr
from captum.metrics import infidelity, sensitivity_max
from captum.robust import FGSM, PGD
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(0)
result = {}


class Classifier(nn.Module):
    """Two convolutions and a head."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.relu1 = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(4, 6, 3)
        self.relu2 = nn.ReLU()
        self.fc = nn.Linear(6 * 4, 3)

    def forward(self, x):
        x = self.pool(self.relu1(self.conv1(x)))
        x = self.relu2(self.conv2(x))
        return self.fc(x.flatten(1))


model = Classifier().eval()
images = torch.rand(3, 1, 8, 8)
base = torch.zeros_like(images)
targets = torch.tensor([0, 2, 1])


def note(name, value):
    """Sums, and some of the numbers."""
    if isinstance(value, tuple):
        for index, one in enumerate(value):
            note(f"{name}.{index}", one)
        return
    value = value.detach()
    step = max(1, value.numel() // 12)
    result[name] = {
        "shape": list(value.shape),
        "sum": value.sum().item(),
        "size": value.abs().sum().item(),
        "some": value.flatten()[::step].tolist(),
    }


integrated = attr.IntegratedGradients(model)
parts, delta = integrated.attribute(
    images, base, target=targets, n_steps=20, return_convergence_delta=True
)
note("integrated", parts)
result["delta"] = delta.abs().max().item() < 0.05
note(
    "integrated_batched", integrated.attribute(images, target=1, n_steps=20, internal_batch_size=4)
)
note(
    "integrated_rule",
    integrated.attribute(images, target=1, n_steps=12, method="riemann_trapezoid"),
)
note("saliency", attr.Saliency(model).attribute(images, target=targets))
note("signed", attr.Saliency(model).attribute(images, target=targets, abs=False))
note("input_x_gradient", attr.InputXGradient(model).attribute(images, target=targets))
note("deconvolution", attr.Deconvolution(model).attribute(images, target=targets))
note("guided", attr.GuidedBackprop(model).attribute(images, target=targets))
note("guided_grad_cam", attr.GuidedGradCam(model, model.conv2).attribute(images, target=targets))
deep, delta = attr.DeepLift(model).attribute(
    images, base, target=targets, return_convergence_delta=True
)
note("deep_lift", deep)
result["deep_delta"] = delta.abs().max().item() < 1e-4
note("deep_lift_raw", attr.DeepLift(model, multiply_by_inputs=False).attribute(images, target=0))
note("lrp", attr.LRP(model).attribute(images, target=targets))

# Methods that draw numbers.
torch.manual_seed(1)
import numpy as np  # noqa: E402  (GradientShap draws with it)

np.random.seed(1)
baselines = torch.rand(4, 1, 8, 8)
note("deep_lift_shap", attr.DeepLiftShap(model).attribute(images, baselines, target=targets))
note("gradient_shap", attr.GradientShap(model).attribute(images, baselines, n_samples=4, target=0))
tunnel = attr.NoiseTunnel(attr.Saliency(model))
for kind in ("smoothgrad", "smoothgrad_sq", "vargrad"):
    note(kind, tunnel.attribute(images, nt_type=kind, nt_samples=4, stdevs=0.1, target=targets))

# Perturbation.
mask = torch.arange(16).reshape(1, 1, 4, 4).repeat_interleave(2, 2).repeat_interleave(2, 3)
note(
    "occlusion",
    attr.Occlusion(model).attribute(
        images, sliding_window_shapes=(1, 3, 3), strides=(1, 2, 2), baselines=0, target=targets
    ),
)
note("ablation", attr.FeatureAblation(model).attribute(images, target=targets, feature_mask=mask))
note(
    "ablation_batched",
    attr.FeatureAblation(model).attribute(
        images, target=0, feature_mask=mask, perturbations_per_eval=5
    ),
)
torch.manual_seed(2)
note(
    "permutation",
    attr.FeaturePermutation(model).attribute(images, target=targets, feature_mask=mask),
)
note(
    "shapley_sampling",
    attr.ShapleyValueSampling(model).attribute(
        images, target=targets, feature_mask=mask, n_samples=5, perturbations_per_eval=2
    ),
)
small = torch.arange(4).reshape(1, 1, 2, 2).repeat_interleave(4, 2).repeat_interleave(4, 3)
note("shapley", attr.ShapleyValues(model).attribute(images, target=targets, feature_mask=small))
for name, method in (("lime", attr.Lime), ("kernel_shap", attr.KernelShap)):
    torch.manual_seed(3)
    np.random.seed(3)
    note(
        name,
        method(model).attribute(images[:1], target=0, feature_mask=small, n_samples=30),
    )

# Layers and neurons.
note("activation", attr.LayerActivation(model, model.conv2).attribute(images))
note("grad_cam", attr.LayerGradCam(model, model.conv2).attribute(images, target=targets))
cam = attr.LayerGradCam(model, model.conv1).attribute(
    images, target=targets, relu_attributions=True
)
note("upsampled", attr.LayerAttribution.interpolate(cam, (16, 16), "bilinear"))
note(
    "layer_x_activation",
    attr.LayerGradientXActivation(model, model.relu1).attribute(images, target=targets),
)
note(
    "conductance",
    attr.LayerConductance(model, model.conv2).attribute(images, base, target=targets, n_steps=10),
)
note(
    "layer_integrated",
    attr.LayerIntegratedGradients(model, model.conv1).attribute(images, target=targets, n_steps=10),
)
note("layer_deep_lift", attr.LayerDeepLift(model, model.conv2).attribute(images, target=targets))
note(
    "internal",
    attr.InternalInfluence(model, model.conv1).attribute(images, target=targets, n_steps=8),
)
note("layer_lrp", attr.LayerLRP(model, model.conv1).attribute(images, target=targets))
note(
    "layer_ablation",
    attr.LayerFeatureAblation(model, model.fc).attribute(images, target=targets),
)
chosen = (2, 1, 1)
note("neuron_gradient", attr.NeuronGradient(model, model.conv2).attribute(images, chosen))
note(
    "neuron_conductance",
    attr.NeuronConductance(model, model.conv2).attribute(images, chosen, target=0, n_steps=8),
)
note(
    "neuron_integrated",
    attr.NeuronIntegratedGradients(model, model.conv2).attribute(images, chosen, n_steps=8),
)
note("neuron_deep_lift", attr.NeuronDeepLift(model, model.conv2).attribute(images, chosen))
note(
    "neuron_ablation",
    attr.NeuronFeatureAblation(model, model.conv2).attribute(images, chosen, feature_mask=mask),
)


# Words: embeddings in place of indices; several inputs; attention over a recurrent network.
class Words(nn.Module):
    """Embedding, GRU, a head; one more input."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.rnn = nn.GRU(6, 5, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, words, scale):
        out, _ = self.rnn(self.embedding(words) * scale[:, None, None])
        return self.head(out[:, -1])


words_model = Words()
words = torch.randint(0, 20, (3, 7))
scale = torch.tensor([1.0, 0.5, 2.0])
layer = attr.LayerIntegratedGradients(words_model, words_model.embedding)
note(
    "words",
    layer.attribute(
        words, torch.zeros_like(words), target=1, n_steps=10, additional_forward_args=scale
    ),
)
wrapped = attr.configure_interpretable_embedding_layer(words_model, "embedding")
embedded = wrapped.indices_to_embeddings(words)
note(
    "two_inputs",
    attr.IntegratedGradients(words_model).attribute((embedded, scale), target=1, n_steps=10),
)
attr.remove_interpretable_embedding_layer(words_model, wrapped)


# How good the attributions are; adversarial inputs.
def disturb(inputs):
    noise = torch.randn_like(inputs) * 0.01
    return noise, inputs - noise


torch.manual_seed(4)
saliency = attr.Saliency(model)
lost = infidelity(model, disturb, images, parts, target=targets, n_perturb_samples=3)
note("infidelity", lost)
note(
    "sensitivity", sensitivity_max(saliency.attribute, images, target=targets, n_perturb_samples=3)
)
note(
    "fgsm", FGSM(model, lower_bound=0, upper_bound=1).perturb(images, epsilon=0.05, target=targets)
)
attack = PGD(model, nn.CrossEntropyLoss(reduction="none"), lower_bound=0, upper_bound=1)
note("pgd", attack.perturb(images, radius=0.1, step_size=0.05, step_num=3, target=targets))

hooks = sum(len(m._forward_hooks) + len(m._backward_hooks) for m in model.modules())
result["hooks_left"] = hooks
try:
    integrated.attribute(images)
except AssertionError as error:
    result["error"] = str(error)
TOLERANCE = {"*": (1e-3, 1e-5), "lime*": (1e-2, 1e-3), "kernel_shap*": (1e-2, 1e-3)}
print(json.dumps(result))
