"""The default pipeline of level 1 as text."""

from __future__ import annotations

from typing import Any

from stepwell.passes.graph_pipeline import graph_steps
from stepwell.passes.pipelines import text_of
from stepwell.runtime.machine.target import TargetDescription


def graph_pipeline(opt_level: int, target: TargetDescription, *arguments: Any, **options: Any) -> str:
    """The steps of `graph_steps` as text that `parse_passes` reads."""
    return text_of(graph_steps(opt_level, target, *arguments, **options))
