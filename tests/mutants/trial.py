"""A mutant against the tests that reach it, quickest first, in a copy of the tree."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from time import monotonic, time

from tests.mutants.sample import Mutant
from tests.mutants.tree import environment
from tests.mutants.trial_plugin import CHOSEN, PROGRESS
from tests.support.samples import ALL_CASES

LIMIT_S = 120
"""For one mutant."""
_HANG_S = 20
"""A test hangs when it takes so much longer than ten times what it took when it was recorded."""
_FIRST_TESTS = 40
"""They run before the others are collected, which takes seconds, and kill most mutants."""
_NEAR_S = 10
"""The seconds, as recorded, of the tests that run first because of their names."""
_PASSED, _NOTHING_RAN = 0, 5
_HANGS, _TIME_IS_UP = "it hangs", "the time was up"


@dataclass(frozen=True)
class Outcome:
    """The end of a trial: `killed`, `survived` or `unreached`; the test that failed and how; how many ran."""

    status: str
    by: str = ""
    reason: str = ""
    tests: int = 0
    seconds: float = 0.0


def try_mutant(mutant: Mutant, tree: Path, tests: Mapping[str, float], limit_s: float = LIMIT_S) -> Outcome:
    """
    Put a mutant into a copy of the tree and run tests until one fails; the copy is as before afterwards.

    Args: `tests` maps those that reach the mutant to their seconds.
    """
    if not tests:
        return Outcome("unreached")
    text = mutant.text()
    original = (tree / mutant.file).read_bytes()
    try:
        (tree / mutant.file).write_text(text, encoding="utf-8")
        return run_tests(tree, tests, limit_s, mutant.file)
    finally:
        (tree / mutant.file).write_bytes(original)


def run_tests(tree: Path, tests: Mapping[str, float], limit_s: float = LIMIT_S, file: str = "") -> Outcome:
    """
    Run tests in a copy of the tree, quickest first, until one fails or the time is up.

    Some whose path has most of the mutated file's names in it come first: where thousands of tests reach a
    line, the time is up before the others ran.
    """
    order = sorted(tests, key=lambda name: (tests[name], name))
    near = sorted(order, key=lambda name: -_names_shared(name, file))
    ends = accumulate(tests[name] for name in near)
    first = [name for name, end_s in zip(near, ends, strict=True) if end_s <= _NEAR_S]
    order = list(dict.fromkeys([*first, *order]))
    start, ran, reason = monotonic(), 0, ""
    for part in (order[:_FIRST_TESTS], order[_FIRST_TESTS:]):
        left_s = limit_s - (monotonic() - start)
        if part and left_s > 0:
            outcome = _run_part(tree, part, tests, left_s)
            ran, reason = ran + outcome.tests, outcome.reason
            if outcome.status == "killed":
                return replace(outcome, tests=ran, seconds=round(monotonic() - start, 1))
    return Outcome("survived", reason=reason, tests=ran, seconds=round(monotonic() - start, 1))


def _names_shared(test: str, file: str) -> int:
    """The number of names in the path of a source file that are in the path of a test too."""
    words = test.partition("::")[0].replace("-", "_")
    return sum(name in words for name in file.removesuffix(".py").split("/") if name)


def _run_part(tree: Path, part: Sequence[str], tests: Mapping[str, float], limit_s: float) -> Outcome:
    """Run some tests in a process of their own, which ends when one of them hangs or the time is up."""
    beside = tree.with_name(f"{tree.name}-files")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    (beside / "tests").write_text("\n".join(part), encoding="utf-8")
    (beside / "progress").touch()
    files = dict.fromkeys(name.partition("::")[0] for name in part)
    process = _started(tree, beside, list(files))
    try:
        stopped = _wait(process, beside / "progress", tests, limit_s)
    finally:
        _end(process)
    return _outcome(beside, stopped, process.returncode)


def _started(tree: Path, beside: Path, files: Sequence[str]) -> subprocess.Popen[bytes]:
    """A pytest of its own group of processes, whose temporary files and reports are in `beside`."""
    own = {CHOSEN: str(beside / "tests"), PROGRESS: str(beside / "progress"), "TMPDIR": str(beside)}
    own[ALL_CASES] = "1"
    own["HYPOTHESIS_STORAGE_DIRECTORY"] = str(beside / "hypothesis")
    options = [
        "-x",
        "-q",
        "-p",
        "tests.mutants.trial_plugin",
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed=0",
    ]
    with (beside / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, "-m", "not slow", *files],
            cwd=tree,
            env=environment(tree, **own),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _outcome(beside: Path, stopped: str, status: int) -> Outcome:
    """The outcome of a pytest that ended with a status, or was stopped for a reason."""
    lines = (beside / "progress").read_text(encoding="utf-8").splitlines()
    started = [line.removeprefix("start ") for line in lines if line.startswith("start ")]
    failed = next((line.removeprefix("failed ") for line in lines if line.startswith("failed ")), None)
    last = started[-1] if started else ""
    if failed is not None:
        name, _, reason = failed.partition("\t")
        return Outcome("killed", name, reason, len(started))
    if stopped == _HANGS:
        return Outcome("killed", last, stopped, len(started))
    if stopped or status == _PASSED:
        return Outcome("survived", reason=stopped, tests=len(started))
    tail = (beside / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    reason = f"status {status}: {' '.join(tail)[:200]}"
    if status == _NOTHING_RAN or "file or directory not found" in reason:
        raise RuntimeError(f"no test was found: {reason}")
    return Outcome("killed", last, reason, len(started))


def _wait(
    process: subprocess.Popen[bytes], progress: Path, tests: Mapping[str, float], limit_s: float
) -> str:
    """Wait for a trial's end; returns why it must be stopped, or nothing."""
    start = monotonic()
    while monotonic() - start < limit_s:
        try:
            process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            pass
        else:
            return ""
        seen = progress.read_text(encoding="utf-8").splitlines()
        if not seen:
            continue
        idle_s = max(0.0, time() - progress.stat().st_mtime)
        name = seen[-1].removeprefix("start ")
        if idle_s > _HANG_S + 10 * tests.get(name, 0):
            return _HANGS
    return _TIME_IS_UP


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those that it started."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
