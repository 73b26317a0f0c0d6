"""Numbers of pass runs, and limits by number: of runs, and of the rewrites of a pass."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import run_pipeline
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import Instrument
from stepwell.passes.pass_limit import PassLimit, PassRun, RewriteLimit, is_skippable, run_numbers
from stepwell.passes.registry import load_pass
from stepwell.tools import cli, opt
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.pass_runs import pass_runs
from tests.commands import Capture
from tests.onnx_models import onnx_model
from tests.support.samples import whole

NETWORK = """g (float[2, 3, 8, 8] x, float[16, 3, 3, 3] w, float[16, 24] v) => (float[2, 24] p, int64[2, 1] a)
{
  c = Conv <pads = [1, 1, 1, 1]> (x, w)
  r = Relu(c)
  m = GlobalAveragePool(r)
  f = Flatten(m)
  d = MatMul(f, v)
  p = Softmax(d)
  a = ArgMax <axis = 1> (d)
}"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    onnx.save(onnx_model(NETWORK), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


class Recorded(Instrument):
    """Records the numbered runs of passes."""

    def __init__(self) -> None:
        self.runs: list[tuple[int, str]] = []

    def should_run(self, module: ModuleOp, step: ModulePass) -> bool:
        if (numbers := run_numbers()) is not None and not PassContext.current().running:
            self.runs.append((numbers.last, step.name))
        return True


def recorded(file: Path, **context: list[str]) -> list[tuple[int, str]]:
    with PassContext(instruments=[found := Recorded()], **context):  # pyright: ignore[reportArgumentType]
        stepwell.compile(file)
    return found.runs


def test_the_list_has_the_runs_of_a_compilation(file: Path) -> None:
    runs = pass_runs(file, CompileOptions())
    assert recorded(file) == [(run.number, run.name.partition("{")[0]) for run in runs]
    assert [run.number for run in runs] == list(range(1, len(runs) + 1))
    kernels = list(dict.fromkeys(run.kernel for run in runs))
    assert kernels == [None, *(f"k{i}" for i in range(len(kernels) - 2)), "main"]
    assert [*dict.fromkeys(run.level for run in runs)] == ["graph", "tensor", "loop", "llvm"]


@whole
def test_skipped_passes_have_their_numbers(file: Path) -> None:
    every = recorded(file)
    skipped = recorded(file, disabled_pass=["vectorize"])
    assert {*every} - {*skipped} == {run for run in every if run[1] == "vectorize"}
    assert {*skipped} < {*every}


def outputs_at(file: Path, limit: int | None, feeds: Mapping[str, object]) -> Mapping[str, Any]:
    with PassContext(instruments=[] if limit is None else [PassLimit(limit)]):
        return stepwell.compile(file).run(feeds)


@whole
def test_results_are_right_at_every_limit(file: Path) -> None:
    """At some: that of each kind of run, in one kernel and in another."""
    runs = pass_runs(file, CompileOptions())
    rng = np.random.default_rng(0)
    shapes = {"x": (2, 3, 8, 8), "w": (16, 3, 3, 3), "v": (16, 24)}
    feeds = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    wanted = outputs_at(file, None, feeds)
    for limit in [0, *(run.number for run in runs[3::29] if run.skippable)]:
        found = outputs_at(file, limit, feeds)
        np.testing.assert_allclose(found["p"], wanted["p"], rtol=1e-4, err_msg=str(limit))
        np.testing.assert_array_equal(found["a"], wanted["a"])


def test_kernels_before_a_limit_are_cached_and_others_are_not(file: Path) -> None:
    runs = pass_runs(file, CompileOptions())

    def hits(limit: int) -> object:
        with PassContext(instruments=[PassLimit(limit)]):
            return stepwell.compile(file).image.effort["cached kernels"]

    stepwell.compile(file)
    ends = [max(run.number for run in runs if run.kernel == f"k{i}") for i in range(3)]
    assert [hits(end) for end in ends] == [hits(end) for end in ends] == [1, 2, 3]
    assert hits(ends[1] - 1) == 1
    plain = stepwell.compile(file).image
    assert plain.effort["cached kernels"] == plain.summary["kernels"]


def test_conversions_are_needed_and_passes_of_a_plugin_are_not() -> None:
    class Mine(ModulePass):
        name = "mine"

    needed = ["convert-onnx-to-graph", "bufferize", "fuse-ops", "plan-memory", "convert-graph-to-onnx"]
    assert not any(is_skippable(load_pass(name)) for name in needed)
    assert all(is_skippable(step) for step in (Mine, load_pass("simplify-expr"), load_pass("vectorize")))


def test_the_command_lists_and_limits(file: Path, capsys: Capture) -> None:
    assert cli.main(["compile", str(file), "--list-pass-runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["1 graph convert-onnx-to-graph", "2 graph append-to-states"]
    assert any(line.split()[1:] == ["tensor", "k0", "choose-schedules"] for line in lines)
    assert cli.main(["compile", str(file), "--list-pass-runs", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == "stepwell-pass-runs/1" and len(facts["runs"]) == len(lines)
    assert str(PassRun(**facts["runs"][-1])) == lines[-1]
    assert cli.main(["compile", str(file), "--emit", "graph", "--pass-limit", "0", "-o", "-"]) == 0
    assert "graph.fused" in capsys.readouterr().out  # fuse-ops is needed
    assert cli.main(["compile", str(file), "--emit", "loops", "--pass-limit", "9"]) == 1
    assert "--pass-limit counts passes kernel by kernel" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["run", str(file), "--rewrite-limit", "simplify"])
    assert "expected PASS=N, found 'simplify'" in capsys.readouterr().err


TRANSPOSED = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = graph.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %y = graph.transpose %a perm [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""


def test_stepwell_opt_has_limits(tmp_path: Path, capsys: Capture) -> None:
    (path := tmp_path / "m.mlir").write_text(TRANSPOSED)

    def transposes(*options: str) -> int:
        assert opt.main([str(path), "-p", "simplify-expr,fold-constant", *options]) == 0
        return capsys.readouterr().out.count("graph.transpose")

    assert [transposes(), transposes("--pass-limit", "1"), transposes("--pass-limit=0")] == [0, 0, 2]
    limited = [transposes(f"--rewrite-limit={name}=0") for name in ("simplify-expr", "fold-constant")]
    assert limited == [2, 0]


def test_rewrites_are_recorded_in_order() -> None:
    limit = RewriteLimit({}, recorded=["simplify-expr"])
    module = stepwell.parse(TRANSPOSED)
    module.run("simplify-expr", instruments=[limit])
    first = limit.records[0]
    assert [record.number for record in limit.records] == list(range(1, limit.counts["simplify-expr"] + 1))
    assert first.pass_name == "simplify-expr" and first.before and first.after != first.before
    assert all(record.rule and record.op.startswith("graph.") for record in limit.records)
    short = RewriteLimit({"simplify-expr": 1}, recorded=["simplify-expr"])
    stepwell.parse(TRANSPOSED).run("simplify-expr", instruments=[short])
    assert short.records == [first]


def test_an_op_that_becomes_another_is_recorded_by_its_name() -> None:
    module = stepwell.parse(
        "func.func @f(%x: f32) -> f32 {\n  %y = arith.addf %x, %x : f32\n  return %y : f32\n}"
    )
    module.run(
        "convert-loops-to-llvm", instruments=[limit := RewriteLimit({}, recorded=["convert-loops-to-llvm"])]
    )
    (record,) = [each for each in limit.records if each.rule == "FloatOpLowering"]
    assert record.op == "arith.addf"
    assert "arith.addf" in record.before and "llvm.fadd" in record.after


def test_the_debugger_stops_right_before_a_rewrite(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frames of the pattern and of the rewriter are above it; nothing has changed yet."""
    (path := tmp_path / "m.mlir").write_text(TRANSPOSED)
    stops: list[list[str]] = []

    def stop() -> None:
        frame, names = sys._getframe(1), list[str]()  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        stops.append(names)

    monkeypatch.setattr(sys, "breakpointhook", stop)
    assert opt.main([str(path), "-p", "simplify-expr", "--pdb-at", "simplify-expr=1"]) == 0
    (names,) = stops
    assert "match_and_rewrite" in names and "carry_out" in names
    assert "before rewrite 1 of simplify-expr: " in capsys.readouterr().err


def test_records_of_a_pattern_that_takes_a_region_out_first() -> None:
    """bufferize takes the body of a loop nest before its first change by the rewriter."""
    ctx = StepwellContext()
    module = parse_module(
        ctx,
        """
        func.func @f(%x: tensor<i64>) -> tensor<i64> attributes {
            sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
          %e = tensor.empty() : tensor<i64>
          %r = linalg.generic {
              indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
              ins(%x : tensor<i64>) outs(%e : tensor<i64>) {
          ^bb0(%a: i64, %b: i64):
            %s = arith.addi %a, %a : i64
            linalg.yield %s : i64
          } -> tensor<i64>
          func.return %r : tensor<i64>
        }
        """,
    )
    with PassContext(instruments=[limit := RewriteLimit({}, recorded=["bufferize"])]):
        run_pipeline(module, "bufferize", ctx)
    assert any(record.before.count("linalg.generic") == 1 for record in limit.records)
