"""Prints what development needs, one requirement a line, from pyproject.toml (the one list)."""

from __future__ import annotations

import pathlib
import tomllib


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    config = tomllib.loads((root / "pyproject.toml").read_text())
    extras = config["project"]["optional-dependencies"]
    groups = (
        config["build-system"]["requires"],
        extras["demo"],
        extras["test"],
        config["dependency-groups"]["dev"],
    )
    print(*dict.fromkeys(line for group in groups for line in group), sep="\n")


if __name__ == "__main__":
    main()
