"""Instructions of one call, counted by valgrind: the same on a busy machine as on an idle one.

    python benchmarks/overhead.py [--module flambeau] [--python PATH] [--json FILE] [CASE …]

Each case runs in a fresh process under callgrind with few and with many repetitions; the
difference holds the calls alone, without start-up. Compare with another module that has the same
API by naming it and the interpreter that has it.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEW, MANY = 1_000, 11_000

# name: (set-up, repetitions as a part of MANY, statement); `m` is the module under test.
CASES = {
    "add": ("x = m.ones(4)", 1, "x + x"),
    "mul_scalar": ("x = m.ones(4)", 1, "x * 2.0"),
    "view": ("x = m.ones(4, 4)", 1, "x.view(16)"),
    "index": ("x = m.ones(4, 4)", 1, "x[1]"),
    "linear": ("f = m.nn.Linear(8, 8); x = m.ones(1, 8)", 5, "f(x)"),
    "linear_backward": ("f = m.nn.Linear(8, 8); x = m.ones(1, 8)", 5, "f(x).sum().backward()"),
}

PROGRAM = """
import importlib
m = importlib.import_module({module!r})
m.set_num_threads(1)
def run(count):
    {setup}
    for _ in range(100 + count):
        {statement}
run({count})
"""


def instructions(python: str, program: str) -> int:
    """Instructions that a fresh interpreter executes for a program."""
    with tempfile.TemporaryDirectory() as folder:
        # OpenBLAS would try instructions that valgrind does not know; threads would add noise.
        environment = {
            **os.environ,
            "OPENBLAS_CORETYPE": "Haswell",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
        }
        out = pathlib.Path(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        done = subprocess.run(
            [*command, python, "-c", program], env=environment, capture_output=True, text=True
        )
        found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
        if done.returncode or not found:
            sys.exit(f"{python} failed under valgrind:\n{done.stderr[-2000:]}")
        return int(found.group(1))


def measure(python: str, module: str, case: str) -> int:
    """Instructions of one execution of a case's statement."""
    setup, part, statement = CASES[case]
    few, many = FEW // part, MANY // part
    totals = [
        instructions(
            python,
            PROGRAM.format(module=module, setup=setup, statement=statement, count=count),
        )
        for count in (few, many)
    ]
    return round((totals[1] - totals[0]) / (many - few))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--module", default="flambeau")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has it")
    parser.add_argument("--json", type=pathlib.Path, help="also write the counts to this file")
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"unknown case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if not shutil.which("valgrind"):
        sys.exit("overhead.py needs valgrind (Debian: apt-get install valgrind)")
    # so that no counted process compiles the modules' bytecode
    warm = PROGRAM.format(module=options.module, setup="x = m.nn.ReLU()", statement="x", count=0)
    subprocess.run([options.python, "-c", warm], cwd=ROOT / "python", check=True)
    counts = {}
    print(f"instructions per call, {options.module}")
    for case in options.cases or CASES:
        counts[case] = measure(options.python, options.module, case)
        print(f"{counts[case]:10,}  {CASES[case][2]}", flush=True)
    print(json.dumps(counts))
    if options.json:
        options.json.write_text(json.dumps({"module": options.module, "counts": counts}) + "\n")


if __name__ == "__main__":
    main()
