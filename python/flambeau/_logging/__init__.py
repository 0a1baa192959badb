"""Logs of the compiler: there is none, so that nothing is logged."""

from __future__ import annotations

import logging


def set_logs(**kwargs):
    """Accepted: nothing is logged."""


def getArtifactLogger(module_qname, artifact_name):
    """The logger of a module."""
    return logging.getLogger(module_qname)


def warning_once(logger_obj, *args, **kwargs):
    """Logs a warning once."""
    key = (logger_obj.name, args)
    if key not in _said:
        _said.add(key)
        logger_obj.warning(*args, **kwargs)


_said: set = set()
