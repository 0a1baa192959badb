"""Lines of source per folder, the largest files, and the difference to another commit.

python tools/size.py [--diff REVISION]
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Source proper, whose total the project watches; tests, tools and examples are counted apart.
SOURCE = ("opgen", "csrc", "python")
SUFFIXES = (".py", ".cpp", ".h", ".pyi")


def folder(path: str) -> str:
    """The group of a file: csrc/core, python/flambeau/nn, tests …"""
    parts = pathlib.PurePosixPath(path).parts[:-1]
    depth = {"csrc": 2, "python": 3}.get(parts[0], 1) if parts else 1
    return "/".join(parts[:depth]) or "."


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True
    ).stdout


def tracked(revision: str | None = None) -> dict[str, int]:
    """Lines of each source file, in the working tree or in a commit."""
    if revision is None:
        names = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    else:
        names = git("ls-tree", "-r", "--name-only", revision).splitlines()
    lines = {}
    for name in names:
        if not name.endswith(SUFFIXES):
            continue
        if revision is not None:
            lines[name] = git("show", f"{revision}:{name}").count("\n")
        elif (ROOT / name).is_file():
            lines[name] = (ROOT / name).read_text().count("\n")
    return lines


def by_folder(lines: dict[str, int]) -> Counter[str]:
    total: Counter[str] = Counter()
    for name, count in lines.items():
        total[folder(name)] += count
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--diff", metavar="REVISION", help="also show the change since a commit")
    options = parser.parse_args()
    now = tracked()
    folders = by_folder(now)
    before = by_folder(tracked(options.diff)) if options.diff else folders
    for name in sorted(folders | before):
        change = f"{folders[name] - before[name]:+8,}" if options.diff else ""
        print(f"{folders[name]:8,}{change}  {name}")
    source = sum(n for name, n in folders.items() if name.split("/")[0] in SOURCE)
    print(f"{source:8,}  source lines ({', '.join(SOURCE)})")
    print("largest:")
    for name, count in sorted(now.items(), key=lambda item: -item[1])[:8]:
        print(f"{count:8,}  {name}")


if __name__ == "__main__":
    main()
