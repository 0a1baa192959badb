"""Plans of what each process writes and reads."""

from __future__ import annotations

from . import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem

__all__ = ["LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner", "WriteItem"]
