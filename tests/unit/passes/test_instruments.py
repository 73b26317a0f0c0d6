"""The instruments that are ready to use: times, the IR around passes, snapshots, op counts."""

import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import Pass, PassContext, run_pipeline
from stepwell.passes.instruments import OpCounts, PassTiming, PrintIR, Snapshots
from stepwell.passes.registry import register_pass

TEXT = """
func.func @main(%x: i32) -> i32 {
  %c = arith.constant 0 : i32
  %y = arith.addi %x, %c : i32
  func.return %y : i32
}
"""


@dataclass(frozen=True)
class IdlePass(Pass):
    """Changes nothing."""

    name = "test-idle"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@pytest.fixture
def module() -> ModuleOp:
    register_pass(IdlePass)
    return parse_module(StepwellContext(), TEXT, "test.mlir")


def test_timing_is_a_tree(module: ModuleOp) -> None:
    class OuterPass(Pass):
        name = "test-outer"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            run_pipeline(op, "cse", ctx)

    timing = PassTiming()
    with PassContext(instruments=[timing]):
        run_pipeline(module, [OuterPass(), IdlePass()])
    assert [line.split("%  ")[-1] for line in timing.report().splitlines()[1:]] == [
        "total",
        "  test-outer",
        "    cse",
        "  test-idle",
    ]


def test_ir_is_printed_on_change_and_as_a_diff(module: ModuleOp) -> None:
    stream = io.StringIO()
    with PassContext(instruments=[PrintIR(after=True, only_changes=True, as_diff=True, stream=stream)]):
        run_pipeline(module, "test-idle,canonicalize")
    text = stream.getvalue()
    assert "// IR after test-idle: no change" in text
    assert "-    %y = arith.addi %x, %c : i32" in text


def test_ir_is_printed_around_named_passes(module: ModuleOp) -> None:
    stream = io.StringIO()
    with PassContext(instruments=[PrintIR(before={"cse"}, after={"canonicalize"}, stream=stream)]):
        run_pipeline(module, "canonicalize,cse")
    headers = [line for line in stream.getvalue().splitlines() if line.startswith("// IR")]
    assert headers == ["// IR after canonicalize", "// IR before cse"]


def test_snapshots_and_op_counts(module: ModuleOp, tmp_path: Path) -> None:
    counts = OpCounts()
    with PassContext(instruments=[Snapshots(tmp_path / "ir"), counts]):
        run_pipeline(module, "test-idle,canonicalize")
    names = sorted(path.name for path in (tmp_path / "ir").iterdir())
    assert names == ["01-test-idle.mlir", "02-canonicalize.mlir"]
    assert str(counts.changes[1]) == ("canonicalize: 5 -> 3 ops (arith.addi 1 -> 0, arith.constant 1 -> 0)")


def test_snapshots_of_changes_only(module: ModuleOp, tmp_path: Path) -> None:
    """The first module, then a file for each pass that changed it; numbers without gaps."""
    with PassContext(instruments=[snapshots := Snapshots(tmp_path, only_changes=True)]):
        run_pipeline(module, "test-idle,canonicalize,cse")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00-input.mlir", "01-canonicalize.mlir"]
    names = [(taken.pass_name, taken.path is not None) for taken in snapshots.taken]
    assert names == [("test-idle", False), ("canonicalize", True), ("cse", False)]
