"""`stepwell tune --show`, `--merge`, `--prune`, `--export`, `--check`, `--suggest`, and wrong usage."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stepwell import __version__
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import host_target
from stepwell.tools import cli
from stepwell.tools.records.database import Database, write_records
from stepwell.tools.records.record import TaskRecord, Trial
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.recheck import recheck
from stepwell.tools.tuning.report import TuningReport
from stepwell.tools.tuning.suggest import suggestions

KERNEL = (
    "func.func private @kernel(%0: tensor<40x24xf32>) -> tensor<24x40xf32> attributes "
    "{sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {\n"
    "  %1 = tensor.empty() : tensor<24x40xf32>\n"
    "  %2 = linalg.generic {"
    "indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], "
    'iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<40x24xf32>) outs(%1 : tensor<24x40xf32>) {\n'
    "  ^bb0(%3: f32, %4: f32):\n    linalg.yield %3 : f32\n  } -> tensor<24x40xf32>\n"
    "  func.return %2 : tensor<24x40xf32>\n}"
)
SCRIPT = "{tiles = [#sched.schedule<tile = [1, 8], order = [1, 0], parallel = [1, 0], vectorize = 1>]}"
TASK = TaskRecord("9f" * 16, KERNEL, 0, 7680, "transposed")


def trial() -> Trial:
    here = target_digest(host_target()), machine_name()
    return Trial(
        TASK.task, *here, 1, SCRIPT, "ok", ratio=(1.5, 1.4, 1.6), confirmed=True, stepwell=__version__
    )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    write_records(tmp_path / "t.jsonl", [TASK, trial(), replace(trial(), script="{}", status="slower")])
    return tmp_path / "t.jsonl"


def test_show_lists_what_is_used(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tune", "--show", str(database)]) == 0
    text = capsys.readouterr().out
    assert "transposed" in text and "1.50 (1.40-1.60)" in text and "2 trials, 1 gains" in text


def test_merge_prune_and_export_write_files(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both, text = database.with_name("both.jsonl"), database.with_name("best.txt")
    assert cli.main(["tune", "--merge", str(database), str(database), "-o", str(both)]) == 0
    assert len(Database(both).read().trials) == 2
    assert cli.main(["tune", "--prune", str(both), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"records": 2}
    content = Database(both).read()
    assert content.trials == [trial()] and content.tasks == {TASK.task: TASK}
    assert cli.main(["tune", "--export", str(both), "-o", str(text)]) == 0
    assert f"sched.tuned = {SCRIPT}" in text.read_text() and "// transposed: 1.50" in text.read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--show", "none.jsonl"], 1, "no-file"),
        (["--merge", "a", "b"], 2, "-o FILE"),
        (["--show", "a", "--prune", "b"], 2, "one of them at a time"),
        ([], 2, "name a MODEL"),
        (["m.onnx", "--time", "0"], 2, "a time above 0"),
        (["m.onnx", "--time", "soon"], 2, "a time above 0"),
        (["m.stepwell"], 1, "no-source"),
    ],
)
def test_wrong_usage(
    arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        found = cli.main(["tune", *arguments])
    except SystemExit as end:
        found = end.code
    assert found == status and words in capsys.readouterr().err


def test_records_are_checked_and_suggest_rules(database: Path) -> None:
    """By estimates instead of a clock: the record holds or is stale, and the file says which."""
    runner = LocalRunner(clock="model")
    try:
        (row,) = recheck(Database(database), runner)
        after = Database(database).read().trials[-1]
        assert after.line() == row.after.line()
        assert after.status in ("ok", "stale") and after.confirmed == row.holds
        write_records(database, [TASK, trial()])
        found = suggestions(Database(database).read(), runner)
        write_records(database, [TASK, replace(trial(), script="{tiles = [unit, unit]}")])
        (row,) = recheck(Database(database), runner)
    finally:
        runner.close()
    assert {each.family for each in found} == {"transpose"} and not any(each.is_rule for each in found)
    assert "another order of loops" in [each.what for each in found]
    assert row.after.status == "stale" and "illegal" in row.after.why


def test_numbers_of_threads_share_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[int, float]] = []

    def tuned(model: object, *, threads: int, time: float, **_: object) -> TuningReport:
        asked.append((threads, time))
        return TuningReport(f"on {threads}", "db", [], None, [], {}, {}, {}, 1.0, {}, threads=threads)

    monkeypatch.setattr("stepwell.tools.tuning.tune.tune", tuned)
    (model := tmp_path / "m.mlir").write_text("builtin.module {}")
    assert cli.main(["tune", str(model), "--time", "10m", "--threads", "2,1,2", "--json"]) == 0
    assert [run["threads"] for run in json.loads(capsys.readouterr().out)["runs"]] == [2, 1]
    (first, second), left = asked, 600
    assert (first[0], second[0]) == (2, 1) and 250 < first[1] <= left / 2 < second[1] <= left
    with pytest.raises(SystemExit):
        cli.main(["tune", str(model), "--threads", "1,0"])
    assert "expected a number from 1 on, found '0'" in capsys.readouterr().err


def test_a_report_says_which_part_gains_nothing() -> None:
    made = TuningReport("m", "db", [], None, [], {}, {}, {}, 1.0, {})
    assert str(made).endswith("0 trials; nothing gains: compilations stay as they are")
    planned = str(replace(made, notes=["winograd = fast: 1.11 (1.09-1.15) is used"]))
    assert "no kernel gains" in planned and "stay as they are" not in planned
