"""The table of ops of level 1 with operators of ONNX, and of ops without, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from stepwell.dialects.graph import Graph
from stepwell.lowering.graph_to_onnx import PARTLY, REASONS
from stepwell.tools.generators.reference import code_list

PAGE = "frontends/to-onnx.md"


def form_rows() -> Iterator[str]:
    """The rows of the table: ops with an operator in all forms, in some forms, and in none."""
    names = sorted(op.name for op in Graph.operations if op not in REASONS and op not in PARTLY)
    yield from ("| Op | As ONNX |", "|---|---|", f"| {code_list(names)} | yes |")
    for op, condition in sorted(PARTLY.items(), key=lambda row: row[0].name):
        yield f"| `{op.name}` | {condition} |"
    by_reason: dict[str, list[str]] = {}
    for op, reason in REASONS.items():
        by_reason.setdefault(reason, []).append(op.name)
    for reason, refused in sorted(by_reason.items(), key=lambda row: row[1][0]):
        yield f"| {code_list(sorted(refused))} | no: {reason} |"
