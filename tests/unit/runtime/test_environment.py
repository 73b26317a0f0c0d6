"""Environment variables: one table of them, which everything reads and every help page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepwell.runtime.environment import CACHE, VARIABLES
from stepwell.tools import cli, opt

ROOT = Path(__file__).resolve().parents[3]
SOURCES = (
    "benchmarks dialects examples frontend lowering passes patterns runtime stepwell tests tools".split()
)
_NAME = re.compile(r"(?<![A-Za-z_])STEPWELL_[A-Z_]+")


def _places() -> dict[str, list[str]]:
    """The files that name each variable of ours."""
    places: dict[str, list[str]] = {}
    for folder in SOURCES:
        # Those of exported libraries are macros of C.
        for file in (each for each in (ROOT / folder).rglob("*.py") if "export" not in each.as_posix()):
            for name in set(_NAME.findall(file.read_text(encoding="utf-8"))):
                places.setdefault(name, []).append(file.relative_to(ROOT).as_posix())
    return places


def test_every_variable_is_in_the_table() -> None:
    assert sorted(_places()) == sorted(variable.name for variable in VARIABLES)


def test_the_table_alone_reads_them() -> None:
    readers = [
        file.relative_to(ROOT).as_posix()
        for folder in SOURCES
        for file in (ROOT / folder).rglob("*.py")
        if re.search(r"(environ|getenv)[^\n]*STEPWELL_", file.read_text(encoding="utf-8"))
        and file not in (Path(__file__), ROOT / "tests" / "deploy" / "test_models.py")
    ]
    assert not readers, readers


def test_they_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    printed = capsys.readouterr().out
    for variable in VARIABLES:
        assert f"{variable.name}  {variable.meaning} (default: {variable.default})" in printed


def test_the_cache_says_where_it_is_and_how_large(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["cache", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert CACHE.name in printed and "1.07 GB of kernels and 2.15 GB of models" in printed
    assert "clear: remove them all" in printed


def test_every_argument_says_what_it_is() -> None:
    for parser in (*cli.command_lines(cli.COMMANDS).values(), opt.command_line()):
        silent = [argument for argument, text in parser.arguments() if not text]
        assert not silent, (parser.prog, silent)
