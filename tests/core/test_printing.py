"""The text of tensors against what PyTorch prints (data/printing.json)."""

import json
import pathlib

import pytest

import flambeau
from flambeau import _tensor_str

DATA = pathlib.Path(__file__).parent / "data" / "printing.json"
CASES = json.loads(DATA.read_text())
pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def defaults():
    yield
    flambeau.set_printoptions(profile="default")
    flambeau.set_default_dtype(flambeau.float32)


def filled(count, scale, step):
    return [((i * 37) % 101 - 50) * scale + (i % 7) * step for i in range(count)]


def build(case):
    dtype = getattr(flambeau, case["dtype"])
    if "fill" not in case:
        values = case["values"]
        if dtype.is_complex:
            nested = isinstance(values[0], list)
            values = [complex(*v) for v in values] if nested else complex(*values)
        return flambeau.tensor(values, dtype=dtype)
    values = filled(flambeau.Size(case["shape"]).numel(), *case["fill"])
    if dtype.is_complex:
        values = [complex(x, -x / 3) for x in values]
    elif not dtype.is_floating_point:
        values = [int(x) for x in values]
        if dtype == flambeau.bool:
            values = [x % 2 == 1 for x in values]
        elif dtype == flambeau.uint8:
            values = [abs(x) for x in values]
    return flambeau.tensor(values, dtype=dtype).reshape(case["shape"])


def test_every_stored_case():
    wrong = []
    for case in CASES:
        flambeau.set_printoptions(profile="default")
        flambeau.set_printoptions(**case.get("options", {}))
        flambeau.set_default_dtype(getattr(flambeau, case.get("default", "float32")))
        text = repr(build(case))
        if text != case["text"]:
            wrong.append((case, text))
    assert len(CASES) >= 300
    assert not wrong, f"{len(wrong)} of {len(CASES)}, first: {wrong[0]}"


def test_history_and_requires_grad():
    a = flambeau.ones(2, requires_grad=True)
    assert repr(a) == "tensor([1., 1.], requires_grad=True)"
    assert repr(a + 1) == "tensor([2., 2.], grad_fn=<AddBackward0>)"
    assert str(a.detach()) == "tensor([1., 1.])"


def test_parameter():
    parameter = flambeau.nn.Parameter(flambeau.ones(2))
    assert repr(parameter) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_meta():
    t = flambeau.empty(2, 3, device="meta")
    assert repr(t) == "tensor(..., device='meta', size=(2, 3))"
    t = flambeau.empty(2, 3, device="meta", dtype=flambeau.int64)
    assert repr(t) == "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)"


def test_subclass_prints_its_name():
    class Named(flambeau.Tensor):
        pass

    assert repr(flambeau.ones(2).as_subclass(Named)) == "Named([1., 1.])"


def test_a_summary_reads_only_the_edges():
    huge = flambeau.zeros(1).expand(10**6, 10**6)
    assert repr(huge).count("0.") == 36


def test_options():
    flambeau.set_printoptions(precision=2, sci_mode=True)
    flambeau.set_printoptions(precision=3)
    options = flambeau.get_printoptions()
    assert options == {
        "precision": 3, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None,
    }  # fmt: skip
    with _tensor_str.printoptions(precision=1):
        assert repr(flambeau.tensor(0.25)) == "tensor(0.2)"
    assert flambeau.get_printoptions() == options


def test_format_of_one_element():
    assert f"{flambeau.tensor(1.25):.1f}" == "1.2"


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_finfo(name):
    dtype = getattr(flambeau, name)
    info = flambeau.finfo(dtype)
    one = flambeau.tensor(1.0, dtype=dtype)
    assert (one + info.eps).item() == 1 + info.eps
    assert flambeau.tensor(info.max, dtype=dtype).item() == info.max == -info.min
    assert info.tiny == info.smallest_normal and info.bits == dtype.itemsize * 8
    assert info == flambeau.finfo(dtype) and info.dtype == name


def test_finfo_and_iinfo_text_and_errors():
    assert repr(flambeau.finfo(flambeau.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert repr(flambeau.iinfo(flambeau.int32)) == (
        "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    )
    assert flambeau.iinfo(flambeau.int64).max == 2**63 - 1
    assert flambeau.finfo().dtype == "float32"
    with pytest.raises(TypeError, match="requires a floating point input type"):
        flambeau.finfo(flambeau.int32)
    with pytest.raises(TypeError, match="requires an integer input type"):
        flambeau.iinfo(flambeau.float32)


def test_named_results():
    x = flambeau.tensor([2.0, 1.0])
    assert repr(x.max(0)) == ("torch.return_types.max(\nvalues=tensor(2.),\nindices=tensor(0))")
    assert str(flambeau.histogram(x, 1)) == (
        "torch.return_types.histogram(\nhist=tensor([2.]),\nbin_edges=tensor([1., 2.]))"
    )
