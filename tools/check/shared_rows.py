"""The rows of a validation by several processes, each of which judges some of the kernels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import IO

from stepwell.runtime.machine.fork import Fork, can_fork, without_output
from stepwell.tools.check.rows import Row, Status


def shared_rows(rows_of: Callable[[int], list[Row]], count: int, processes: int) -> list[Row]:
    """
    The rows of kernels 0 to `count` - 1, in their order.

    Processes are forks of this one, which have the kernels and their inputs, and take turns in the order of
    kernels: neighbours are about equally large. Where this process cannot be forked, and for the kernels of a
    fork that ended early, it does all itself.
    """
    processes = max(1, min(processes, count)) if can_fork() else 1
    others = [_started(rows_of, range(number, count, processes)) for number in range(1, processes)]
    try:
        found = _rows(rows_of, range(0, count, processes))
        for other in others:
            found |= _answer(other)
    finally:
        for other in others:
            other.close()
    found |= _rows(rows_of, [number for number in range(count) if number not in found])
    return [row for number in range(count) for row in found[number]]


def _rows(rows_of: Callable[[int], list[Row]], numbers: Iterable[int]) -> dict[int, list[Row]]:
    return {number: rows_of(number) for number in numbers}


def _started(rows_of: Callable[[int], list[Row]], numbers: range) -> Fork:
    """A forked process that writes the rows of some kernels as JSON when it has them all."""

    def run(requests: IO[bytes], answers: IO[bytes]) -> None:
        without_output()
        found = [(number, [asdict(row) for row in rows_of(number)]) for number in numbers]
        answers.write(json.dumps(found).encode())  # waits where a pipe is full: not before the end

    return Fork(run)


def _answer(fork: Fork) -> dict[int, list[Row]]:
    """The rows of a forked process by kernel; none where it ended early."""
    answer = fork.stdout.read()
    if fork.wait() != 0:
        return {}
    return {
        number: [Row(**row | {"status": Status(row["status"])}) for row in facts]
        for number, facts in json.loads(answer)
    }
