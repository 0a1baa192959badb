"""Run by PyTorch's interpreter, this records anew what the expressions in data/*.json give."""

from __future__ import annotations

import json
import pathlib

import overrides_shared
import shared

for name, outcome in (("exchange", shared.outcome), ("overrides", overrides_shared.outcome)):
    path = pathlib.Path(__file__).parent / "data" / f"{name}.json"
    rows = [[row[0], *outcome(row[0])] for row in json.loads(path.read_text())]
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
