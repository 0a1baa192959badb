"""Which names of torch that packages use exist here: reads tests/alias/names.tsv.

python tools/census.py            counts, by how many of 31 packages use a name
python tools/census.py --list 2   also prints what is absent of the names of two and more

A name counts as present where it can be reached as a program reaches it: attribute by attribute,
with an import where a part is a module. Names that only raise when they are used count apart, as
"not built yet".
"""

from __future__ import annotations

import argparse
import csv
import importlib
import inspect
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ROOT / "tests" / "alias" / "names.tsv"


def read():
    """Rows of the list: name, kind, number of packages."""
    with open(NAMES) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [(r["name"], r["kind"], int(r["packages"])) for r in rows]


def find(name):
    """What a name stands for; raises AttributeError or ImportError."""
    flambeau = importlib.import_module("flambeau")
    root, *parts = name.split(".")
    found, module = flambeau, "flambeau"
    if root == "Tensor":
        found, module = flambeau.zeros(1), None  # type: ignore[assignment]
    for part in parts:
        try:
            found = getattr(found, part)
        except RuntimeError:
            if root == "Tensor" and hasattr(flambeau.Tensor, part):
                return None  # a property that is for other tensors, as `values` for sparse ones
            raise
        except AttributeError:
            if module is None:
                raise
            found = importlib.import_module(f"{module}.{part}")
        module = found.__name__ if inspect.ismodule(found) else None
        if module is not None and module.startswith("torch"):
            module = "flambeau" + module.removeprefix("torch")
    return found


def is_absent(value):
    """Whether a class or function only says that it is not built yet."""
    doc = getattr(value, "__doc__", None) or ""
    return doc.startswith("Not built yet")


def fits(kind, value):
    """Whether a value is of a kind of the list, whose "function" and "method" include values."""
    if kind == "class":
        return callable(value)
    if kind == "module":
        return inspect.ismodule(value) or hasattr(value, "__getattr__")
    return kind not in ("function", "op") or not inspect.ismodule(value)


def census():
    """name -> (packages, "present", "not built yet" or the error)."""
    out = {}
    for name, kind, packages in read():
        try:
            value = find(name)
        except (AttributeError, ImportError, RuntimeError) as error:
            out[name] = packages, f"{type(error).__name__}: {error}"
            continue
        if not fits(kind, value):
            out[name] = packages, f"expected a {kind}, got {type(value).__name__}"
        else:
            out[name] = packages, "not built yet" if is_absent(value) else "present"
    return out


def shares(found):
    """[(least packages, names, present, not built yet)]."""
    rows = []
    for least in (10, 5, 3, 2, 1):
        states = [state for packages, state in found.values() if packages >= least]
        rows.append((least, len(states), states.count("present"), states.count("not built yet")))
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", type=int, metavar="PACKAGES")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "python"))
    found = census()
    print("used by  names  present  not built yet  absent")
    for least, names, present, unbuilt in shares(found):
        absent = names - present - unbuilt
        print(f">= {least:<5} {names:>5} {present:>8} {unbuilt:>14} {absent:>7}")
    for name, (packages, state) in found.items():
        if options.list is not None and packages >= options.list and state != "present":
            print(f"{packages:>3} {name}: {state}")


if __name__ == "__main__":
    main()
