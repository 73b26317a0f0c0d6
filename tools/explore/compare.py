"""Two compilations side by side: kernels paired by the nodes of their calls, sorted by what changed most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from stepwell.tools.explore.kernel_steps import Data


def compared(data: Mapping[str, object], other: Mapping[str, object]) -> Data:
    """
    The pairs of calls of two compilations, as JSON values, and the assembly of the other one.

    A call is paired with the call of the other compilation that has most nodes in common; calls of equal
    assembly are `same`. First are the largest changes of time, then of the number of instructions.
    """
    theirs = [(_names(other, call), call) for call in cast("list[Data]", other["calls"])]
    pairs = [_pair(data, other, call, theirs) for call in cast("list[Data]", data["calls"])]
    pairs.sort(key=lambda pair: (pair["same"], -_change(pair["us"]), -_change(pair["instructions"])))
    kernels = cast("list[Data]", other["kernels"])
    texts = {str(kernel["id"]): cast(Data, kernel["asm"])["text"] for kernel in kernels}
    about = {key: other[key] for key in ("title", "command", "target")}
    return {**about, "pairs": pairs, "asm": texts}


def _pair(
    data: Mapping[str, object],
    other: Mapping[str, object],
    call: Data,
    theirs: Sequence[tuple[frozenset[str], Data]],
) -> Data:
    names = _names(data, call)
    shared = max(theirs, key=lambda row: len(names & row[0]) - len(row[0] - names) / 1e6, default=None)
    found = None if shared is None or not names & shared[0] else shared[1]
    both = _kernel(data, call), None if found is None else _kernel(other, found)
    texts = [_bare(kernel) for kernel in both]
    return {
        "nodes": sorted(names),
        "call": call["id"],
        "kernels": [None if kernel is None else kernel["id"] for kernel in both],
        "us": [_median(call), None if found is None else _median(found)],
        "instructions": [None if kernel is None else _instructions(kernel) for kernel in both],
        "code_bytes": [None if kernel is None else kernel["code_bytes"] for kernel in both],
        "spills": [None if kernel is None else kernel["spills"] for kernel in both],
        "same": texts[0] is not None and texts[0] == texts[1],
    }


def _names(data: Mapping[str, object], call: Data) -> frozenset[str]:
    nodes = {node["id"]: str(node["name"]) for node in cast("list[Data]", data["nodes"])}
    return frozenset(nodes[id] for id in cast("list[str]", call["nodes"]))


def _kernel(data: Mapping[str, object], call: Data) -> Data | None:
    kernels = cast("list[Data]", data["kernels"])
    return next((kernel for kernel in kernels if kernel["id"] == call["kernel"]), None)


def _median(call: Data) -> float | None:
    us = cast("Mapping[str, float] | None", call["us"])
    return None if us is None else us["median"]


def _instructions(kernel: Data) -> int:
    return cast("Mapping[str, int]", cast(Data, kernel["asm"])["counts"])["instructions"]


def _bare(kernel: Data | None) -> str | None:
    """The assembly without the kernel's name, which is a hash of its text and of the target."""
    if kernel is None:
        return None
    return str(cast(Data, kernel["asm"])["text"]).replace(str(kernel["symbol"]), "kernel")


def _change(both: object) -> float:
    """The change of a number as a ratio, from 0 on; 0 where one of the two is not known."""
    a, b = cast("Sequence[float | None]", both)
    return abs(b / a - 1) if a and b else 0.0
