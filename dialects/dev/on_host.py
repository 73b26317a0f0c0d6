"""Ops of the host in place of a device: an attribute of modules, and nodes refused before."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

from xdsl.ir import Operation

from stepwell.dialects.locations import node_names

ON_HOST = "dev.on_host"
"""Attribute of a module: the ops on the host as text, each with the reason."""
REFUSED: ContextVar[Mapping[str, str]] = ContextVar("stepwell_refused_nodes", default={})  # noqa: B039  # never changed
"""Nodes of the model that a device could not be given code for, with the reasons."""


def refusal_of(op: Operation) -> str | None:
    """The reason for which a device refused code for a node of an op, or None."""
    if not (refused := REFUSED.get()):
        return None
    return next((refused[name] for name in node_names(op.location) if name in refused), None)
