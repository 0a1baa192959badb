"""Writes the operator reference, one Markdown page per family, from the operator table.

python tools/reference.py --out build/docs

Where an entry has no example, one is made of its samples. Examples run and dtypes are tried as the
pages are written, so both are what the built extension does.
"""

from __future__ import annotations

import argparse
import inspect
import pathlib
import re
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import flambeau  # noqa: E402
from flambeau._ops import FAMILIES, OPS  # noqa: E402
from flambeau._ops.samples import T  # noqa: E402

DTYPES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
).split()
# An example is read: of the samples the one with the fewest elements from here on.
FEW = 3


def public_ops() -> dict[str, list]:
    """{name: overloads} of the operators that users see."""
    found: dict[str, list] = {}
    for op in OPS.values():
        if "internal" not in op.tags:
            found.setdefault(op.base, []).append(op)
    return found


def at(path: str) -> Any:
    value: Any = flambeau
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def modules() -> list[str]:
    """The package and the modules in it that hold operators."""
    aliases = (alias for op in OPS.values() for alias in op.alias)
    return [
        "",
        "nn.functional.",
        *sorted({a.rpartition(".")[0] + "." for a in aliases if "." in a}),
    ]


def places(name: str, overloads: list) -> list[str]:
    """Where the operator can be called from, the most usual first."""
    aliases = dict.fromkeys(alias for op in overloads for alias in op.alias)
    plain = name.split("_", 1)[1] if name.startswith(("linalg_", "special_", "fft_")) else name
    paths = [module + n for module in modules() for n in dict.fromkeys((name, plain))]
    found = [f"flambeau.{path}" for path in dict.fromkeys((*paths, *aliases)) if callable(at(path))]
    methods = [n for n in (name, *aliases) if hasattr(flambeau.Tensor, n)]
    found += [f"Tensor.{n}" for n in methods]
    changing = any(op.has("inplace") for op in overloads)
    if changing and hasattr(flambeau, name + "_"):
        found.append(f"flambeau.{name}_")
    found += [f"Tensor.{n}_" for n in (name, *aliases) if changing and "." not in n]
    return found


def operators(overloads: list) -> list[str]:
    """Python operators that call it: `+`, `+=`."""
    forms = [form.split(":", 1) for op in overloads for form in op.forms if ":" in form]
    shown = [symbol + ("=" if kind == "iop" else "") for kind, symbol in forms]
    return list(dict.fromkeys(shown))


# ---- examples ------------------------------------------------------------------------------------


class Sample:
    """One sample of an operator as a call."""

    def __init__(self, op, values) -> None:
        self.op = op
        self.names = ["input" if a.name == "self" else a.name for a in op.args]
        self.keyword = [a.kwonly for a in op.args][: len(values)]
        self.values = [self.make(v) for v in values]
        # Integers are indices, except among the operands of arithmetic.
        plain = op.kernel.kind == "pointwise"
        self.free = [isinstance(v, T) and (plain or not v.integers) for v in values]

    def make(self, value):
        if isinstance(value, T):
            return tensor(value)
        return [self.make(v) for v in value] if isinstance(value, list) else value

    def size(self) -> int:
        found = [v for v in self.values if isinstance(v, (flambeau.Tensor, list))]
        return sum(len(str(v.tolist() if isinstance(v, flambeau.Tensor) else v)) for v in found)

    def arguments(self, values):
        args = [v for v, k in zip(values, self.keyword) if not k]
        return args, {n: v for n, v, k in zip(self.names, values, self.keyword) if k}

    def result(self, dtype=None):
        """What the operator gives; with `dtype`, for tensors of that one."""

        def change(value, free):
            if isinstance(value, list):
                return [change(v, True) for v in value]
            return value.to(dtype) if isinstance(value, flambeau.Tensor) and free else value

        values = self.values
        if dtype is not None:
            values = [change(v, free) for v, free in zip(values, self.free)]
        args, kwargs = self.arguments(values)
        return getattr(flambeau._C.ops, self.op.base)(*args, **kwargs)

    def text(self, place: str) -> list[str]:
        """The call as a user types it, and what it prints."""
        lines, shown = [], []
        for name, value in zip(self.names, self.values):
            if isinstance(value, flambeau.Tensor):
                lines.append(f">>> {name} = {literal(value)}")
                shown.append(name)
            elif isinstance(value, list) and any(isinstance(v, flambeau.Tensor) for v in value):
                lines.append(f">>> {name} = [{', '.join(map(literal, value))}]")
                shown.append(name)
            else:
                shown.append(repr(value))
        receiver = ""
        if place.startswith("Tensor."):
            receiver, place = shown[0], place.removeprefix("Tensor")
        texts = [f"{n}={s}" if k else s for n, s, k in zip(self.names, shown, self.keyword)]
        lines.append(f">>> {receiver}{place}({', '.join(texts[1:] if receiver else texts)})")
        return lines


def tensor(spec):
    """Numbers from low to high in few digits."""
    count = flambeau.Size(spec.shape).numel()
    if spec.integers:
        low, high = int(spec.low), max(int(spec.high), int(spec.low) + 1)
        values: list = [low + i % (high - low + 1) for i in range(count)]
    else:
        step = (spec.high - spec.low) / max(count - 1, 1)
        values = [round(spec.low + i * step, 1 if step > 0.3 else 2) for i in range(count)]
        values = [min(max(v, spec.low), spec.high) for v in values]
    if spec.nonzero:
        values = [v or 1 for v in values]
    dtype = flambeau.int64 if spec.integers else flambeau.float32
    return flambeau.tensor(values, dtype=dtype).reshape(spec.shape)


def literal(t) -> str:
    def short(value):
        return [short(v) for v in value] if isinstance(value, list) else float(f"{value:.6g}")

    values = short(t.tolist()) if t.is_floating_point() else t.tolist()
    shape = f".reshape{tuple(t.shape)}" if not t.numel() else ""
    return f"flambeau.tensor({values}){shape}"


def samples(overloads: list) -> list[Sample]:
    """The samples that work, the best to read first."""
    found = [Sample(op, values) for op in overloads for values in op.samples]
    working = []
    for sample in found:
        try:
            sample.result()
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            continue
        working.append(sample)
    long = [s for s in working if sum(t.numel() for t in flat(s.values)) >= FEW]
    return sorted(long, key=Sample.size) + [s for s in working if s not in long]


def flat(values) -> list:
    found: list = []
    for v in values:
        found += flat(v) if isinstance(v, list) else [v] if isinstance(v, flambeau.Tensor) else []
    return found


def run(lines: list[str]) -> list[str]:
    """A session of these inputs, with what is printed."""
    scope = {"flambeau": flambeau}
    flambeau.manual_seed(0)
    for line in lines[:-1]:
        exec(line.removeprefix(">>> "), scope)
    value = eval(lines[-1].removeprefix(">>> "), scope)
    return [*lines, *repr(value).splitlines()]


def example(overloads: list, found: list[Sample], where: list[str]) -> list[str]:
    """The entry's own example, or one of its samples; empty without both."""
    for op in overloads:
        if op.example:
            lines = inspect.cleandoc(op.example).splitlines()
            return run(lines) if lines[-1].startswith(">>> ") else lines
    for sample in found:
        for place in where:
            try:
                return run(sample.text(place))
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue
    return []


def dtypes(overloads: list, found: list[Sample]) -> str:
    """The dtypes that the operator takes."""
    if found:
        working = []
        for name in DTYPES:
            try:
                found[0].result(getattr(flambeau, name))
            except (RuntimeError, TypeError, NotImplementedError):
                continue
            working.append(name)
        return ", ".join(working)
    if overloads[0].kernel.kind == "pointwise":
        kinds = {"b": "bool", "i": "integers", "f": "floats", "c": "complex numbers"}
        return ", ".join(kinds[letter] for letter in overloads[0].on)
    return "all" if overloads[0].arg("dtype") else "as its tensors"


# ---- pages ---------------------------------------------------------------------------------------


def section(name: str, overloads: list) -> str:
    """One operator: signatures, text, where it can be called from, dtypes, derivative, example."""
    signatures = [public_names(op.schema) for op in overloads]
    lines = [f"## {name}", "", "```", *signatures, "```", ""]
    for text in dict.fromkeys(op.doc for op in overloads if op.doc):
        lines += [inspect.cleandoc(text), ""]
    where = places(name, overloads)
    called = [f"`{place}`" for place in where]
    if any(op.has("out") for op in overloads):
        called.append("with `out=`")
    if symbols := operators(overloads):
        called.append("as " + ", ".join(f"`{s}`" for s in symbols))
    lines += [f"- Forms: {', '.join(called)}"]
    found = samples(overloads)
    lines += [f"- Dtypes: {dtypes(overloads, found)}"]
    lines += [f"- Derivative: {derivative(overloads)}"]
    lines += [f"- Defined in `_ops/{overloads[0].where}`", ""]
    if shown := example(overloads, found, where):
        lines += ["```python", *shown, "```", ""]
    return "\n".join(lines)


def public_names(text: str) -> str:
    return re.sub(r"\bself\b", "input", text)


def derivative(overloads: list) -> str:
    given = {}
    for op in overloads:
        given.update(dict(op.differentiable()))
    if given:
        return public_names("; ".join(f"of `{k}`: `{v}`" for k, v in given.items()))
    if any(op.grad == "zero" for op in overloads):
        return "zero"
    composed = any(op.kernel.kind in ("decomp", "composite") for op in overloads)
    return "that of the operators it is made of" if composed else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "docs")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    public = public_ops()
    contents = ["# Operators", ""]
    for family in FAMILIES:
        names = sorted(name for name, ops in public.items() if ops[0].family == family)
        if names:
            text = "\n".join([f"# {family}", "", *(section(n, public[n]) for n in names)])
            (out / f"{family}.md").write_text(text)
            links = ", ".join(f"[{n}]({family}.md#{n})" for n in names)
            contents += [f"- **{family}**: {links}"]
    # Not index.md: there is a family of that name.
    (out / "README.md").write_text("\n".join([*contents, ""]))
    print(f"{len(public)} operators in {out}")


if __name__ == "__main__":
    main()
