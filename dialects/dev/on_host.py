"""Ops of the host in place of a device: an attribute of modules, and nodes refused before."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

ON_HOST = "dev.on_host"
"""Attribute of a module: the ops on the host as text, each with the reason."""
REFUSED: ContextVar[Mapping[str, str]] = ContextVar("stepwell_refused_nodes", default={})  # noqa: B039  # never changed
"""Nodes of the model that a device could not be given code for, with the reasons."""
