"""Run by PyTorch's interpreter, this records what test_cases.py expects: data/cases.json."""

from __future__ import annotations

import json
import pathlib

import cases
import cases_layers
import shared

assert cases and cases_layers
found = {name: shared.outcome(lambda name=name: shared.run(name)) for name in shared.CASES}
path = pathlib.Path(__file__).parent / "data" / "cases.json"
path.write_text(json.dumps(found))
