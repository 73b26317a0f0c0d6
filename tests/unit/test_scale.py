"""Graphs of 10,000 ops: no step of the front half needs recursion, or more than seconds."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from benchmarks.compiler import SHAPES
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from stepwell.tools.pipelines import graph_pipeline

OPS = 10_000


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
def test_text_and_back(make: Callable[[int], ModuleOp]) -> None:
    """Verified, printed, parsed and printed the same again."""
    module, text = make(OPS), StringIO()
    verify_module(module)
    Printer(text).print_op(module)
    again = StringIO()
    Printer(again).print_op(parse_module(StepwellContext(), text.getvalue()))
    assert again.getvalue() == text.getvalue()


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
def test_default_graph_pipeline(make: Callable[[int], ModuleOp]) -> None:
    module, ctx = make(OPS), StepwellContext()
    run_pipeline(module, graph_pipeline(2, ctx.target), ctx)
    assert sum(op.name == "graph.fused" for op in module.walk()) >= OPS // 64
    verify_module(module)
