"""Operators of sparse tensors: values, layouts and errors as PyTorch 2.13 has them.

data/values.json holds expressions and what they gave there: a tensor taken apart, another value, or
the type of an exception.
"""

import json
import pathlib

import numpy
import pytest

import flambeau

STORED = json.loads((pathlib.Path(__file__).parent / "data" / "values.json").read_text())
CASES = STORED["cases"]
# PyTorch refuses these, here they have a value.
MORE = {
    "B.to_sparse_csr()",
    "torch.sparse.mm(R, R.t())",
    "R / 1",
    "X.angle()",
    "S.unsqueeze(0).squeeze(0)",
    "T.squeeze()",
    "S.to_dense(torch.float32)",
    "S.clone().relu_()",
}
# Sums of equal indices in float16 and bfloat16 are rounded after each step in both.
TOLERANCE = {"torch.float32": 1e-6, "torch.float64": 1e-12, "torch.complex128": 1e-12}


def evaluate(expression):
    scope = {"torch": flambeau}
    exec(STORED["setup"], scope)
    return eval(expression, scope)  # an expression of the data file


def numbers(t):
    if t.is_complex():
        t = flambeau.view_as_real(t)
    return (t.double() if t.is_floating_point() else t).detach().tolist()


def close(got, want, dtype, what):
    numpy.testing.assert_allclose(
        numpy.asarray(got, dtype=float),
        numpy.asarray(want, dtype=float),
        rtol=TOLERANCE.get(dtype, 0),
        atol=TOLERANCE.get(dtype, 0),
        err_msg=what,
    )


def check_whole(t, case):
    """The sums at each place."""
    values = flambeau.tensor(case["data"], dtype=flambeau.float64 if t.is_complex() else t.dtype)
    values = flambeau.view_as_complex(values) if t.is_complex() else values
    indices = flambeau.tensor(case["indices"], dtype=flambeau.int64).reshape(t.sparse_dim(), -1)
    want = flambeau.sparse_coo_tensor(indices, values, t.shape)
    close(numbers(t.to_dense()), numbers(want.to_dense()), case["dtype"], case["expr"])


def check_tensor(t, case):
    what = case["expr"]
    assert str(t.layout) == case["layout"], what
    assert list(t.shape) == case["shape"], what
    assert str(t.dtype) == case["dtype"], what
    if t.layout is flambeau.strided:
        close(numbers(t), case["data"], case["dtype"], what)
    elif t.is_sparse:
        assert t.is_coalesced() == case["coalesced"], what
        if not case["coalesced"]:  # the order of the elements and which are merged is free
            check_whole(t, case)
            return
        assert t._indices().tolist() == case["indices"], what
        close(numbers(t._values()), case["data"], case["dtype"], what)
    else:
        rows = str(t.layout) in ("torch.sparse_csr", "torch.sparse_bsr")
        starts = t.crow_indices() if rows else t.ccol_indices()
        plain = t.col_indices() if rows else t.row_indices()
        assert starts.tolist() == case["starts"], what
        assert plain.tolist() == case["plain"], what
        close(numbers(t.values()), case["data"], case["dtype"], what)


@pytest.mark.parametrize("case", [c for c in CASES if "error" not in c], ids=lambda c: c["expr"])
def test_value(case):
    got = evaluate(case["expr"])
    if "value" in case:
        want = case["value"]
        if isinstance(want, str) and not isinstance(got, str):
            got = str(got)
        assert got == pytest.approx(want) if isinstance(want, float) else got == want
    else:
        check_tensor(got, case)


@pytest.mark.parametrize("case", [c for c in CASES if "error" in c], ids=lambda c: c["expr"])
def test_error(case):
    if case["expr"] in MORE:
        evaluate(case["expr"])
        return
    kind = __builtins__[case["error"]] if isinstance(__builtins__, dict) else None
    with pytest.raises(kind or getattr(__builtins__, case["error"])):
        evaluate(case["expr"])


def test_nothing_dense_is_added_in_place():
    scope = {"torch": flambeau}
    exec(STORED["setup"], scope)
    for name in "SCRK":
        for method in ("add_", "sub_"):
            with pytest.raises(RuntimeError, match="is not supported"):
                getattr(scope[name].clone(), method)(scope["M"])
