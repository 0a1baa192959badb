"""The reference pages (`make docs`): all public operators, with all parts and true examples."""

from __future__ import annotations

import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import flambeau
from flambeau._ops import OPS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = sorted({op.base for op in OPS.values() if "internal" not in op.tags})


@pytest.fixture(scope="module")
def sections(tmp_path_factory):
    """{operator: its section} of all pages."""
    folder = tmp_path_factory.mktemp("reference")
    subprocess.run(
        [sys.executable, ROOT / "tools/reference.py", "--out", folder],
        check=True,
        capture_output=True,
    )
    found = {}
    for page in folder.glob("*.md"):
        for text in page.read_text().split("\n## ")[1:]:
            name = text.partition("\n")[0]
            assert name not in found, f"{name} is described twice"
            found[name] = text
            link = f"[{name}]({page.name}#{name})"
            assert link in (folder / "README.md").read_text()
    return found


def test_every_operator_has_a_section(sections):
    assert sorted(sections) == PUBLIC


def test_sections_are_complete(sections):
    parts = {
        "signature": r"```\n\w+(\.\w+)?\(.*\) -> .+\n",
        "text": r"```\n\n(?!- Forms)",
        "forms": r"- Forms: `(flambeau|Tensor)\.",
        "dtypes": r"- Dtypes: \w",
        "derivative": r"- Derivative: \w",
        "example": r"```python\n>>> (.*\n)+```",
    }
    lacking = [
        f"{name}: {part}"
        for name, text in sections.items()
        for part, pattern in parts.items()
        if not re.search(pattern, text)
    ]
    assert not lacking, "\n".join(lacking)


def test_forms_exist(sections):
    for name, text in sections.items():
        forms = re.search(r"- Forms: (.*)", text).group(1)
        for path in re.findall(r"`((?:flambeau|Tensor)\.[\w.]+)`", forms):
            value = flambeau if path.startswith("flambeau.") else flambeau.Tensor
            for part in path.split(".")[1:]:
                value = getattr(value, part)
            assert callable(value) or inspect.isdatadescriptor(value), f"{name}: {path}"


def test_dtypes_are_the_extension_s(sections):
    kinds = re.search(r"- Dtypes: (.*)", sections["bitwise_and"]).group(1)
    assert kinds == "bool, uint8, int8, int16, int32, int64"
    assert "int64" not in re.search(r"- Dtypes: (.*)", sections["gelu"]).group(1)


def session(lines):
    """(inputs, printed lines) of an example."""
    inputs = [line.removeprefix(">>> ") for line in lines if line.startswith(">>> ")]
    return inputs, [line for line in lines if not line.startswith((">>> ", "... "))]


@pytest.mark.parametrize("name", [op.name for op in OPS.values() if op.example])
def test_example_of_the_table(name):
    lines = [line.strip() for line in OPS[name].example.strip().splitlines()]
    inputs, printed = session(lines)
    scope = {"flambeau": flambeau}
    for line in inputs[:-1]:
        exec(line, scope)
    value = repr(eval(inputs[-1], scope))
    if printed:
        assert [line.strip() for line in value.splitlines()] == printed


def test_links_of_the_texts_lead_somewhere():
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
    text = (ROOT / "docs/architecture.md").read_text()
    for path in re.findall(r"`((?:csrc|opgen|tools|tests|python)/[\w./]+)`", text):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"`((?:bind|kernels|runtime|autograd)/\w+\.\w+)`", text):
        assert (ROOT / "csrc" / path).exists(), path
