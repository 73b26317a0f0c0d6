"""The plan of `@main` on buffers: computed without changing the IR, read-only, and printed as a table."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.lowering.main_to_buffers import MainPlan, PlanMemoryPass
from stepwell.passes.instruments import module_text
from stepwell.runtime.errors import StepwellError

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
