"""The rows of a validation by several processes: those of one process, in the same order."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from stepwell.tools.check.rows import Row, Status
from stepwell.tools.check.shared_rows import shared_rows

_PROGRAM = """
import json, os, sys
from stepwell.tools.check.rows import Row, Status
from stepwell.tools.check.shared_rows import shared_rows

parent, ends_early = os.getpid(), sys.argv[2] == "ends-early"

def rows_of(number):
    if ends_early and os.getpid() != parent:
        os._exit(3)
    print("output of a fork is no answer, nor does it fill a pipe" * 2000, flush=True)
    difference = float("inf") if number == 2 else number / 3
    note = "parent" if os.getpid() == parent else "fork"
    row = Row("loop", f"pass-{number}", "k", Status.DIFFERS, difference=difference, note=note)
    return [row] * (number + 1)

rows = shared_rows(rows_of, int(sys.argv[1]), 3)
sys.stderr.write(json.dumps([[row.pass_name, row.status, row.difference, row.note] for row in rows]))
"""


def _rows(count: int, *more: str) -> list[list[object]]:
    command = [sys.executable, "-c", _PROGRAM, str(count), *more]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stderr)


@pytest.mark.sample(3)
@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
@pytest.mark.parametrize("how", ["ends-early", "runs"])
def test_the_rows_are_those_of_one_process(how: str) -> None:
    """Forks give the rows of their kernels; where they end early, this process makes the rows."""
    rows = _rows(7, how)
    assert [row[0] for row in rows] == [f"pass-{n}" for n in range(7) for _ in range(n + 1)]
    assert {row[1] for row in rows} == {"differs"}
    assert [row[2] for row in rows] == [
        float("inf") if n == 2 else n / 3 for n in range(7) for _ in range(n + 1)
    ]
    by = {str(row[0]): row[3] for row in rows}
    others = "parent" if how == "ends-early" else "fork"
    assert [by[f"pass-{n}"] for n in range(7)] == ["parent" if n % 3 == 0 else others for n in range(7)]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_process(count: int) -> None:
    """One process judges all kernels in their order."""
    row = Row("loop", "p", None, Status.RIGHT)
    seen: list[int] = []

    def rows_of(number: int) -> list[Row]:
        seen.append(number)
        return [row]

    assert shared_rows(rows_of, count, 1) == [row] * count
    assert seen == list(range(count))
