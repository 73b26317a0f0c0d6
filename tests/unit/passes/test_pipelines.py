"""The default pipelines of level 1: what runs at which level, and how a user changes it."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from onnx import TensorProto, helper

import stepwell
from stepwell.passes import Pass, parse_passes
from stepwell.passes.context import PassContext
from stepwell.passes.graph.quantize.apply_calibration import ApplyCalibrationPass
from stepwell.passes.pipelines import GRAPH, MARKERS, PARTITION, all_levels
from stepwell.passes.registry import PASSES, load_pass
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import host_target
from stepwell.tools import cli, opt
from tests.support.pipelines import graph_pipeline

TARGET = host_target()


def names(opt_level: int, **options: list[str]) -> list[str]:
    return [step.name for step in parse_passes(graph_pipeline(opt_level, TARGET, **options))]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("opt_level", range(4))
def test_the_pass_context_runs_every_step(opt_level: int) -> None:
    for step in parse_passes(graph_pipeline(opt_level, TARGET)):
        assert isinstance(step, Pass) and step.opt_level <= opt_level, step.name


def test_levels_add_steps_and_keep_their_order() -> None:
    levels = [names(opt_level) for opt_level in range(4)]
    for lower, higher in zip(levels, levels[1:], strict=False):
        rest = iter(higher)
        assert all(name in rest for name in lower)
    assert {*levels[1]} - {*levels[0]} >= {"simplify-expr", "raise-to-row-ops", "fold-scale-axis"}
    assert {*levels[2]} - {*levels[1]} >= {"convert-layout", "pack-weights", "winograd-conv"}
    # Products of codes are joined at level 2, all others at level 3.
    assert [level.count("combine-parallel") for level in levels] == [0, 0, 1, 2]
    assert all(level.count("fuse-ops") == 1 for level in levels)


def test_required_and_disabled() -> None:
    """A required pass runs below its level; disabled wins."""
    assert "pack-weights" in names(0, required=["pack-weights"])
    assert "simplify-expr" not in names(2, disabled=["simplify-expr"])
    both = names(2, required=["simplify-expr"], disabled=["simplify-expr"])
    assert both == names(2, disabled=["simplify-expr"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (path := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    return path


def test_on_the_command_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compile", str(file), "--print-pipeline", "--opt-level", "1"]
    assert (
        cli.main([*arguments, "--require-pass", "CombineParallelDense", "--disable-pass", "SimplifyExpr"])
        == 0
    )
    ran = [step.name for step in parse_passes(capsys.readouterr().out)]
    assert "combine-parallel" in ran and "simplify-expr" not in ran and "convert-layout" not in ran
    assert cli.main([*arguments, "--disable-pass", "simplify-exp"]) == 1
    assert "did you mean simplify-expr" in capsys.readouterr().err
    for option in ("--disable-pass", "--require-pass"):
        assert cli.main([*arguments, option, "vectorize"]) == 1
        assert "the pipeline of level 1 has no vectorize" in capsys.readouterr().err
    assert cli.main(["compile", str(file), "--emit", "graph", "--dump", str(file.parent / "d")]) == 1
    assert "--dump writes every level" in capsys.readouterr().err


def test_remarks_come_with_a_level_too(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", str(file), "--backend", "onnxruntime", "--fallback", "--remarks"]
    with patch.dict(sys.modules, onnxruntime=None):
        assert cli.main([*command, "--emit", "graph"]) == 0
    assert "remark: goes on without a backend" in capsys.readouterr().err


def test_as_options_of_compile(file: Path) -> None:
    with pytest.raises(StepwellError, match="no pass is named"):
        stepwell.compile(file, disabled_passes=["none"])
    assert stepwell.compile(file, disabled_passes=["simplify-expr"]) is not None


def test_no_pass_of_ours_runs_others_before_it() -> None:
    """The pipelines name all that runs."""
    classes = {name: load_pass(name) for name in PASSES}
    hidden = [name for name, made in classes.items() if issubclass(made, Pass) and made.required]
    assert not hidden, hidden


def test_each_step_has_a_reason() -> None:
    """In one sentence, which a shell takes in single quotes."""
    steps = [step for part in all_levels((*GRAPH, *PARTITION), profile=True).values() for step in part]
    wrong = [s for s in steps if not s.reason or {*"'`|\n"} & {*s.reason} or s.reason.endswith(".")]
    assert not wrong, wrong
    assert {step.name for step in steps if step.name not in MARKERS} <= PASSES.keys()


def test_the_printed_pipeline_runs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All levels with reasons, and the same in one line, lead from the model to the last level."""
    assert cli.main(["compile", str(file), "--print-pipeline"]) == 0
    printed = capsys.readouterr().out
    plain = printed.splitlines()[-1].removeprefix("// ")
    assert list(map(str, parse_passes(printed))) == list(map(str, parse_passes(plain)))
    for pipeline in (printed, plain):
        assert opt.main([str(file), "-p", pipeline]) == 0
        assert "llvm.func" in (text := capsys.readouterr().out) and "func.func" not in text


def test_comments_and_line_ends_in_a_pipeline() -> None:
    text = 'cse,  // a, {b\n  // whole line\n match-patterns{file="a//b.mlir"},\ncanonicalize // c'
    assert [str(step) for step in parse_passes(text)] == [
        "cse",
        'match-patterns{file="a//b.mlir"}',
        "canonicalize",
    ]


def test_a_pass_with_options_is_remembered_without_those_of_a_context() -> None:
    text = "unroll-vectors{mcpu=x86-64-v3}"
    (first,) = parse_passes(text)
    with PassContext(config={"unroll-vectors.mcpu": "x86-64-v2", "fuse-ops.max-ops": 3}):
        assert parse_passes(text) == [first]  # what the text sets counts
        (changed,) = parse_passes("fuse-ops")
    assert changed != parse_passes("fuse-ops")[0]
    assert parse_passes(text) == [first]
    assert str(parse_passes("fuse-ops{max-ops=1}")[0]) == "fuse-ops{max_ops=1}"
    with pytest.raises(StepwellError, match="bad-option"):
        parse_passes('fuse-ops{max-ops="1"}')


def test_names_of_files_need_no_quotes_and_numbers_stay_numbers() -> None:
    for text in (
        "apply-calibration{table=a/b.json method=mse}",
        'apply-calibration{table="a/b.json" method=mse}',
    ):
        (made,) = parse_passes(text)
        assert isinstance(made, ApplyCalibrationPass)
        assert (made.table, made.method) == ("a/b.json", "mse")
    (made,) = parse_passes("apply-calibration{percentile=99.5 table=c.json}")
    assert isinstance(made, ApplyCalibrationPass)
    assert (made.percentile, made.table) == (99.5, "c.json")
