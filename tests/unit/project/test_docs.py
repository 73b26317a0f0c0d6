"""
The code in README.md, CONTRIBUTING.md and docs/ runs: a page is a session in an empty folder, from its first
block to its last.

- `python`: run in the page's namespace; with `file=NAME` behind the language the block becomes a file
  instead, as does a block of any other language.
- `sh`: run when it starts with one of our commands (or `python`, `cat`); others, such as `pip install`, are
  not.
- `mlir`: parses, verifies and round-trips, unless `…` marks it as a sketch.
- `text` directly after one of these: the output that it must have; `...` stands for anything.

`<!-- not run: why -->` above a block keeps it from running.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import subprocess
import sys
from code import InteractiveInterpreter
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from stepwell.tools.generators.generate_docs import anchor_of
from stepwell.tools.measure.calibrate import MachineLimits
from tests.support.components import needs_program
from tests.support.fragments import check_fragment, halves_of, is_sketch
from tests.support.imports import LAYERS
from tests.support.samples import whole
from tests.support.shell import run_line, runs_in_process

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = ("stepwell ", "stepwell-opt ", "python ", "cat ")
MOST_LINES = 250
LIMITS = MachineLimits({1: 100.0}, {1: 10.0}, {1: 40.0})
"""For `--profile`, which would measure the machine for seconds; test_profile.py does."""

# What the shell of tests does not know.
_NEEDS_A_SHELL = re.compile(r"2>(?!&1)|[$;<]")
_QUOTED = re.compile("'[^']*'")
_STATUS = ' || echo "exit status $?"'
"""What pages write after a command that ends with an error."""
_BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^\n]* -->\n)?^```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    file: str | None
    skipped: bool
    follows: bool
    """Whether nothing but blank lines stands between it and the block before it."""


def blocks_of(page: str) -> Iterator[Block]:
    end = -1
    for match in _BLOCK.finditer(page):
        line = page.count("\n", 0, match.start("language")) + 1
        follows = end >= 0 and not page[end : match.start()].strip()
        end = match.end()
        yield Block(match["language"], match["text"], line, match["file"], bool(match["skip"]), follows)


_COMPILERS = re.compile(r"\b(gcc|g\+\+) ")


class Session(InteractiveInterpreter):
    """A page being read: a folder, and the names that its Python blocks have defined."""

    def __init__(self, folder: Path):
        super().__init__({"__name__": "__main__"})
        self.folder = folder

    def showtraceback(self) -> None:
        raise  # noqa: PLE0704  # called while the block's exception is handled

    def run(self, block: Block) -> str | None:
        """Do what a block says; returns its output, or None when it has none to check."""
        if block.file is not None:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
            return None
        if block.language == "python":
            return self.run_python(block)
        if block.language == "sh" and block.text.startswith(COMMANDS):
            return self.run_shell(block)
        if block.language == "mlir" and not is_sketch(block.text):
            for half in halves_of(block.text):
                check_fragment(half, f"block at line {block.line}")
        return None

    def run_python(self, block: Block) -> str:
        output = io.StringIO()
        with redirect_stdout(output):
            # Empty lines before it, so that an error shows the line of the page.
            self.runcode(compile("\n" * block.line + block.text, "page", "exec"))
        return output.getvalue()

    def run_shell(self, block: Block) -> str:
        """Run the block's lines: in this process, which has imported everything, where they are simple."""
        if _NEEDS_A_SHELL.search(_QUOTED.sub("", block.text.replace(_STATUS, ""))):
            return self.run_bash(block, block.text)
        joined = re.sub(r"\\\n|(?<=\|)\n", " ", block.text)
        lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
        return "".join(self.run_line(block, line) for line in lines)

    def run_line(self, block: Block, line: str) -> str:
        command = line.removesuffix(_STATUS)
        if not runs_in_process(command):
            return self.run_bash(block, line)
        done = run_line(command)
        if done.status and command != line:
            return f"{done.stdout}exit status {done.status}\n"
        assert done.status == 0, f"line {block.line}: exit status {done.status}\n{done.stderr}"
        return done.stdout

    def run_bash(self, block: Block, text: str) -> str:
        for program in _COMPILERS.findall(text):
            needs_program(program)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"line {block.line}: exit status {done.returncode}\n{done.stderr}"
        return done.stdout


def check_output(block: Block, output: str) -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if not doctest.OutputChecker().check_output(block.text, output, options):
        pytest.fail(f"line {block.line}: the page says\n{block.text}\nbut the output is\n{output}")


_SEARCHES = ("docs/debugging.md", "docs/bisect.md")


def _pages() -> Iterator[object]:
    """All pages by their names; two search for faults, with commands that have tests of their own."""
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        yield pytest.param(page, id=name, marks=[whole] if name in _SEARCHES else [])


@pytest.mark.parametrize("page", list(_pages()))
def test_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as for `python` in a folder
    monkeypatch.setattr("stepwell.tools.measure.calibrate._measure", lambda: LIMITS)
    session = Session(tmp_path)
    output: str | None = None
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.skipped:
            output = None
        elif block.language == "text" and block.file is None:
            if block.follows and output is not None:
                check_output(block, output)
            output = None
        else:
            output = session.run(block)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_written_pages_are_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES or "<!-- generated" in text


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}#{anchor}"
        for page in PAGES
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
        if not (file := page.parent / target if target else page).exists()
        or (anchor and file.suffix == ".md" and anchor not in _anchors(file))
    ]
    assert not broken, broken


@cache
def _anchors(page: Path) -> frozenset[str]:
    return frozenset(map(anchor_of, re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)))


def test_files_that_tables_name_are_there() -> None:
    missing = [
        f"{page.relative_to(ROOT)}: {row}: {name}"
        for page in PAGES
        for row in re.findall(r"^\|.*", page.read_text(encoding="utf-8"), re.MULTILINE)
        for name in _missing_files(row)
    ]
    assert not missing, "\n".join(missing)


def _missing_files(row: str) -> Iterator[str]:
    """The files in a table's row that are not there; one without a folder is in that of the name before."""
    folders: list[str] = []
    for name in re.findall(r"`([\w/.]+(?:\.py|/))`", row):
        if "/" in name:
            found = [path for path in _sources() if path.endswith("/" + name)]
            folders = [path[: path.rindex("/") + 1] for path in found]
        else:
            in_folders = {folder + name for folder in folders} & _sources()
            found = not folders or name.startswith("test_") or in_folders
        if not found:
            yield name


@cache
def _sources() -> frozenset[str]:
    """Our source files and folders, from the repository's root: `/runtime/model.py`, `/runtime/link/`."""
    paths = [
        path
        for layer in [*LAYERS, "benchmarks", "tests"]
        for path in (ROOT / layer, *(ROOT / layer).rglob("*"))
    ]
    return frozenset(f"/{path.relative_to(ROOT).as_posix()}{'/' * path.is_dir()}" for path in paths)
