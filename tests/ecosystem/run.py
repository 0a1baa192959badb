"""Runs unmodified packages from PyPI on flambeau and compares their numbers with PyTorch's.

usage: run.py [NAME ...] [--jobs N] [--verbose]     runs all cases, or those whose name begins so
       run.py [NAME ...] --record PYTHON            records with an interpreter that has PyTorch

A case is ``cases/<package>.py`` or ``cases/<package>_<topic>.py``: a PyTorch script that prints one
JSON object last. ``golden/`` holds what PyTorch printed. Numbers agree within 1e-4 of the value and
1e-5 absolute, integers, strings and truth values when equal; a case may set others for its keys::

    TOLERANCE = {"loss*": (1e-3, 1e-4)}     # fnmatch pattern of the key path: (relative, absolute)

The packages come from the interpreter that runs this file (``make test-ecosystem`` prepares one).
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import dataclasses
import fnmatch
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CASES, GOLDEN = HERE / "cases", HERE / "golden"
TIME_LIMIT = 600
DEFAULT_TOLERANCE = (1e-4, 1e-5)
SHOWN = 3  # differences of a case that are printed without --verbose


@dataclasses.dataclass
class Outcome:
    """What became of one case."""

    name: str
    imports: bool = False
    runs: bool = False
    agrees: bool = False
    seconds: float = 0.0
    problems: list[str] = dataclasses.field(default_factory=list)
    log: str = ""


def requirements() -> dict[str, str]:
    """Package (as a module is written) -> pinned version."""
    pins = {}
    for file in ("requirements.txt", "requirements-no-deps.txt"):
        for line in (HERE / file).read_text().splitlines():
            name, separator, version = line.partition("#")[0].strip().partition("==")
            if separator:
                pins[re.sub(r"[-.]+", "_", name).lower()] = version
    return pins


def package_of(case: str, pins: dict[str, str]) -> str | None:
    """The pinned package a case is about: the longest that its name begins with."""
    fits = [name for name in pins if case == name or case.startswith(name + "_")]
    return max(fits, key=len, default=None)


def tolerances(path: pathlib.Path) -> dict[str, tuple[float, float]]:
    """The literal TOLERANCE of a case."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TOLERANCE":
            return ast.literal_eval(node.value)
    return {}


def differences(want, got, rules: dict[str, tuple[float, float]], path: str = "") -> list[str]:
    """What differs, as lines that begin with the key path."""
    if isinstance(want, dict) and isinstance(got, dict):
        lines = [f"{path}{key}: missing" for key in want if key not in got]
        lines += [f"{path}{key}: not recorded" for key in got if key not in want]
        for key in want:
            if key in got:
                lines += differences(want[key], got[key], rules, f"{path}{key}")
        return lines
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return [f"{path}: {len(got)} elements instead of {len(want)}"]
        lines = []
        for index, (one, other) in enumerate(zip(want, got)):
            lines += differences(one, other, rules, f"{path}[{index}]")
        return lines
    if type(want) is float and type(got) in (float, int):
        relative, absolute = DEFAULT_TOLERANCE
        for pattern, rule in rules.items():
            if fnmatch.fnmatchcase(re.sub(r"\[\d+\]", "", path), pattern):
                relative, absolute = rule
        if math.isclose(want, got, rel_tol=relative, abs_tol=absolute):
            return []
        if math.isnan(want) and math.isnan(got):
            return []
    elif type(want) is type(got) and want == got:
        return []
    return [f"{path}: {got!r} instead of {want!r}"]


def failed_at_import(source: str, trace: str, path: pathlib.Path) -> bool:
    """Whether a traceback goes through an import statement of the case (or never reached it)."""
    found = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', trace)
    if not found:
        return True
    line = int(found[0])
    return any(
        isinstance(node, ast.Import | ast.ImportFrom) and node.lineno <= line <= node.end_lineno
        for node in ast.parse(source).body
    )


def error_of(trace: str, path: pathlib.Path) -> str:
    """The error at the end of a traceback with the places a reader looks for."""
    lines = trace.rstrip().splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(r"[A-Za-z_][\w.]*(:|$)", line)]
    if not starts:
        return "no traceback: " + " ".join(lines[-1:])
    message = " ".join(" ".join(lines[starts[-1] :]).split())
    if len(starts) > 1:  # what another exception was raised for says more
        message = f"{lines[starts[0]][:300]}; then {message[:120]}"
    places = re.findall(r'File "([^"]+)", line (\d+)', trace)
    ours = [f"line {line}" for file, line in places if file == str(path)]
    first = trace[: trace.index(lines[starts[0]])]
    last = re.findall(r'File "([^"]+)", line (\d+)', first)[-1:]
    last = [f"{'/'.join(pathlib.Path(file).parts[-3:])}:{line}" for file, line in last]
    where = ", ".join(dict.fromkeys(ours[-1:] + last))
    return f"{message[:400]}  ({where})" if where else message[:400]


def environment(**added: str) -> dict[str, str]:
    """The variables under which both sides run: nothing is asked of a network."""
    fixed = {
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "Agg",
    }
    return {**os.environ, **fixed, **added}


def execute(command: list[str], env: dict[str, str]) -> tuple[int, str, str, float]:
    """Return code, standard output, standard error, seconds."""
    before = time.monotonic()
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired as error:
        text = error.stderr if isinstance(error.stderr, str) else ""
        return 124, "", f"{text}\nTimeoutExpired: over {TIME_LIMIT} s", time.monotonic() - before
    return done.returncode, done.stdout, done.stderr, time.monotonic() - before


def printed(output: str):
    """The JSON object in the last line of the output."""
    value = json.loads(output.strip().splitlines()[-1])
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def run_case(name: str) -> Outcome:
    """Runs a case under `flambeau run` and compares."""
    path = CASES / f"{name}.py"
    outcome = Outcome(name)
    paths = [str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    # -P: a case may have the name of its package.
    command = [sys.executable, "-P", "-m", "flambeau", "run", str(path)]
    code, output, outcome.log, outcome.seconds = execute(
        command, environment(PYTHONPATH=os.pathsep.join(paths))
    )
    if code != 0:
        outcome.imports = not failed_at_import(path.read_text(), outcome.log, path)
        reason = f"killed by signal {-code}: " if code < 0 else ""
        outcome.problems.append(reason + error_of(outcome.log, path))
        return outcome
    outcome.imports = True
    try:
        got = printed(output)
    except (ValueError, IndexError):
        outcome.problems.append(f"the last line is no JSON object: {output.strip()[-200:]!r}")
        return outcome
    outcome.runs = True
    recorded = GOLDEN / f"{name}.json"
    if not recorded.exists():
        outcome.problems.append("nothing is recorded: see --record")
        return outcome
    want = json.loads(recorded.read_text())["values"]
    outcome.problems = differences(want, got, tolerances(path))
    outcome.agrees = not outcome.problems
    return outcome


def record(name: str, python: str) -> bool:
    """Writes golden/<name>.json with what PyTorch prints."""
    env = environment(PYTHONPATH=sysconfig.get_path("purelib"))
    code, version, _, _ = execute([python, "-c", "import torch; print(torch.__version__)"], env)
    if code == 0:
        code, output, log, seconds = execute([python, "-P", str(CASES / f"{name}.py")], env)
    if code != 0:
        print(f"{name}: {error_of(log, CASES / f'{name}.py')}")
        return False
    content = {"torch": version.strip(), "values": printed(output)}
    (GOLDEN / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    print(f"{name}: recorded in {seconds:.1f} s")
    return True


def show(outcome: Outcome, pins: dict[str, str], verbose: bool) -> None:
    """One line of the table, then what is wrong."""
    package = package_of(outcome.name, pins)
    marks = ("yes" if mark else "NO" for mark in (outcome.imports, outcome.runs, outcome.agrees))
    version = pins.get(package or "", "?")
    print("{:30} {:9} {:8} {:6} {:14}".format(outcome.name, version, *marks), end="")
    print(f"{outcome.seconds:6.1f} s")
    shown = outcome.problems if verbose else outcome.problems[:SHOWN]
    for problem in shown:
        print(f"    {problem}")
    if len(outcome.problems) > len(shown):
        print(f"    … {len(outcome.problems) - len(shown)} more")
    if verbose and not outcome.runs:
        print(outcome.log)
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--record", metavar="PYTHON", help="record with this interpreter's PyTorch")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--verbose", action="store_true", help="all differences, whole tracebacks")
    options = parser.parse_args()
    names = sorted(path.stem for path in CASES.glob("*.py"))
    unknown = [one for one in options.names if not any(name.startswith(one) for name in names)]
    if unknown:
        parser.error(f"no case begins with {', '.join(unknown)}")
    if options.names:
        names = [name for name in names if name.startswith(tuple(options.names))]
    if options.record:
        return 0 if all([record(name, options.record) for name in names]) else 1
    pins = requirements()
    print("{:30} {:9} {:8} {:6} {}".format("case", "version", "imports", "runs", "numbers agree"))
    good = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(run_case, names):
            show(outcome, pins, options.verbose)
            good += outcome.agrees
    print(f"{good} of {len(names)} cases agree with PyTorch")
    return 0 if good == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
