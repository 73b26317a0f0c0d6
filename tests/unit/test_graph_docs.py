"""Every graph op says what it is: an example, its kind, and its meaning in numpy."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.runtime.meaning import has_meaning


@pytest.mark.parametrize("op", graph.OPS, ids=lambda op: op.name)
def test_op_is_described(op: type[Operation]) -> None:
    assert issubclass(op, GraphOp)
    assert f"{op.name} " in (op.__doc__ or ""), "the docstring has an example"
    assert "```mlir" in (op.__doc__ or "")
    assert has_meaning(op.name) or op.KIND is Kind.STRUCTURE, "an op that computes has a meaning"


def test_names_are_taken_once() -> None:
    names = [op.name for op in graph.OPS]
    assert len(names) == len(set(names))
