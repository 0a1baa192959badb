"""`flambeau.ops`, `flambeau.library` and `_foreach_*`."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor

aten = flambeau.ops.aten


def test_aten():
    one = flambeau.ones(2)
    assert aten.add.Tensor(one, one, alpha=2).tolist() == [3.0, 3.0]
    assert aten.sum.dim_IntList(flambeau.ones(2, 3), [1]).tolist() == [3.0, 3.0]
    assert aten.view.default(flambeau.ones(4), [2, 2]).shape == (2, 2)
    assert (
        str(aten.add.Tensor) == "aten.add.Tensor" and aten.add.Tensor.name() == "aten::add.Tensor"
    )
    with pytest.raises(AttributeError, match="'aten' object has no attribute 'nope'"):
        aten.nope
    with pytest.raises(AttributeError, match="has no overload name 'nope'"):
        aten.add.nope


def test_every_name_has_a_function():
    assert not [name for name in dir(aten) if not callable(getattr(aten, name))]


def test_custom_op():
    @flambeau.library.custom_op("alias_test::square", mutates_args=())
    def square(x: Tensor) -> Tensor:
        return x * x

    x = flambeau.full((1,), 3.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        square(x).backward()

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    square.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=keep)
    flambeau.ops.alias_test.square(x).backward()
    assert x.grad.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="no fake impl"):
        square(flambeau.ones(1, device="meta"))
    square.register_fake(flambeau.empty_like)
    assert square(flambeau.ones(1, device="meta")).is_meta


def test_schemas():
    def f(x: Tensor, n: int, s: float = 1.5, o: Tensor | None = None, *, k: int = 3) -> None: ...

    assert flambeau.library.infer_schema(f, mutates_args={"x"}) == (
        "(Tensor(a0!) x, SymInt n, float s=1.5, Tensor? o=None, *, SymInt k=3) -> ()"
    )
    with pytest.raises(ValueError, match="must have a type annotation"):
        flambeau.library.infer_schema(lambda x: x, mutates_args=())


def test_lists_of_tensors():
    a, b = flambeau.ones(2), flambeau.full((3,), 4.0)
    assert [t.tolist() for t in flambeau._foreach_add([a, b], [1, 2])] == [[2, 2], [6, 6, 6]]
    assert [t.item() for t in flambeau._foreach_norm([b], 1)] == [12.0]
    assert flambeau._foreach_maximum([a], 3.0)[0].tolist() == [3.0, 3.0]
    flambeau._foreach_mul_([a], flambeau.tensor(5.0))
    assert a.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="same number of tensors"):
        flambeau._foreach_add([a, b], [a])
