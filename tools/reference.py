"""Writes the operator reference, one Markdown page per family, from the operator table.

python tools/reference.py --out build/docs
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def section(op) -> str:
    """One operator: signature, text, where it can be called from, example."""
    lines = [f"## {op.name}", "", "```", op.schema, "```", ""]
    if op.doc:
        lines += [inspect.cleandoc(op.doc), ""]
    lines += [f"Forms: {', '.join(op.forms)}."]
    if op.alias:
        lines += [f"Also known as: {', '.join(op.alias)}."]
    lines += [f"Differentiable: {'yes' if op.grad else 'no'}. Defined in `_ops/{op.where}`.", ""]
    if op.example:
        lines += ["```python", inspect.cleandoc(op.example), "```", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "docs")
    out = parser.parse_args().out
    # The table loads as a top-level package, without the extension.
    sys.path.insert(0, str(ROOT / "python" / "flambeau"))
    table = importlib.import_module("_ops")
    public = [op for op in table.OPS.values() if "internal" not in op.tags]
    out.mkdir(parents=True, exist_ok=True)
    index = ["# Operators", ""]
    for family in table.FAMILIES:
        ops = sorted((op for op in public if op.family == family), key=lambda op: op.name)
        if ops:
            text = "\n".join([f"# {family}", "", *map(section, ops)])
            (out / f"{family}.md").write_text(text)
            names = ", ".join(f"`{op.name}`" for op in ops)
            index += [f"- [{family}]({family}.md): {names}"]
    (out / "index.md").write_text("\n".join([*index, ""]))
    print(f"{len(public)} operators in {out}")


if __name__ == "__main__":
    main()
