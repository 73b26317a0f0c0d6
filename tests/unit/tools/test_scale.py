"""Graphs of 2,000 ops: no step of the front half needs recursion, or more than seconds."""

from __future__ import annotations

import cProfile
import tracemalloc
from collections.abc import Callable
from io import StringIO

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

import stepwell
from benchmarks.compiler import SHAPES, product_chain
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.costs.table import overridden
from stepwell.dialects.parser import parse_module
from stepwell.dialects.tensor_ir import groups
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from tests.onnx_models import onnx_model
from tests.support.pipelines import graph_pipeline
from tests.support.samples import whole

OPS = 1_200
"""More than the depth at which Python ends a recursion."""


@pytest.mark.sample(3)
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


@whole
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


def _calls(nodes: int) -> float:
    """Calls of functions in the compilation of a chain: like its time, but the same on each machine."""
    with cProfile.Profile() as profile:
        stepwell.compile(product_chain(nodes), use_cache=False, processes=1)
    return sum(entry.callcount for entry in profile.getstats())


def _bytes(nodes: int) -> float:
    """The most memory that Python's objects take while a chain is compiled."""
    tracemalloc.start()
    try:
        stepwell.compile(product_chain(nodes), use_cache=False, processes=1)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.sample(3)
@pytest.mark.parametrize(("cost", "most"), [(_calls, 9_000), (_bytes, 24_000)])
def test_a_node_more_of_a_kernel_that_is_there(cost: Callable[[int], float], most: float) -> None:
    """Products in a row share one kernel: what a node costs is its part of the graph and of `@main`."""
    few, many = 20, 90
    cost(few)  # what is imported and remembered is not counted
    assert (cost(many) - cost(few)) / (many - few) <= most


def test_a_long_main_computes_the_same() -> None:
    """LLVM takes less care with it, and the IR is given back before."""
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    with overridden(COMPILER, large_main=1_000):
        assert np.array_equal(stepwell.compile(product_chain(9), use_cache=False, processes=1)(x), x)
