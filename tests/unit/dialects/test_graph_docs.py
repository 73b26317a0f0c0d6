"""Every graph op says what it is: an example, its kind, and its meaning in numpy."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.runtime.meaning import has_meaning

WITHOUT_MEANING = {
    f"graph.{name}"
    for name in (
        "assert bind_sizes call check_accesses check_indices check_offsets closure composite constant "
        "define_sizes expression external for function fused get gradient host_call if lambda nest tuple vjp "
        "while yield"
    ).split()
}
"""Ops that hold, call or check something instead of computing it, or compute what their regions say."""


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


@pytest.mark.parametrize("family", sorted(path.stem for path in Path(graph.__file__).parent.glob("*.py")))
def test_every_op_of_a_file_is_of_the_dialect(family: str) -> None:
    """An op that `dialects/graph/__init__.py` does not export is in no dialect."""
    module = import_module(f"{graph.__name__}.{family}")
    own = [found for found in vars(module).values() if isinstance(found, type) and issubclass(found, GraphOp)]
    assert [op for op in own if hasattr(op, "name") and op not in graph.OPS] == []
