"""Processes in which frameworks read files: bounded in time, and no errors without a code."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.frontend.reader_process import ending, reported_error, run_reader
from stepwell.runtime.errors import StepwellError


def failure() -> StepwellError:
    return StepwellError("invalid-model", "m.x", "the framework cannot read the file")


def test_a_reader_that_does_not_end_is_an_error() -> None:
    with pytest.raises(StepwellError, match="the framework cannot read the file") as caught:
        run_reader(["-c", "import time; time.sleep(60)"], failure(), 1)
    assert caught.value.code == "invalid-model" and "more than 1 seconds" in caught.value.render()


def test_a_reader_imports_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "colorsys.py").write_text("open('trap', 'w')")
    monkeypatch.chdir(tmp_path)
    assert run_reader(["-c", "import colorsys"], failure(), 60).returncode == 0
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize(
    ("program", "code", "message"),
    [
        (
            """print('noise\\n{"code": "unsafe-file", "message": "code", "help": "no"}')""",
            "unsafe-file",
            "code",
        ),
        ("print('{}')", "invalid-model", "the framework cannot read the file"),
        ("sys.stdout.buffer.write(bytes([255]))", "invalid-model", "the framework cannot read the file"),
    ],
)
def test_the_last_line_of_a_reader_is_its_error(program: str, code: str, message: str) -> None:
    done = run_reader(["-c", f"import sys; {program}; sys.exit(3)"], failure(), 60)
    error = reported_error(done, "m.x", failure())
    assert error.code == code and error.message == message and error.where == "m.x"


def test_the_ending_of_a_process_is_a_signal_or_a_status() -> None:
    assert ending(run_reader(["-c", "import os; os.abort()"], failure(), 60).returncode) == "SIGABRT"
    assert ending(3) == "status 3"


def test_a_reader_has_the_data_as_input() -> None:
    assert run_reader(["-c", "print(input())"], failure(), 60, b"text\n").stdout.strip() == b"text"
