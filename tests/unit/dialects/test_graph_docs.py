"""Every graph op says what it is: an example, its kind, and its meaning in numpy."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.runtime.meaning import has_meaning

WITHOUT_MEANING = {
    f"graph.{name}"
    for name in (
        "assert bind_sizes call check_indices composite constant define_sizes external for function fused "
        "get host_call if lambda tuple while yield"
    ).split()
}
"""Ops that hold, call or check something instead of computing it."""


@pytest.mark.parametrize("op", graph.OPS, ids=lambda op: op.name)
def test_op_is_described(op: type[Operation]) -> None:
    assert issubclass(op, GraphOp)
    assert f"{op.name} " in (op.__doc__ or ""), "the docstring has an example"
    assert "```mlir" in (op.__doc__ or "")
    assert has_meaning(op.name) != (op.name in WITHOUT_MEANING), "an op that computes has a meaning"
    assert getattr(graph, op.__name__, None) is op, "dialects/graph/__init__.py exports it"


def test_names_are_taken_once() -> None:
    names = [op.name for op in graph.OPS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("family", graph.FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_every_op_of_a_file_is_of_the_dialect(family: ModuleType) -> None:
    """An op that its file's `OPS` lacks is in no dialect, and no other test would know of it."""
    own = [found for found in vars(family).values() if isinstance(found, type) and issubclass(found, GraphOp)]
    named = [op for op in own if op.__module__ == family.__name__ and hasattr(op, "name")]
    assert [op for op in named if op not in family.OPS] == []


def test_every_file_of_ops_is_of_the_dialect() -> None:
    folder = Path(graph.__file__).parent
    with_ops = {path.stem for path in folder.glob("*.py") if "\nOPS" in path.read_text(encoding="utf-8")}
    assert with_ops - {"__init__"} == {family.__name__.rpartition(".")[2] for family in graph.FAMILIES}
