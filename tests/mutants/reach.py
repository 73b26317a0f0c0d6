"""
The record of which test reaches which line, made with `coverage` for each file of tests.

A batch is a run of some files of tests: the data of `coverage`, the seconds of each test, and the text of the
sources at the time. Files of tests that are new or have changed are recorded in a later batch, which wins.
A line of a source that has changed since is looked up as the line that it was.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any

from tests.mutants.operators import is_inside_function
from tests.mutants.reach_plugin import CONTEXT, TIMES
from tests.mutants.sample import Mutant
from tests.mutants.tree import FOLDERS, WORK, digest_of, environment, source_files
from tests.support.components import needs
from tests.support.imports import ROOT
from tests.support.samples import ALL_CASES

REACH = WORK / "reach"
_SOURCES = WORK / "sources"
_MOST_FILES = 12
"""In a batch; an interrupted record goes on with the next batch."""
_SETTINGS = """
[run]
core = ctrace
parallel = true
data_file = {data}
context = ${{{context}-}}
patch = _exit, fork
source =
    {source}
disable_warnings = no-data-collected, module-not-imported, no-ctracer
"""


@dataclass(frozen=True)
class Batch:
    """A recorded run: its folder, the tree it ran in, digests of files of tests, and seconds of tests."""

    folder: Path
    root: str
    sources: str
    files: Mapping[str, str]
    seconds: Mapping[str, float]

    def reached(self, source: str) -> dict[int, list[str]]:
        """The tests that reach each line of a source."""
        data = needs("coverage").CoverageData(str(self.folder / "coverage"))
        data.read()
        found = data.contexts_by_lineno(f"{self.root}/{source}")
        return {line: [_test_of(context) for context in contexts] for line, contexts in found.items()}

    def line_then(self, mutant: Mutant) -> int:
        """The line of a mutant in its file as that was when it ran, or the nearest before it."""
        old, line = _SOURCES / self.sources / mutant.file, mutant.mutation.line
        if not old.exists():
            return line
        return same_line(old.read_text(encoding="utf-8").splitlines(), mutant.source.splitlines(), line)


def same_line(old: Sequence[str], new: Sequence[str], line: int) -> int:
    """The line of the old text that became a line of the new one, or the nearest before it; from 1."""
    if old == new:
        return line
    best = 1
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        if block.b < line and block.size:
            best = block.a + min(line - block.b, block.size)
    return best


def _test_of(context: str) -> str:
    """The test of a context: the static one of a child process, or the one that was switched to."""
    return context.rpartition("|")[2] or context.partition("|")[0]


def test_files(root: Path) -> list[str]:
    """The files of tests, relative to the root."""
    found = [*(root / "tests").rglob("test_*.py"), *(root / "tests" / "filecheck").rglob("*.mlir")]
    return sorted(path.relative_to(root).as_posix() for path in found)


def batches() -> list[Batch]:
    """The batches on disk, the oldest first."""
    found: list[tuple[float, Batch]] = []
    for path in REACH.glob("*/batch.json"):
        about: Any = json.loads(path.read_text(encoding="utf-8"))
        found.append((path.stat().st_mtime, Batch(path.parent, **about)))
    return [batch for _, batch in sorted(found, key=lambda item: item[0])]


class Reach:
    """The tests that reach mutants, by all batches."""

    def __init__(self) -> None:
        self._batches = batches()
        self._owner = {file: batch for batch in self._batches for file in batch.files}

    def tests_of(self, mutant: Mutant) -> dict[str, float]:
        """
        The tests that reach the line of a mutant, with their seconds.

        What is outside of functions runs when its module is imported, by whichever test comes first: it is
        reached by all tests that reach the file, and by the unit tests of its name.
        """
        inside = is_inside_function(mutant.source, mutant.mutation.line)
        source = PurePosixPath(mutant.file)
        own = set[str]() if inside else {f"tests/unit/{source.with_stem(f'test_{source.stem}')}"}
        found: dict[str, float] = {}
        for batch in self._batches:
            lines = batch.reached(mutant.file)
            wanted = [batch.line_then(mutant)] if inside else list(lines)
            names = own | {name for line in wanted for name in lines.get(line, ())} - {""}
            found |= {
                test: seconds for test, seconds in batch.seconds.items() if self._is_named(test, names, batch)
            }
        return found

    def digest_of(self, mutant: Mutant) -> str:
        """A digest of the files of the tests that reach a mutant."""
        return digest_of(ROOT, sorted({test.partition("::")[0] for test in self.tests_of(mutant)}))

    def _is_named(self, test: str, names: Set[str], batch: Batch) -> bool:
        """Whether a test, or a fixture of its whole file, is among the names, by the file's last record."""
        file = test.partition("::")[0]
        is_last = self._owner.get(file) is batch and (ROOT / file).exists()
        return is_last and (test in names or file in names)


def record(tree: Path, jobs: int, only: Sequence[str] = ("",)) -> Iterator[str]:
    """Record the files of tests that changed since, in several processes; yields a line about each batch."""
    known: dict[str, str] = {}
    for batch in batches():
        known |= batch.files
    stale = [
        f for f in test_files(tree) if f.startswith(tuple(only)) and known.get(f) != digest_of(tree, [f])
    ]
    parts: list[list[str]] = []
    for _, files in groupby(stale, lambda name: PurePosixPath(name).parent):
        names = list(files)
        parts += [names[i : i + _MOST_FILES] for i in range(0, len(names), _MOST_FILES)]
    sources = _keep_sources(tree)
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda files: _record_batch(tree, sources, files), parts)


def _keep_sources(tree: Path) -> str:
    """Copy the sources to a folder named by their digest."""
    digest = digest_of(tree, source_files(tree))
    if not (_SOURCES / digest).exists():
        part = Path(mkdtemp(dir=_made(_SOURCES)))
        for folder in FOLDERS:
            shutil.copytree(tree / folder, part / folder, ignore=shutil.ignore_patterns("__pycache__"))
        part.rename(_SOURCES / digest)
    return digest


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _record_batch(tree: Path, sources: str, files: Sequence[str]) -> str:
    """Run files of tests under `coverage`."""
    folder = Path(mkdtemp(dir=_made(REACH)))
    settings = folder / "coveragerc"
    folders = "\n    ".join(str(tree / name) for name in FOLDERS)
    text = _SETTINGS.format(data=folder / "parts" / "coverage", context=CONTEXT, source=folders)
    settings.write_text(text, encoding="utf-8")
    _made(folder / "parts")
    own = {"COVERAGE_PROCESS_START": str(settings), TIMES: str(folder / "times.json"), ALL_CASES: "1"}
    options = ["-q", "-p", "tests.mutants.reach_plugin", "-p", "no:cacheprovider", "-m", "not slow"]
    with (folder / "log").open("wb") as log:
        status = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *files],
            cwd=tree,
            env=environment(tree, **own),
            stdout=log,
            stderr=subprocess.STDOUT,
        ).returncode
    if not (folder / "times.json").exists():
        return f"{files[0]} …: no record (status {status}): {folder / 'log'}"
    seconds = json.loads((folder / "times.json").read_text(encoding="utf-8"))
    _combine(folder)
    about = {
        "root": str(tree),
        "sources": sources,
        "files": {name: digest_of(tree, [name]) for name in files},
        "seconds": seconds,
    }
    unfinished = folder / "batch.json.part"
    unfinished.write_text(json.dumps(about), encoding="utf-8")
    unfinished.rename(folder / "batch.json")
    total_s = sum(seconds.values())
    return f"{PurePosixPath(files[0]).parent}: {len(files)} files, {len(seconds)} tests, {total_s:.0f} s"


def _combine(folder: Path) -> None:
    """Merge what the processes of a batch wrote."""
    coverage = needs("coverage")
    merged = coverage.CoverageData(str(folder / "coverage"))
    for part in sorted((folder / "parts").iterdir()):
        data = coverage.CoverageData(str(part))
        try:
            data.read()
        except coverage.CoverageException:
            continue  # of a process that was killed while it wrote
        merged.update(data)
    merged.write()
    shutil.rmtree(folder / "parts")
