"""Graphs of 4,000 ops: no step of the front half needs recursion, or more than seconds."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

import stepwell
from benchmarks.compiler import SHAPES
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.tensor_ir import groups
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import graph_pipeline
from tests.onnx_models import onnx_model

OPS = 4_000
"""Four times the depth at which Python ends a recursion."""


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


def test_loops_shared_by_many_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the ops in one kernel are twice the work: who joins is compared with its neighbours alone."""
    calls: list[None] = []
    same_tile = vars(groups)["_same_tile"]
    monkeypatch.setattr(groups, "_same_tile", lambda *args: calls.append(None) or same_tile(*args))

    def count(ops: int) -> int:
        calls.clear()
        nodes = " ".join(f"x{i + 1} = Softmax(x{i})" for i in range(ops))
        text = f"g (float[N, 4] x0) => (float[N, 4] x{ops}) {{ {nodes} }}"
        stepwell.compile(onnx_model(text), use_cache=False, processes=1)
        return len(calls)

    assert 0 < count(16) < 3 * count(8)
