"""The differences of a model's calls from a reference, as the debugger finds them, for the explorer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from stepwell.tools.debug.compare import Comparison
from stepwell.tools.debug.session import debug
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.inputs import completed_inputs

NOT_FINITE = 1e30
"""A difference of values whose NaN or infinities are in other places, which JSON has no number for."""


def add_differences(
    data: Data,
    model: Path,
    options: CompileOptions,
    against: str,
    *,
    feeds: Mapping[str, object] | None = None,
    threads: int | None = None,
) -> Comparison:
    """
    Run a model in the debugger, and give the calls in its data their differences from a reference.

    Args: `against` is `reference`, `onnxruntime` or an .npz file; `feeds` as of `collect`.
    Raises: StepwellError as `DebugSession.compare`.
    """
    session = debug(model, replace(options, profile=False), threads=threads)
    session.run(completed_inputs(session.model.interface, feeds or {}))
    comparison = session.compare(against)
    first = comparison.first
    data["against"] = {
        "what": against,
        "first": None if first is None else str(first),
        "unjudged": comparison.unjudged,
    }
    _give(data, comparison)
    return comparison


def _give(data: Data, comparison: Comparison) -> None:
    """Pair calls with the debugger's kernels by their nodes, in the order of the program."""
    names = {node["id"]: str(node["name"]) for node in cast("list[Data]", data["nodes"])}
    known = set(names.values())
    calls: dict[tuple[str, ...], list[Data]] = {}
    for call in cast("list[Data]", data["calls"]):
        calls.setdefault(tuple(names[id] for id in cast("list[str]", call["nodes"])), []).append(call)
    for kernel in comparison.kernels:
        if mine := calls.get(tuple(name for name in kernel.nodes if name in known)):
            found = {"local": kernel.local, "total": kernel.total, "allowed": kernel.allowed}
            mine.pop(0).update({key: _finite(value) for key, value in found.items()})


def _finite(difference: float | None) -> float | None:
    return None if difference is None else min(difference, NOT_FINITE)
