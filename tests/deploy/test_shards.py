"""Runs in parts, which go on where they were ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.matrix import cell, table
from tests.deploy.shards import Outcome, outcomes, shard_of
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow

CASES = """
import pathlib, pytest
@pytest.mark.parametrize("i", range(5))
def test_case(i):
    if i == 3:
        pytest.skip("for a reason")
    assert i != 2 or pathlib.Path("mended").exists()
"""


def run(folder: Path, *options: str) -> tuple[int, str]:
    (folder / "test_cases.py").write_text(CASES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.deploy.shards", "--rootdir", str(folder)]
    command += ["--import-mode=importlib", str(folder / "test_cases.py"), *options]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_shards_and_resumption(workers: str, tmp_path: Path) -> None:
    status, shown = run(tmp_path, "-n", workers, "--shard", "1/2")
    assert status == 1 and "1 failed, 2 passed" in shown
    status, shown = run(tmp_path, "-n", workers, "--shard", "2/2")
    assert status == 0 and "1 passed, 1 skipped" in shown
    file = tmp_path / "build/deploy.jsonl"
    with file.open("a") as half:
        half.write('\n{"case": "cut o')
    found = {case.rpartition("::")[2]: row for case, row in outcomes(file).items()}
    assert [found[f"test_case[{i}]"].outcome for i in range(5)] == [
        "passed",
        "passed",
        "failed",
        "skipped",
        "passed",
    ]
    assert found["test_case[3]"].reason == "Skipped: for a reason"
    status, shown = run(tmp_path, "-n", workers, "--resume")
    assert status == 1 and "1 failed in" in shown and "without 4 cases" in shown
    (tmp_path / "mended").touch()
    assert run(tmp_path, "-n", workers, "--resume")[0] == 0
    status, shown = run(tmp_path, "-n", workers, "--resume")  # nothing is left
    assert status == 0 and "no tests ran" in shown
    status, shown = run(tmp_path, "-n", workers)
    assert status == 0 and "4 passed, 1 skipped" in shown


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "a/b", "-1/2"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="--shard is I/N"):
        shard_of(text)


def test_the_table_says_what_ran() -> None:
    case = "tests/deploy/test_targets.py::test_a_model_has_each_file_of_each_target[{}]"
    rows = [
        ("armv7-digits", "passed", ""),
        ("armv7-resnet18", "passed", ""),
        ("armv7-gpt_kv", "failed", "E  assert 0"),
        ("armv7-magika", "skipped", "Skipped: magika for armv7: needs-host: 2 operators run in Python"),
        ("cortex-m4-magika", "skipped", "Skipped: magika for cortex-m4: 9 bytes; the files are there"),
    ]
    found = {case.format(name): Outcome(case.format(name), how, why, 1.0) for name, how, why in rows}
    shown = [cell(mcpu, model, found) for mcpu, _, model in (name.rpartition("-") for name, _, _ in rows)]
    assert shown == ["ran", "files", "FAILED", "needs-host", "files"]
    assert cell("armv7", "silero_seq", found) == "–"
    text = table(found)
    assert (
        "| riscv64gcv | .o .a .so .tar | .so | qemu-riscv64 |" in text
        and "1 FAILED, 2 files, 1 needs-host" in text
    )
