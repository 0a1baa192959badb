"""Runs the conformance cases and fails when an operator that passed fully no longer does.

    python tools/conformance_gate.py [--suite ../shared/conformance] [--ops REGEX] [--update]

tests/conformance_passing.txt lists the operators that pass, one a line. --update adds the new
ones; nothing takes a line away but an editor and a reason in the change that does it.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTING = ROOT / "tests" / "conformance_passing.txt"
# The suite's word for an operator whose every value, gradient and form check passes.
FULL = "full"


def run_suite(suite: pathlib.Path, ops: str, jobs: int) -> dict[str, str]:
    """Status of every operator in the suite, by name."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        command = [sys.executable, str(suite / "run.py"), "--cases", str(suite / "cases")]
        command += ["--json", str(result), "--jobs", str(jobs), "--ops", ops]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        subprocess.run(command, cwd=folder, env=environment, check=False)
        if not result.exists():
            sys.exit("the conformance runner wrote no result")
        return {op["path"]: op["status"] for op in json.loads(result.read_text())["ops"]}


def listed(path: pathlib.Path) -> set[str]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=pathlib.Path, default=ROOT / "../shared/conformance")
    parser.add_argument("--ops", default="", help="only names that match; lost ones outside pass")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--update", action="store_true", help="add newly passing operators")
    options = parser.parse_args()

    status = run_suite(options.suite.resolve(), options.ops, options.jobs)
    passing = {name for name, value in status.items() if value == FULL}
    expected = listed(LISTING)
    lost = sorted(name for name in expected - passing if not options.ops or name in status)
    new = sorted(passing - expected)
    counts = ", ".join(f"{n} {s}" for s, n in sorted(Counter(status.values()).items()))
    print(f"conformance: {len(status)} operators: {counts}; {len(new)} new, {len(lost)} lost")
    if options.update and new:
        LISTING.write_text("".join(f"{name}\n" for name in sorted(expected | passing)))
        print(f"added to {LISTING.relative_to(ROOT)}: {' '.join(new)}")
    elif new:
        print(f"not listed yet (--update adds them): {' '.join(new)}")
    if lost:
        sys.exit("no longer passing: " + ", ".join(f"{n} ({status.get(n, 'gone')})" for n in lost))


if __name__ == "__main__":
    main()
