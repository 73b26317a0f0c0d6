"""Warnings about programs that are valid: of commands on standard error, in Python as warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepwell
from stepwell.tools import cli, opt
from stepwell.tools.driver.written_program import ProgramWarning
from tests.commands import Capture

L, N = "!adt.data<@List, tensor<i64>>", "tensor<i64>"
COVERED = f"""
func.func @main(%l: {L}, %z: {N}) -> {N} {{
  %r = adt.match %l : {L} -> ({N}) case _ {{
    graph.yield %z : {N}
  }} case Cons(%a: {N}, _) {{
    graph.yield %a : {N}
  }}
  func.return %r : {N}
}}
"""
MESSAGE = "case 2 can never be reached: case 1 covers it"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (path := tmp_path / "covered.mlir").write_text(COVERED)
    return path


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("command", [["compile", "--emit", "graph"], []])
def test_commands_print_unreachable_cases(command: list[str], file: Path, capsys: Capture) -> None:
    with pytest.warns(ProgramWarning, match=MESSAGE) as warned:
        main = cli.main if command else opt.main
        assert main([*command[:1], str(file), *command[1:]]) == 0
    assert f"{file}:3:3" in str(warned[0].message)
    capsys.readouterr()


def test_python_warns_at_the_line_of_the_program(file: Path) -> None:
    for read in (lambda: stepwell.read(file), lambda: stepwell.parse(COVERED).verify()):
        with pytest.warns(ProgramWarning, match=MESSAGE) as warned:
            read()
        assert warned[0].filename == __file__


def test_other_programs_warn_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    stepwell.parse(COVERED.replace("case _ {", "case Nil {")).verify()
    assert not [each for each in recwarn if each.category is ProgramWarning]
