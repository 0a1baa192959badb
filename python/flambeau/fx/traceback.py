"""Where nodes of graphs come from: there are no graphs."""

from __future__ import annotations

import contextlib


def has_preserved_node_meta():
    """Whether nodes keep what is known of them: there are none."""
    return False


def preserve_node_meta(enable=True):
    """Context in which nodes keep what is known of them."""
    return contextlib.nullcontext()


def annotate(annotation_dict):
    """Context whose nodes get notes."""
    return contextlib.nullcontext()


def format_stack():
    """The lines of the program, innermost last."""
    import traceback

    return traceback.format_stack()[:-1]
