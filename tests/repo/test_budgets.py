"""What the project promises to stay under: import time, loaded modules, sizes."""

from __future__ import annotations

import ast
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("opgen", "csrc", "python", "tests", "tools", "examples", "benchmarks")

FILE_LINES = 800
FUNCTION_LINES = 100
IMPORT_SECONDS = 0.10
# Shared machines are noisy: the test only catches what is far off, the module list the cause.
IMPORT_MARGIN = 3
LOADED_MODULES = 60
INSTALLED_MEGABYTES = 100

PROBE = """
import json, sys, time
begin = time.perf_counter()
import flambeau
print(json.dumps({"seconds": time.perf_counter() - begin, "modules": sorted(sys.modules)}))
"""


def sources(*suffixes):
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes and "__pycache__" not in path.parts:
                yield path


def probe():
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_time():
    seconds = statistics.median(probe()["seconds"] for _ in range(5))
    assert seconds <= IMPORT_SECONDS * IMPORT_MARGIN, f"import flambeau took {seconds:.3f} s"


def test_import_loads_little():
    loaded = probe()["modules"]
    own = [m for m in loaded if m.split(".")[0] == "flambeau"]
    assert len(own) <= LOADED_MODULES, own
    unwanted = {"numpy", "scipy", "sympy", "llvmlite", "asyncio", "multiprocessing", "unittest"}
    unwanted |= {"flambeau.compile", "flambeau.distributed", "flambeau.testing"}
    assert not unwanted & set(loaded)


def test_files_are_short():
    long = {}
    for path in sources(".py", ".cpp", ".h", ".pyi"):
        lines = path.read_text().count("\n")
        if lines > FILE_LINES and path.name != "_C.pyi":  # generated
            long[str(path.relative_to(ROOT))] = lines
    assert not long, f"split by noun: {long}"


def test_functions_are_short():
    long = []
    for path in sources(".py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines}")
    assert not long, "\n".join(long)


def test_package_is_small():
    files = (p for p in (ROOT / "python" / "flambeau").rglob("*") if p.is_file())
    megabytes = sum(p.stat().st_size for p in files if p.suffix != ".pyc") / 1e6
    assert megabytes <= INSTALLED_MEGABYTES
