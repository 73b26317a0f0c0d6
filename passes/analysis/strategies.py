"""
The tables of strategies: ways to compute an op, with conditions and estimated cycles.

They are next to the passes that choose, in folders that no other folder may import from: a reference by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

TABLES = {
    "graph.conv": "stepwell.passes.graph.layout.strategies",
    "linalg_ext": "stepwell.passes.tensor.schedule.form_cycles",
}
"""The modules of the tables, by the op or dialect that they are about."""


def strategies_of(kind: str) -> Any:
    """The module with the strategies of an op or dialect."""
    return import_module(TABLES[kind])
