"""How sparse tensors are printed."""

from __future__ import annotations

from flambeau import _C

from .record import COO, owner


def parts_of(t):
    """``(name, tensor)`` of what a sparse tensor consists of."""
    record = owner(t)
    if record.layout == COO:
        return [("indices", record.indices), ("values", record.values)]
    a, b = ("crow", "col") if record.by_rows else ("ccol", "row")
    return [
        (f"{a}_indices", record.compressed),
        (f"{b}_indices", record.plain),
        ("values", record.values),
    ]


def text(t, history):
    """The text of a sparse tensor; ``history`` is its last suffix, if any."""
    from flambeau._tensor_str import _add_suffixes, _tensor_str

    plain = type(t) is _C.Tensor or type(t).__name__ == "Parameter"
    prefix = "tensor(" if plain else f"{type(t).__name__}("
    indent = len(prefix)
    record = owner(t)
    meta = t.device.type == "meta"
    shown = []
    for name, part in parts_of(t):
        lead = f"{name}=tensor("
        body = "..." if meta else _tensor_str(part, indent + len(lead))
        # an index list that is empty does not show its size by its brackets
        if meta or part.numel() == 0:
            body += f", size={tuple(part.shape)}"
        shown.append(lead + body + ")")
    separator = ",\n" + " " * indent
    suffixes = []
    if t.device.type != "cpu":
        suffixes.append(f"device='{t.device}'")
    suffixes.append(f"size={tuple(t.shape)}")
    if not meta:
        count = record.indices.shape[1] if record.layout == COO else record.plain.shape[-1]
        suffixes.append(f"nnz={count}")
    complex_ = _C.complex128 if _C.get_default_dtype() == _C.float64 else _C.complex64
    if t.dtype not in (_C.get_default_dtype(), _C.int64, _C.bool, complex_):
        suffixes.append(f"dtype={t.dtype}")
    suffixes.append(f"layout={t.layout}")
    if history:
        suffixes.append(history)
    # COO tensors have their suffixes on lines of their own
    body = prefix + separator.join(shown)
    return _add_suffixes(body, suffixes, indent, force_newline=record.layout == COO)
