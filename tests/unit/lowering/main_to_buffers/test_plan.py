"""The plan of `@main` on buffers: computed without changing the IR, read-only, and printed as a table."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

import stepwell
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched_program import buffers_of, planned_program
from stepwell.dialects.verify import verify_module
from stepwell.lowering.main_to_buffers import MainPlan, PlanMemoryPass
from stepwell.passes.instruments import module_text
from stepwell.runtime.dims import MAX_EXPRESSION_CHARS
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.image import kept_buffers
from stepwell.tools.check.differences import relative_difference
from tests.onnx_models import onnx_model

PROGRAM = """
func.func @main(%x: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %n: tensor<i64>, %N: index)
    -> (tensor<?xf32> {graph.dims = #graph.dims<["data_0"]>})
    attributes {sched.program = #sched.program<symbols = ["N"]>} {
  %a = func.call @scale(%x, %N) : (tensor<?xf32>, index) -> tensor<?xf32>
  %s = graph.bind_sizes %n names ["data_0"] : tensor<i64> -> index
  %b = func.call @cut(%a, %N, %s) : (tensor<?xf32>, index, index) -> tensor<?xf32>
  %c = func.call @scale(%b, %s) : (tensor<?xf32>, index) -> tensor<?xf32>
  func.return %c : tensor<?xf32>
}
func.func private @scale(tensor<?xf32>, index)
  -> (tensor<?xf32> {graph.dims = #graph.dims<["S"]>})
  attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["S"]>}
func.func private @cut(tensor<?xf32>, index, index)
  -> (tensor<?xf32> {graph.dims = #graph.dims<["B"]>})
  attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["A", "B"]>}
"""


def program_of_many_sizes(count: int) -> str:
    """Calls of one kernel, each on an input of another size: the sum of all sizes is a long text."""
    names = [f"{'long_' * 40}name_{i}" for i in range(count)]
    inputs = [f'%x{i}: tensor<?xf32> {{graph.dims = #graph.dims<["{s}"]>}}' for i, s in enumerate(names)]
    calls = (
        f"  %a{i} = func.call @scale(%x{i}, %n{i}) : (tensor<?xf32>, index) -> tensor<?xf32>\n"
        f"  %b{i} = func.call @scale(%a{i}, %n{i}) : (tensor<?xf32>, index) -> tensor<?xf32>\n"
        for i in range(count)
    )
    sizes = ", ".join(f"%n{i}: index" for i in range(count))
    symbols = ", ".join(f'"{name}"' for name in names)
    return (
        f"func.func @main({', '.join(inputs)}, {sizes})"
        f' -> (tensor<?xf32> {{graph.dims = #graph.dims<["{names[0]}"]>}})'
        f" attributes {{sched.program = #sched.program<symbols = [{symbols}]>}} {{\n"
        f"{''.join(calls)}  func.return %b0 : tensor<?xf32>\n}}\n"
        + PROGRAM[PROGRAM.index("func.func private @scale") : PROGRAM.index("func.func private @cut")]
    )


def module(text: str = PROGRAM) -> ModuleOp:
    return parse_module(StepwellContext(), text, "program.mlir")


def test_the_table_has_offsets_slots_symbols_and_error_rows() -> None:
    lines = str(MainPlan.of(module())).splitlines()
    assert [line.split() for line in lines] == [
        ["offset", "bytes", "from", "to", "buffer"],
        ["0", "4", "*", "N", "1", "3", "program.mlir:5:3"],
        ["slot", "1", "4", "*", "data_0", "3", "4", "program.mlir:7:3"],
        "arena: 64 * ((4 * N) ceildiv 64) bytes of 64 * ((4 * N) ceildiv 64) without sharing".split(),
        ["symbol", "N:", "argument", "0"],
        ["symbol", "data_0:", "published", "0"],
        ["error", "row", "1:", "graph.bind_sizes", "at", "program.mlir:6:3"],
    ]


def test_kept_values_of_many_sizes_have_memory_of_their_own() -> None:
    """The arena's size is a longer text than is read, so the program has it in parts."""
    program = module(program_of_many_sizes(20))
    PlanMemoryPass(keep=True).apply(StepwellContext(), program)
    again = module(module_text(program))
    verify_module(again)
    main = next(op for op in again.walk() if isinstance(op, FuncOp) and op.sym_name.data == "main")
    arena = planned_program(main).arena_bytes
    assert len(str(arena)) > MAX_EXPRESSION_CHARS
    kept = [buffer for buffer in kept_buffers(buffers_of(main)) if buffer.memory == "arena"]
    assert [buffer.value for buffer in kept] == ["a0", *(f"{v}{i}" for i in range(1, 20) for v in "ab")]
    sizes = {name: 1 + 40 * number for number, name in enumerate(sorted(arena.symbols()))}
    begins = [buffer.offset.evaluate(sizes) for buffer in kept]
    ends = [
        begin + 4 * prod(d.evaluate(sizes) for d in b.dims) for begin, b in zip(begins, kept, strict=True)
    ]
    in_order = sorted(zip(begins, ends, strict=True))
    assert all(end <= begin for (_, end), (begin, _) in pairwise(in_order))
    assert in_order[0][0] == 0 and in_order[-1][1] <= arena.evaluate(sizes)


def test_begins_of_many_sizes_are_sums_of_those_before() -> None:
    """Sums of their own would be ops that grow with the square of the sizes."""

    def ops_of(count: int) -> int:
        program = module(program_of_many_sizes(count))
        PlanMemoryPass().apply(StepwellContext(), program)
        verify_module(program)
        return sum(1 for _ in program.walk())

    assert ops_of(30) - ops_of(20) == ops_of(20) - ops_of(10)


def test_values_in_an_arena_of_many_sizes_do_not_overlap() -> None:
    names = [f"N{i}" for i in range(6)]
    inputs = ", ".join(f"float[{name}] x{name}" for name in names)
    halves = " ".join(f"a{name} = Softmax (x{name})" for name in names)  # all alive until the last op
    parts = ", ".join(f"a{name}" for name in names)
    text = f"g ({inputs}) => (float[M] y) {{ {halves} c = Concat <axis = 0> ({parts}) y = Softmax (c) }}"
    model = stepwell.compile(onnx_model(text), opt_level=0)
    for sizes in (range(20, 620, 100), range(520, 0, -100)):  # a wrong begin is too small in one order
        feeds = [np.linspace(0, 2, size, dtype=np.float32) for size in sizes]
        found = model.run({f"x{name}": feed for name, feed in zip(names, feeds, strict=True)})["y"]
        wanted = softmax(np.concatenate(list(map(softmax, feeds))))
        assert relative_difference(found, wanted) < 1e-5


def softmax(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.exp(x) / np.exp(x).sum()


def test_planning_changes_nothing_and_the_plan_cannot_change() -> None:
    program = module()
    before = module_text(program)
    plan = MainPlan.of(program)
    assert module_text(program) == before
    with pytest.raises(FrozenInstanceError):
        plan.slots = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        plan.buffers[0].index = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_an_op_that_a_pass_made_and_dropped_does_not_count() -> None:
    program = module()
    call = next(op for op in program.walk() if isinstance(op, CallOp))
    dropped = graph.ReshapeOp(call.results[0], ["N"])
    PlanMemoryPass().apply(StepwellContext(), program)
    assert dropped.parent is None
    verify_module(program)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("func.func @f() {\n  func.return\n}", "no-main"),
        ("func.func private @main() -> ()", "no-main"),
        ("func.func @main(%x: memref<4xf32>) {\n  func.return\n}", "bad-main"),
    ],
)
def test_what_has_no_plan_is_refused(text: str, code: str) -> None:
    with pytest.raises(StepwellError) as found:
        MainPlan.of(module(text))
    assert found.value.code == code


def test_a_broken_plan_leaves_a_reproducer_with_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is of a module without their bodies."""

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    monkeypatch.setattr(PlanMemoryPass, "apply", broken)
    model = onnx_model("g (float[4] x) => (float[4] y) { y = Relu(x) }")
    with pytest.raises(InternalError, match="stepwell-opt .*-p 'plan-memory'"):
        stepwell.compile(model, processes=1)
    (text,) = tmp_path.rglob("*.mlir")
    module = parse_module(StepwellContext(), text.read_text())
    kernels = [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data != "main"]
    assert kernels and not any(kernel.is_declaration for kernel in kernels)
