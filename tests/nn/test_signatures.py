"""Signatures of all public functions and classes of `nn`, and what modules look like inside.

`data/signatures.json` and `data/layers.json` hold what PyTorch 2.13 has; run this file where it is
installed to write them anew.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import re
import warnings

import pytest

FOLDER = pathlib.Path(__file__).parent / "data"
ROOT = "torch" if __name__ == "__main__" else "flambeau"
flambeau = importlib.import_module(ROOT)
nn = flambeau.nn

MODULES = """
    nn nn.functional nn.init nn.utils nn.utils.parametrize nn.utils.parametrizations nn.utils.prune
    nn.utils.fusion nn.utils.stateless nn.utils.memory_format nn.parallel nn.attention
    nn.attention.bias nn.grad nn.modules.module nn.parameter func
""".split()
# Of later stages, or not written in Python there and differently here on purpose.
LATER = re.compile(
    r".*(GRU|LSTM|RNN)|.*flash_attention_impl|nn.parallel.Distributed|nn.functional.(grouped_mm|"
    r"scaled_(grouped_)?mm)|nn.NLLLoss2d|nn.Container|nn.Buffer|nn.(parameter.)?Uninitialized\w+|"
    r".*Module\.(T_destination|compile|ipu|mtia|xpu)|nn.functional.(boolean_dispatch|"
    r"assert_int_or_pair|handle_torch_function)|func.(?!functional_call|stack_module_state|replace_all)|nn.utils.rnn"
)
# Methods that are no different from one class to the next, or belong to others.
METHODS = ("forward", "extra_repr", "reset_parameters", "apply", "from_pretrained", "right_inverse")


def text_of(f):
    """Names, kinds and defaults of parameters; None where PyTorch does not say them."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return None
    if {p.kind for p in parameters} == {inspect.Parameter.VAR_POSITIONAL,
                                        inspect.Parameter.VAR_KEYWORD}:  # fmt: skip
        return None
    parts = []
    for p in parameters:
        default = ""
        if p.default is not p.empty:
            default = f"={getattr(p.default, '__name__', None) or repr(p.default)}"
        parts.append(f"{p.kind.value}:{p.name}{default}")
    return " ".join(parts).replace("flambeau", "torch")


def public(module):
    """The names of the functions and classes that a module's users mean by it."""
    names = getattr(module, "__all__", None) or vars(module)
    for name in sorted(names):
        value = getattr(module, name, None)
        home = str(getattr(value, "__module__", ""))
        if name.startswith("_") or not home.startswith((ROOT, "builtins")):
            continue
        if inspect.isclass(value) or inspect.isroutine(value):
            yield name, value


def signatures():
    found = {}
    for path in MODULES:
        for name, value in public(importlib.import_module(f"{ROOT}.{path}")):
            full = f"{path}.{name}"
            if LATER.match(full):
                continue
            text = text_of(value)
            if text is not None:
                found[full] = text
            if inspect.isclass(value) and issubclass(value, nn.Module):
                for method in METHODS:
                    text = text_of(getattr(value, method, None))
                    if text is not None:
                        found[f"{full}.{method}"] = text
            if value is nn.Module:
                for method in dir(value):
                    if not method.startswith("_") and not LATER.match(f"{full}.{method}"):
                        found[f"{full}.{method}"] = text_of(getattr(value, method))
    return found


# class: arguments of several objects
LAYERS: dict[str, list[str]] = {
    "Identity": ["", "1, a=2"],
    "Linear": ["3, 4", "3, 4, False", "3, 4, dtype=torch.float64"],
    "Bilinear": ["2, 3, 4", "2, 3, 4, bias=False"],
    "LazyLinear": ["4", "4, bias=False"],
    "SyncBatchNorm": ["3", "3, affine=False"],
    "GroupNorm": ["2, 4", "2, 4, 1e-3, False"],
    "LayerNorm": ["3", "(3, 4)", "[2, 3], 1e-3, False", "3, bias=False"],
    "RMSNorm": ["3", "(3, 4), 1e-3", "3, elementwise_affine=False"],
    "LocalResponseNorm": ["2", "2, 1e-3, .5, 2."],
    "CrossMapLRN2d": ["2", "2, 1e-3, .5, 2"],
    "FractionalMaxPool2d": ["2, 3", "(2, 3), output_ratio=(.5, .5)", "2, 3, return_indices=True"],
    "FractionalMaxPool3d": ["2, 3"],
    "ReLU": ["", "True"], "ReLU6": ["", "True"], "ELU": ["", "0.5, True"], "SELU": ["", "True"],
    "CELU": ["", "2., True"], "GELU": ["", "'tanh'"], "SiLU": ["", "True"], "Mish": ["", "True"],
    "Sigmoid": [""], "Tanh": [""], "LogSigmoid": [""], "Softplus": ["", "2, 10"],
    "Softshrink": ["", ".3"], "Hardshrink": ["", ".3"], "Softsign": [""], "Tanhshrink": [""],
    "Softmin": ["", "1"], "Softmax": ["", "1"], "Softmax2d": [""], "LogSoftmax": ["", "-1"],
    "Threshold": [".1, 2", "1, 2, True"], "LeakyReLU": ["", ".2, True"],
    "RReLU": ["", ".1, .2, True"], "PReLU": ["", "3, .1"], "Hardtanh": ["", "-2, 2, True"],
    "Hardsigmoid": ["", "True"], "Hardswish": ["", "True"], "GLU": ["", "1"],
    "MultiheadAttention": ["4, 2", "4, 2, .1, False, True, True, 3, 5", "4, 2, batch_first=True"],
    "Embedding": ["3, 4", "3, 4, 1", "3, 4, -1, 2., 1., True, True", "3, 4, sparse=True"],
    "EmbeddingBag": [
        "3, 4", "3, 4, 1., 1., True, 'sum', False, None, True, 1", "3, 4, mode='max'",
    ],
    "CosineSimilarity": ["", "0, 1e-3"], "PairwiseDistance": ["", "1., 1e-3, True"],
    "PixelShuffle": ["2"], "PixelUnshuffle": ["2"], "ChannelShuffle": ["2"],
    "Upsample": [
        "3", "scale_factor=2, mode='bilinear'", "(3, 4), mode='nearest'",
        "scale_factor=(2, 1.5), mode='bilinear', align_corners=True",
    ],
    "UpsamplingNearest2d": ["3", "scale_factor=2"], "UpsamplingBilinear2d": ["(2, 3)"],
    "Flatten": ["", "0, 2"], "Unflatten": ["1, (2, 3)", "1, [2, 3]"],
    "Fold": ["(4, 5), 2", "4, (2, 2), 2, 1, 2"], "Unfold": ["2", "(2, 3), 2, 1, 2"],
    "L1Loss": ["", "reduction='sum'"],
    "NLLLoss": ["", "torch.ones(3), ignore_index=1, reduction='none'"],
    "PoissonNLLLoss": ["", "False, True"], "GaussianNLLLoss": ["", "full=True, eps=1e-3"],
    "KLDivLoss": ["", "log_target=True"], "MSELoss": [""], "BCELoss": ["", "torch.ones(3)"],
    "BCEWithLogitsLoss": ["", "pos_weight=torch.ones(2)"], "HingeEmbeddingLoss": ["", "2."],
    "MultiLabelMarginLoss": [""], "SmoothL1Loss": ["", "beta=2."], "HuberLoss": ["", "'sum', 2."],
    "SoftMarginLoss": [""], "CrossEntropyLoss": ["", "torch.ones(3), label_smoothing=.1"],
    "MultiLabelSoftMarginLoss": ["", "torch.ones(3)"], "CosineEmbeddingLoss": ["", "1."],
    "MarginRankingLoss": ["", "1."], "MultiMarginLoss": ["", "2, 2., torch.ones(2)"],
    "TripletMarginLoss": ["", "2., 1., 1e-3, True"],
    "TripletMarginWithDistanceLoss": ["", "margin=2."], "CTCLoss": ["", "1, 'sum', True"],
    "AdaptiveLogSoftmaxWithLoss": ["4, 10, [3, 6]", "4, 10, [3, 6], 2., True"],
    "LinearCrossEntropyLoss": ["3, 4"],
    "Transformer": ["4, 2, 1, 1, 8"],
    "TransformerEncoderLayer": ["4, 2, 8", "4, 2, 8, 0., 'gelu', 1e-3, True, True, False"],
    "TransformerDecoderLayer": ["4, 2, 8", "4, 2, 8, 0., 'gelu', 1e-3, True, True, False"],
    "TransformerEncoder": ["nn.TransformerEncoderLayer(4, 2, 8), 1, nn.LayerNorm(4)"],
    "TransformerDecoder": ["nn.TransformerDecoderLayer(4, 2, 8), 2"],
    "Sequential": ["", "nn.ReLU(), nn.Linear(2, 3)", "nn.Sequential(nn.ReLU(), nn.Sequential())"],
    "ModuleList": ["", "[nn.ReLU(), nn.ReLU(), nn.Tanh()]"],
    "ModuleDict": ["", "{'a': nn.ReLU(), 'b': nn.Sequential(nn.Linear(1, 2))}"],
    "ParameterList": ["", "[torch.ones(2), torch.ones(2, 3, dtype=torch.float64)]"],
    "ParameterDict": ["", "{'a': torch.ones(2)}"],
    "DataParallel": ["nn.Linear(2, 3)"],
}  # fmt: skip
for _n in (1, 2, 3):
    LAYERS[f"Conv{_n}d"] = [
        "4, 6, 3", "4, 6, 3, 2, 1", "4, 6, 3, padding=1, dilation=2",
        "4, 6, 3, groups=2, bias=False", "4, 6, 3, padding='same'",
        "4, 6, 3, padding='valid', padding_mode='circular'",
    ]  # fmt: skip
    LAYERS[f"ConvTranspose{_n}d"] = [
        "4, 6, 3",
        "4, 6, 3, 2, 1, 1",
        "4, 6, 3, bias=False, dilation=2",
    ]
    LAYERS[f"LazyConv{_n}d"] = LAYERS[f"LazyConvTranspose{_n}d"] = ["6, 3", "6, 3, 2, bias=False"]
    LAYERS[f"BatchNorm{_n}d"] = ["3", "3, 1e-3, None", "3, affine=False",
                                 "3, track_running_stats=False", "3, bias=False"]  # fmt: skip
    LAYERS[f"InstanceNorm{_n}d"] = ["3", "3, 1e-3, None", "3, affine=True",
                                    "3, track_running_stats=True"]  # fmt: skip
    LAYERS[f"LazyBatchNorm{_n}d"] = ["", "1e-3, None", "affine=False", "track_running_stats=False"]
    LAYERS[f"LazyInstanceNorm{_n}d"] = ["", "affine=True", "track_running_stats=True"]
    LAYERS[f"MaxPool{_n}d"] = ["2", "3, 2, 1", "2, ceil_mode=True", "2, return_indices=True"]
    LAYERS[f"AvgPool{_n}d"] = ["2", "3, 2, 1", "2, ceil_mode=True, count_include_pad=False"]
    LAYERS[f"MaxUnpool{_n}d"] = ["2", "3, 2, 1"]
    LAYERS[f"AdaptiveMaxPool{_n}d"] = LAYERS[f"AdaptiveAvgPool{_n}d"] = ["2"]
    LAYERS[f"LPPool{_n}d"] = ["2, 3", "1.5, 3, 2, True"]
    LAYERS[f"Dropout{_n}d"] = LAYERS["Dropout"] = LAYERS["AlphaDropout"] = ["", ".2, True"]
    for _kind in ("Reflection", "Replication", "Zero", "Circular"):
        LAYERS[f"{_kind}Pad{_n}d"] = ["1", str(tuple(range(2 * _n)))]
    LAYERS[f"ConstantPad{_n}d"] = ["1, 2.5"]
del LAYERS["Dropout"][2:]
KEYS = [f"{name}({args})" for name, several in LAYERS.items() for args in several]


def shape_of(tensor):
    try:
        return list(tensor.shape)
    except RuntimeError:  # not known yet
        return None


def layer(key):
    """Text, state, versions and attributes of a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = eval(f"nn.{key}", {"nn": nn, "torch": flambeau})
    state = m.state_dict()
    return {
        "repr": repr(m),
        "state": {name: [shape_of(t), str(t.dtype)] for name, t in state.items()},
        "versions": {name: dict(data) for name, data in state._metadata.items()},
        "attributes": sorted(k for k in vars(m) if "hook" not in k),
        "parameters": [name for name, _ in m.named_parameters()],
        "constants": sorted(getattr(m, "__constants__", [])),
        "module": type(m).__module__.partition(".")[2],
    }


@pytest.fixture(scope="module")
def layers():
    return json.loads((FOLDER / "layers.json").read_text())


def test_signatures():
    expected = json.loads((FOLDER / "signatures.json").read_text())
    actual = signatures()
    assert len(expected) > 500
    missing = [name for name in expected if name not in actual and not found_in_c(name)]
    assert not missing
    different = {
        name: (text, actual[name])
        for name, text in expected.items()
        if name in actual and actual[name] != text
    }
    assert not different


def found_in_c(name):
    """Functions of the extension have no signature, but exist."""
    path, _, attribute = name.rpartition(".")
    try:
        return callable(getattr(importlib.import_module(f"{ROOT}.{path}"), attribute))
    except (ImportError, AttributeError):
        return False


@pytest.mark.parametrize("key", KEYS)
def test_layer(key, layers):
    assert layer(key) == layers[key]


if __name__ == "__main__":
    for file, values in (("signatures", signatures()), ("layers", {k: layer(k) for k in KEYS})):
        lines = (
            f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in values.items()
        )
        (FOLDER / f"{file}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
