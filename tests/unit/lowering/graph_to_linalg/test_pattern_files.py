"""The table by which `convert-graph-to-linalg` imports the files of its patterns."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import matched_op_types
from stepwell.lowering import graph_to_linalg
from stepwell.lowering.graph_to_linalg import patterns_to_linalg
from stepwell.lowering.graph_to_linalg.pattern_files import FILES, GraphPatterns, patterns_in_file
from stepwell.patterns.driver.pattern_set import PatternSet


def classes_of(pattern: type[RewritePattern]) -> list[str]:
    """The op classes that a pattern matches."""
    return [op_type.__name__ for op_type in matched_op_types(pattern())]


def test_the_table_has_all_patterns_by_their_classes() -> None:
    folder = Path(graph_to_linalg.__file__).parent
    files = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if path.stem not in ("__init__", "constants")  # constants are converted last, by a walk of their own
    }
    found = {file: {name for p in patterns_in_file(file) for name in classes_of(p)} for file in files}
    assert {file: sorted(names.split()) for file, names in FILES.items()} == {
        file: sorted(names) for file, names in found.items() if names
    }


@pytest.mark.parametrize("op_type", [graph.ConvOp, graph.AddOp, graph.PowerOp, graph.PoolOp, graph.ExpOp])
def test_a_class_has_the_patterns_of_all_files_in_their_order(op_type: type[Operation]) -> None:
    found = [type(pattern) for pattern in GraphPatterns().of(op_type)]
    assert found and found == [type(pattern) for pattern in PatternSet(patterns_to_linalg()).of(op_type)]


def test_an_op_without_a_lowering_has_no_patterns() -> None:
    assert not GraphPatterns().of(graph.TupleOp)
