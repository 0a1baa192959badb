"""A compiler launcher for `test_new_operator.py`: takes an object from another build if it can.

    python reuse_object.py COMPILER ARGUMENT…

`REUSE_SOURCES` are roots "here=there:…": where a source lies here and in the other build. If its
text is the same in both, the object of the other build (`REUSE_BUILD`) is the result; else the
compiler runs. The caller vouches that headers differ in nothing that such a source uses.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys


def other(source: pathlib.Path) -> pathlib.Path | None:
    for pair in os.environ["REUSE_SOURCES"].split(":"):
        here, there = pair.split("=")
        if source.is_relative_to(here):
            return pathlib.Path(there, source.relative_to(here))
    return None


def main() -> int:
    command = sys.argv[1:]
    if "-c" in command:
        source = pathlib.Path(command[command.index("-c") + 1]).absolute()
        result = pathlib.Path(command[command.index("-o") + 1])
        present = pathlib.Path(os.environ["REUSE_BUILD"], result)
        twin = other(source)
        if twin and twin.exists() and present.exists() and twin.read_bytes() == source.read_bytes():
            shutil.copyfile(present, result)
            pathlib.Path(command[command.index("-MF") + 1]).write_text(f"{result}:\n")
            return 0
        with open(os.environ["REUSE_LOG"], "a") as log:
            print(source.name, file=log)
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
