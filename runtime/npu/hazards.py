"""
Hazards: accesses of elements of buffers while another stage may still write or read them.

Each instruction has a clock: for each stage the last of its instructions that has surely ended before. An
access is a hazard after one that is not among these. So one run finds the hazards of all orders.

Source: vector clocks (Mattern, "Virtual time and global states of distributed systems", 1989).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.config import Config
from stepwell.runtime.npu.instructions import Instruction, Stage
from stepwell.runtime.npu.order import EDGES, Edge, gives, waits_for

Indices = npt.NDArray[np.int64]


def clocks(instructions: Sequence[Instruction], order: Sequence[int]) -> list[list[int]]:
    """For each instruction, by stage, the number of the last instruction before its begin, or -1."""
    found: list[list[int]] = [[-1] * len(Stage) for _ in instructions]
    tokens: dict[Edge, deque[list[int]]] = {edge: deque() for edge in EDGES}
    last: dict[int, list[int]] = {}
    for number in order:
        instruction = instructions[number]
        clock = list(last.get(instruction.stage, found[number]))
        for edge in waits_for(instruction):
            clock = [max(pair) for pair in zip(clock, tokens[edge].popleft(), strict=True)]
        found[number] = clock
        after = list(clock)
        after[instruction.stage] = number
        last[instruction.stage] = after
        for edge in gives(instruction):
            tokens[edge].append(after)
    return found


class Hazards:
    """The last accesses of each element of each buffer, by stage."""

    def __init__(self, config: Config, instructions: Sequence[Instruction], clocks: Sequence[Sequence[int]]):
        sizes = {"uop": config.uop, "inp": config.inp, "wgt": config.wgt, "acc": config.acc}
        shape = {name: (len(Stage), size) for name, size in sizes.items()}
        self._written = {name: np.full(each, -1, np.int64) for name, each in shape.items()}
        self._read = {name: np.full(each, -1, np.int64) for name, each in shape.items()}
        self._instructions, self._clocks = instructions, clocks

    def read(self, number: int, buffer: str, elements: Indices) -> None:
        """Note a read. Raises: StepwellError `npu-hazard` where another stage may be writing."""
        self._expect(number, buffer, elements, self._written, "written")
        stage = self._instructions[number].stage
        self._read[buffer][stage, elements] = number

    def write(self, number: int, buffer: str, elements: Indices) -> None:
        """Note a write. Raises: StepwellError `npu-hazard` where another stage may be reading or writing."""
        self._expect(number, buffer, elements, self._written, "written")
        self._expect(number, buffer, elements, self._read, "read")
        stage = self._instructions[number].stage
        self._written[buffer][stage, elements] = number

    def _expect(
        self, number: int, buffer: str, elements: Indices, table: dict[str, npt.NDArray[np.int64]], what: str
    ) -> None:
        instruction = self._instructions[number]
        for stage in Stage:
            if stage == instruction.stage:
                continue
            seen = table[buffer][stage, elements]
            late = seen > self._clocks[number][stage]
            if late.any():
                place = int(np.argmax(late))
                element, other = int(elements.reshape(-1)[place]), int(seen.reshape(-1)[place])
                mine, theirs = (type(self._instructions[n]).__name__.lower() for n in (number, other))
                raise StepwellError(
                    "npu-hazard",
                    None,
                    f"instruction {number}, {mine}, accesses element {element} of {buffer}, which"
                    f" may still be {what} by instruction {other}, {theirs}",
                    help="let it wait for a token that is given after that instruction",
                )


class NoHazards:
    """No checks: for the runs of a program after the first one."""

    def read(self, number: int, buffer: str, elements: Indices) -> None:
        """Note nothing."""

    def write(self, number: int, buffer: str, elements: Indices) -> None:
        """Note nothing."""
