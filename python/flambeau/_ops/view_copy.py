"""Copy forms of views: `name_copy` computes what `name` shows and returns it as a new tensor."""

from __future__ import annotations

from . import view as _view
from .samples import T
from .table import OPS, composite, decomp, op

COPIED = (
    "alias as_strided diagonal expand permute select slice split split_with_sizes squeeze t"
    " transpose unbind unfold unsqueeze view view_as_complex view_as_real"
).split()
SHOWN_BY = {"view": "reshape"}  # where no view exists, the copy still does

for _op in [
    o for o in OPS.values() if o.base in COPIED and o.family == _view.__name__.rsplit(".", 1)[-1]
]:
    _head, _arguments = _op.schema.split("(", 1)
    _source = SHOWN_BY.get(_op.name, _op.name)
    _one = _op.returns == ["Tensor"]
    _number = sum(o.base == _op.base + "_copy" for o in OPS.values())
    _node = _op.base.title().replace("_", "")
    op(
        f"{_head.replace(_op.base, _op.base + '_copy', 1)}({_arguments}",
        kernel=decomp(f"copied({_source}({', '.join(a.name for a in _op.args)}))"),
        node=f"{_node}Backward{_number}_copy",
        samples=_op.samples,
        example=_op.example.replace(f"flambeau.{_op.base}(", f"flambeau.{_op.base}_copy(")
        if f"flambeau.{_op.base}(" in _op.example
        else "",
        forms="function out" if _one else "function",
        doc=f"What ``{_op.base}`` shows, as a copy.",
    )

op(
    "detach_copy(Tensor self) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3),)],
    forms="function out",
    doc="A copy outside of the graph.",
)
