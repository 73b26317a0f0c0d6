"""Observers of a call: the time of functions, instructions and segments; a line for each instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from time import perf_counter_ns
from typing import NamedTuple, cast

from stepwell.runtime.vm.instructions import registers_written
from stepwell.runtime.vm.limits import ALLOCATING, NoHooks
from stepwell.runtime.vm.linked import Frame
from stepwell.runtime.vm.objects import Registers, Step, size_bytes
from stepwell.runtime.vm.program import Code, Function, Program


class Row(NamedTuple):
    """A part of the calls that were observed. The times of one kind's rows add up, but for segments."""

    kind: str
    """`function` (without the functions that it calls), `instruction` or `segment`."""
    name: str
    runs: int
    microseconds: float
    share: float
    """The percentage of the time of all instructions."""


class VmProfile(NamedTuple):
    """The times of calls; printed, a table."""

    rows: tuple[Row, ...]
    allocated_bytes: dict[str, int]
    """The bytes of the objects made, by the instruction that made them."""
    deepest: int
    """The most frames."""

    def __str__(self) -> str:
        width = max([22, *(len(row.name) for row in self.rows)]) + 2
        lines = [f"{'kind':<12}{'name':<{width}}{'runs':>12}{'us':>14}{'share':>8}"]
        for row in self.rows:
            figures = f"{row.runs:>12,}{row.microseconds:>14,.1f}{row.share:>7.1f}%"
            lines.append(f"{row.kind:<12}{row.name:<{width}}{figures}")
        lines += [f"allocated by {name}: {size:,} bytes" for name, size in self.allocated_bytes.items()]
        return "\n".join([*lines, f"deepest stack: {self.deepest:,} frames"])


class _Counter:
    """The runs of a part of the program, and their time."""

    __slots__ = ("count", "nanoseconds")

    def __init__(self) -> None:
        self.count = self.nanoseconds = 0


class Profiler(NoHooks):
    """
    An observer that measures instructions: the time of each is the time until the next one begins.

    Measuring takes a microsecond for each instruction; about half of it is included in the times.
    """

    def __init__(self, program: Program):
        self._program = program
        self._counters: dict[tuple[int, str, str], _Counter] = defaultdict(_Counter)
        self._functions = {id(function): n for n, function in enumerate(program.functions)}
        self._bytes: dict[str, int] = {}
        self._stack: Sequence[Frame] = ()
        self._deepest = 0
        self._current = _Counter()
        self._since = 0

    def start(self, stack: Sequence[Frame]) -> None:
        """A call begins."""
        self._stack, self._current, self._since = stack, _Counter(), perf_counter_ns()

    def stop(self) -> None:
        """The call is over."""
        self._current.nanoseconds += perf_counter_ns() - self._since
        self._stack = ()

    def before(self, function: Function, pc: int) -> Step:
        """Measure the instruction before."""
        code = function.code[pc]
        counter = self._counters[self._functions[id(function)], code.name, self._segment(code)]
        entered = self._counters[self._functions[id(function)], "", ""] if pc == 0 else None

        def step(r: Registers) -> None:
            now = perf_counter_ns()
            self._current.nanoseconds += now - self._since
            self._current, self._since = counter, now
            counter.count += 1
            if entered is not None:
                entered.count += 1
                self._deepest = max(self._deepest, len(self._stack) + 1)

        return step

    def after(self, function: Function, pc: int) -> Step | None:
        """Add the bytes of what an instruction made."""
        code = function.code[pc]
        if code.name not in ALLOCATING:
            return None
        written = registers_written(*code)
        sizes, name = self._bytes, code.name
        sizes.setdefault(name, 0)

        def step(r: Registers) -> None:
            for register in written:
                sizes[name] += size_bytes(r[register])

        return step

    def _segment(self, code: Code) -> str:
        return self._program.packed[cast(int, code.operands[0])].name if code.name == "invoke_packed" else ""

    def profile(self) -> VmProfile:
        """The calls until now, the longest times first."""
        sums: dict[tuple[str, str], _Counter] = defaultdict(_Counter)
        for (number, instruction, segment), counter in self._counters.items():
            function = self._program.functions[number].name
            if not instruction:
                sums["function", function].count += counter.count
                continue
            sums["function", function].nanoseconds += counter.nanoseconds
            for key in [("instruction", instruction), *([("segment", segment)] if segment else [])]:
                sums[key].count += counter.count
                sums[key].nanoseconds += counter.nanoseconds
        total = sum(counter.nanoseconds for counter in self._counters.values()) or 1
        order = ("function", "instruction", "segment")
        rows = [
            Row(kind, name, counter.count, counter.nanoseconds / 1e3, 100 * counter.nanoseconds / total)
            for (kind, name), counter in sums.items()
            if counter.count
        ]
        rows.sort(key=lambda row: (order.index(row.kind), -row.microseconds, row.name))
        made = {name: size for name, size in self._bytes.items() if size}
        return VmProfile(tuple(rows), made, self._deepest)
