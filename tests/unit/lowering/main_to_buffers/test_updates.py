"""Updates of carried tensors and states: copies of the part that changes, and right results."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import MemRefType

import stepwell
from stepwell import StepwellError
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.passes import run_pipeline
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.tools import cli
from tests.support.samples import whole

ROW = "tensor<16xf32>"


def gradient_of_a_loop(count: int) -> str:
    """The gradient of softmax after softmax, with a stack of what iterations begin with."""
    text = f"""
func.func @f(%x: {ROW}) -> {ROW} {{
  %n = graph.constant dense<{count}> : tensor<i64>
  %y = graph.for %i to %n (%a = %x : {ROW}) -> ({ROW}) {{
    %b = graph.softmax %a axis 0 : {ROW} -> {ROW}
    graph.yield %b : {ROW}
  }}
  %z = graph.multiply %y, %x : ({ROW}, {ROW}) -> {ROW}
  func.return %z : {ROW}
}}
func.func @main(%x: {ROW}) -> ({ROW}, {ROW}) {{
  %g = graph.gradient @f wrt [0] : ({ROW}) -> ({ROW}, {ROW})
  %y, %dx = graph.call %g(%x) : ({ROW}) -> ({ROW}, {ROW})
  func.return %y, %dx : {ROW}, {ROW}
}}"""
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, "gradient,inline,remove-unused-functions", ctx)
    return str(module)


def copied_in_loops(path: Path, out: Path) -> int:
    """The elements that copies and kernels of one iteration write, of all loops together."""
    assert cli.main(["compile", str(path), "--emit", "loops", "-o", str(out)]) == 0
    module = parse_module(StepwellContext(), out.read_text())
    functions = functions_by_name(module)
    written = 0
    for loop in [op for op in functions["main"].walk() if isinstance(op, scf.ForOp)]:
        for op in loop.body.walk():
            if isinstance(op, memref.CopyOp):
                written += size_of(op.destination)
            elif isinstance(op, func.CallOp):
                kernel = kernel_of(functions[op.callee.string_value()])
                assert kernel is not None
                written += sum(map(size_of, op.arguments[kernel.inputs.data :]))
    return written


def size_of(value: Any) -> int:
    return prod(value.type.get_shape()) if isinstance(value.type, MemRefType) else 0


@whole
def test_an_iteration_writes_the_same_however_long_the_loop_is(tmp_path: Path):
    found: list[int] = []
    for count in (50, 500):
        (tmp_path / "m.mlir").write_text(gradient_of_a_loop(count))
        found.append(copied_in_loops(tmp_path / "m.mlir", tmp_path / "out.mlir"))
    assert found[0] == found[1] <= 16 * 16


def test_the_gradient_of_a_long_loop(tmp_path: Path):
    (tmp_path / "m.mlir").write_text(gradient_of_a_loop(20))
    x = np.random.default_rng(1).standard_normal(16)

    def value(z: Any) -> Any:
        y = z
        for _ in range(20):
            y = np.exp(y - y.max()) / np.exp(y - y.max()).sum()
        return (y * z).sum()

    steps = 1e-6 * np.eye(16)
    wanted = [(value(x + step) - value(x - step)) / 2e-6 for step in steps]
    _, dx = stepwell.compile(tmp_path / "m.mlir", threads=1)(x.astype(np.float32))
    np.testing.assert_allclose(np.asarray(dx, np.float64), wanted, rtol=1e-4)


CACHE = "tensor<1x2x8x3xf32>"
NEW = "tensor<1x2x1x3xf32>"
DECODER = f"""
func.func @main(%k: {CACHE} {{graph.state = "k"}}, %new: {NEW}, %at: tensor<i64>)
    -> (tensor<1x2x8xf32>, {CACHE} {{graph.state = "k"}}) {{
  %j = graph.bind_sizes %at names ["p"] : tensor<i64> -> index
  %b = graph.insert_slice %new into %k at <[0, 0, "p", 0]> : ({NEW}, {CACHE}) -> {CACHE}
  %y = graph.reduce %b kind "sum" axes [3] keep_dims false : {CACHE} -> tensor<1x2x8xf32>
  func.return %y, %b : tensor<1x2x8xf32>, {CACHE}
}}
"""


@pytest.mark.parametrize("keep", [False, True])
def test_a_cache_is_written_where_it_is(tmp_path: Path, keep: bool):
    (tmp_path / "m.mlir").write_text(DECODER)
    model = stepwell.compile(tmp_path / "m.mlir", threads=1, keep_values=keep)
    (state,) = model.image.main.interface.states
    assert state.is_in_place is not keep
    session, wanted = model.session(), np.zeros((1, 2, 8, 3), np.float32)
    rng = np.random.default_rng(2)
    for position in (0, 3, 7, 3):
        new = rng.standard_normal((1, 2, 1, 3)).astype(np.float32)
        wanted[:, :, position : position + 1] = new
        found = session(new, np.array(position))
        np.testing.assert_allclose(np.asarray(found, np.float32), wanted.sum(3), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(session.state["k"], wanted)


def test_a_state_is_not_written_outside(tmp_path: Path):
    (tmp_path / "m.mlir").write_text(DECODER)
    session = stepwell.compile(tmp_path / "m.mlir", threads=1).session()
    new = np.ones((1, 2, 1, 3), np.float32)
    with pytest.raises(StepwellError, match=r"(?s)not lie within its tensor \(offset.*found 8 and 7"):
        session(new, np.array(8))
    session.reset()
    assert np.asarray(session(new, np.array(7))).sum() == 6


ANYWHERE = """
func.func @main(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>, %new: tensor<2x4xf32>, %at: tensor<i64>)
    -> tensor<?x4xf32, #graph.dims<["N", 4]>> {
  %p, %m = graph.bind_sizes %at signed names ["p", "m"] : tensor<i64> -> index, index
  %e = graph.exp %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %y = graph.insert_slice %new into %e at <["p - m", 0]>
    : (tensor<2x4xf32>, tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  func.return %y : tensor<?x4xf32, #graph.dims<["N", 4]>>
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("executor", ["auto", "native", "vm", "interpreter"])
def test_an_update_of_an_intermediate_is_not_written_outside(tmp_path: Path, executor: Any):
    (tmp_path / "m.mlir").write_text(ANYWHERE)
    model = stepwell.compile(tmp_path / "m.mlir", threads=1, executor=executor)
    x, new = np.zeros((5, 4), np.float32), np.full((2, 4), 3, np.float32)
    for at in range(4):
        expected = np.ones((5, 4), np.float32)
        expected[at : at + 2] = 3
        np.testing.assert_array_equal(model(x, new, np.array(at)), expected)
    for rows, at in ((5, -1), (5, 4), (5, 1 << 40), (1, 0)):
        with pytest.raises(StepwellError, match="not lie within its tensor") as caught:
            model(x[:rows], new, np.array(at))
        assert caught.value.code == "index-out-of-range"
