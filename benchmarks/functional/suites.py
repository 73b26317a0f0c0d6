"""Suites of checks in processes of their own: the derivatives of all ops, and damaged bytecode files."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter

from benchmarks.functional.rows import Row
from benchmarks.zoo import REPOSITORY

FILES, MOST_S, MOST_GIB = 2_000, 10.0, 1.0
RIGHT, EPOCHS = 97.0, 30
"""The least share of right answers on test digits, in percent."""


def suite_rows(folder: Path) -> Iterator[Row]:
    """The rows of derivatives, of damaged files, and of training to an accuracy."""
    yield _derivatives()
    yield _damaged_files(folder)
    yield _digits(folder)


def _output_of(command: Sequence[str]) -> tuple[int, str, float]:
    """The exit status of a Python program, its output and its seconds."""
    begin = perf_counter()
    made = subprocess.run([sys.executable, *command], cwd=REPOSITORY, capture_output=True, text=True)
    return made.returncode, made.stdout + made.stderr, perf_counter() - begin


def _derivatives() -> Row:
    """Against torch's where torch is installed, in f64 and f32, and against central differences."""
    status, output, seconds = _output_of(["-m", "pytest", "-q", "-n", "0", "tests/derivatives"])
    lines = [line for line in output.splitlines() if re.search(r"\d+ (passed|failed)", line)]
    found = f"{lines[-1] if lines else output[-200:]}"
    peer = "torch" if importlib.util.find_spec("torch") is not None else "central differences"
    what = f"derivatives of all ops, 5 shapes, against {peer} ({seconds:.0f} s)"
    return Row(what, found, "1e-6 in f64, 1e-4 in f32", status == 0)


def _damaged_files(folder: Path) -> Row:
    """Changed bytecode: an error, or a right run."""
    results = ["--results", str(folder / "fuzz.jsonl")]
    status, output, seconds = _output_of(["-m", "tests.fuzz", "bytecode", f"0:{FILES}", *results])
    gib = getrusage(RUSAGE_CHILDREN).ru_maxrss / 2**20
    summary = next((line for line in output.splitlines() if line.startswith("{")), output[-200:])
    return Row(
        f"bytecode: {FILES:,} changed files",
        f"{summary}, {seconds:.1f} s, {gib:.2f} GiB",
        f"error or a right run, < {MOST_S:.0f} s, < {MOST_GIB:.0f} GiB, no crash",
        status == 0 and seconds < MOST_S and gib < MOST_GIB,
    )


def _digits(folder: Path) -> Row:
    """The accuracy on test digits after training by the example."""
    what, bound = f"digits, 64-128-10, Adam, {EPOCHS} epochs", f"> {RIGHT} % of those held out"
    if importlib.util.find_spec("sklearn") is None:
        return Row(what, "not measured: scikit-learn is not installed", bound, None)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        _, output, seconds = _output_of(["examples/train_digits_onnx.py", made])
    share = re.search(r"held out: ([\d.]+) %", output)
    found = f"{share[1]} %, {seconds:.1f} s in all" if share is not None else output[-200:]
    return Row(what, found, bound, share is not None and float(share[1]) > RIGHT)
