"""Runs of entries: groups of blocks step through basic blocks, the lanes with the lowest counter first."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepwell.lowering.interpret.lanes.iterations import Loop
from stepwell.lowering.interpret.lanes.shadow import Shadow
from stepwell.lowering.interpret.lanes.state import Group, Triple, blocks_of, expect_dynamic_bytes
from stepwell.lowering.interpret.ptx import accesses, arithmetic, async_copies, moves, products
from stepwell.lowering.interpret.ptx.code import Code, Frame, Step
from stepwell.lowering.interpret.ptx.memory import Region, Space
from stepwell.lowering.interpret.ptx.reader import ENDS, Entry, Instruction, read_ptx, stored_parameters
from stepwell.lowering.interpret.ptx.values import TYPES, Get, Mask, Value
from stepwell.runtime.errors import StepwellError

LOADED = (accesses, arithmetic, async_copies, moves, products)
"""The files with the preparation of instructions."""
CHECKS = frozenset({"races", "bounds", "barriers", "uninitialized"})
MOST_LANES = 1 << 15
"""The lanes that run together: their values of 8 bytes fit the second cache."""
_WARP = 32
_SPACES = ("global", "shared", "local", "param")
_MOST_THREADS = 1024


@dataclass(frozen=True)
class Buffer:
    """Memory of the device that a launch may access: an address, bytes, a name for errors."""

    address: int
    nbytes: int
    name: str


class PtxProgram:
    """Entries that can be launched, prepared at their first launch."""

    def __init__(self, text: str):
        """Raises: StepwellError `unsupported-ptx`."""
        self.entries = read_ptx(text)
        self._prepared: dict[str, _Kernel] = {}

    def launch(
        self,
        name: str,
        grid: Triple,
        block: Triple,
        parameters: Sequence[Value],
        buffers: Sequence[Buffer],
        checks: frozenset[str] = CHECKS,
        shared_bytes: int = 0,
    ) -> None:
        """
        Run all threads of a grid.

        Args: `parameters` are numbers of numpy, addresses for pointers; `buffers` are what they point into;
        `shared_bytes` is the memory of a block beside what the entry declares.
        Raises: StepwellError `bad-launch`, `unknown-function`, `unsupported-ptx`; of a check.
        """
        if name not in self.entries:
            raise StepwellError("unknown-function", None, f"the PTX has no kernel @{name}")
        if (kernel := self._prepared.get(name)) is None:
            kernel = self._prepared[name] = _Kernel(self.entries[name])
        with np.errstate(all="ignore"):
            kernel.launch(grid, block, parameters, buffers, checks, shared_bytes)


class _Memory:
    """The spaces of a group of blocks."""

    def __init__(self, group: Group, entry: Entry, device: Space, unit: int, dynamic_bytes: int):
        checks = group.checks
        nbytes = entry.shared_bytes + (dynamic_bytes if entry.has_dynamic else 0)
        shared = _rows(nbytes, group.blocks, "the block's memory", checks)
        local = _rows(entry.local_bytes, group.lanes, "the thread's memory", checks)
        if "races" in checks and nbytes:
            cells = shared.data.size // unit + 1
            shared.shadow, shared.unit = Shadow(cells, group.threads, is_shared_by_blocks=False), unit
        self.spaces = {"global": device, "shared": Space([shared]), "local": Space([local])}
        self._rows: Mapping[str, Value | None] = {
            "shared": group.row if group.blocks > 1 else np.int64(0),
            "local": np.arange(group.lanes),
        }

    def rows(self, space: str) -> Value | None:
        """The block or thread of each lane in a space; None for memory of the device."""
        return self._rows.get(space)


def _rows(nbytes: int, rows: int, name: str, checks: frozenset[str]) -> Region:
    """The memory of blocks or threads."""
    padded = -(-nbytes // 16) * 16
    data = np.zeros(padded * rows, np.uint8)
    written = np.zeros(padded * rows, np.bool_) if "uninitialized" in checks else None
    return Region(0, data, name, row_bytes=padded, written=written)


@dataclass
class _Block:
    """A basic block: steps, and the end."""

    steps: list[Step]
    last: Instruction | None
    target: int
    """The block after a branch that is taken; the next one for others."""
    predicate: Get | None
    loop: Loop | None = None
    """The loop that a branch back is the end of."""


class _Kernel:
    """A prepared entry."""

    def __init__(self, entry: Entry):
        self._entry = entry
        self._code = Code(entry)
        self._blocks = [self._block(number) for number in range(len(entry.blocks))]
        self._stored = stored_parameters(entry)
        self._units = {space: _smallest_access(entry, space) for space in ("shared", "global")}

    def _block(self, number: int) -> _Block:
        """A basic block. Raises: StepwellError `unsupported-ptx`."""
        instructions = self._entry.blocks[number]
        last = instructions[-1] if instructions and instructions[-1].parts[0] in ENDS else None
        steps = [self._code.step(each) for each in (instructions[:-1] if last is not None else instructions)]
        if last is None:
            return _Block(steps, None, number + 1, None)
        kind, target = last.parts[0], number + 1
        if kind == "bra":
            if not last.operands or last.operands[0] not in self._entry.labels:
                raise last.unsupported("no such label")
            target = self._entry.labels[last.operands[0]]
        if kind in ("bar", "barrier") and (last.operands != ("0",) or "arrive" in last.parts or last.guard):
            raise last.unsupported("only barrier 0 of all threads is known")
        predicate = None if last.guard is None else self._code.predicate(last)
        loop = Loop((target, -number), str(last)) if target <= number else None
        return _Block(steps, last, target, predicate, loop)

    def launch(
        self,
        grid: Triple,
        block: Triple,
        values: Sequence[Value],
        buffers: Sequence[Buffer],
        checks: frozenset[str],
        dynamic_bytes: int,
    ) -> None:
        """Run all blocks, some at a time. Raises: StepwellError."""
        entry, threads = self._entry, block[0] * block[1] * block[2]
        if not 1 <= threads <= _MOST_THREADS or (entry.threads is not None and block != entry.threads):
            wanted = f"1 to {_MOST_THREADS}" if entry.threads is None else "x".join(map(str, entry.threads))
            found = "x".join(map(str, block))
            message = f"blocks of @{entry.name} have {wanted} threads, found {found}"
            raise StepwellError("bad-launch", None, message)
        if len(values) != len(entry.parameters):
            message = f"@{entry.name} takes {len(entry.parameters)} parameters, found {len(values)}"
            raise StepwellError("bad-launch", None, message)
        expect_dynamic_bytes(entry.name, dynamic_bytes)
        parameters = {
            name: np.asarray(value).astype(TYPES[type])[()]
            for (name, type), value in zip(entry.parameters, values, strict=True)
        }
        tables = [Buffer(each.ctypes.data, each.nbytes, name) for name, each in entry.tables.items()]
        device = Space(self._regions([*buffers, *tables], parameters, threads, checks))
        blocks, at_once = blocks_of(entry.name, grid, block), max(1, MOST_LANES // threads)
        for first in range(0, blocks, at_once):
            count = min(at_once, blocks - first)
            group = Group(entry.name, grid, block, first, count, checks, _WARP)
            memory = _Memory(group, entry, device, self._units["shared"], dynamic_bytes)
            self._run(Frame([None] * len(entry.registers), group, memory, parameters))

    def _regions(
        self, buffers: Sequence[Buffer], parameters: Mapping[str, Value], threads: int, checks: frozenset[str]
    ) -> list[Region]:
        """Buffers as regions, those that overlap together; what may be stored to has a shadow."""
        stored = [int(parameters[name]) for name in self._stored]
        unit = self._units["global"]
        found: list[Region] = []
        for begin, end, name in _spans(buffers):
            data: Any = np.ctypeslib.as_array((ctypes.c_uint8 * (end - begin)).from_address(begin))
            region = Region(begin, data, name)
            if "races" in checks and any(begin <= address < end for address in stored):
                region.shadow = Shadow(len(data) // unit + 1, threads, is_shared_by_blocks=True)
                region.unit = unit
            found.append(region)
        return found

    def _run(self, frame: Frame) -> None:
        """Step through the blocks until all lanes have returned. Raises: StepwellError of a check."""
        pending: dict[int, Mask] = {0: None}
        waiting: dict[int, tuple[Instruction, Mask]] = {}
        while pending or waiting:
            if not pending:
                pending = self._released(frame.group, waiting)
                continue
            number = min(pending)
            frame.mask = mask = pending.pop(number)
            if number >= len(self._blocks):
                continue
            block = self._blocks[number]
            for step in block.steps:
                step(frame)
            if block.last is not None and block.last.parts[0] in ("bar", "barrier"):
                _add_waiting(waiting, number + 1, block.last, mask)
                continue
            for target, lanes in self._next(frame, number, block, mask):
                if target <= number and block.loop is not None:
                    frame.group.iterations.add(block.loop)
                if target in pending:
                    lanes = _union(pending[target], lanes)
                pending[target] = lanes

    def _next(self, frame: Frame, number: int, block: _Block, mask: Mask) -> list[tuple[int, Mask]]:
        """The blocks after one, each with the lanes that go there."""
        last = block.last
        ends = last is not None and last.parts[0] in ("ret", "exit")
        if last is not None and last.parts[0] == "trap":
            raise frame.group.in_kernel(last.unsupported("a thread reaches what no thread should"))
        target = len(self._blocks) if ends else block.target
        if block.predicate is None:
            return [(target, mask)]
        taken = block.predicate(frame)
        if not taken.ndim:
            return [(target if taken else number + 1, mask)]
        stays = ~taken
        if mask is not None:
            taken, stays = taken & mask, stays & mask
        sides = ((target, taken), (number + 1, stays))
        going = [(place, lanes) for place, lanes in sides if lanes.any()]
        return going if len(going) > 1 else [(going[0][0], mask)]

    def _released(self, group: Group, waiting: dict[int, tuple[Instruction, Mask]]) -> dict[int, Mask]:
        """The lanes after their barriers, when all others have ended. Raises: `divergent-barrier`."""
        found: dict[int, Mask] = {}
        for number, (instruction, mask) in waiting.items():
            group.pass_barrier(str(instruction), mask)
            found[number] = mask
        waiting.clear()
        return found


def _add_waiting(
    waiting: dict[int, tuple[Instruction, Mask]], number: int, instruction: Instruction, mask: Mask
) -> None:
    """Let lanes wait at a barrier, with those that wait there already."""
    if number in waiting:
        mask = _union(waiting[number][1], mask)
    waiting[number] = instruction, mask


def _union(one: Mask, other: Mask) -> Mask:
    """The lanes of both masks; all lanes are no mask."""
    if one is None or other is None:
        return None
    both = one | other
    return None if both.all() else both


def _spans(buffers: Sequence[Buffer]) -> list[tuple[int, int, str]]:
    """Ranges of addresses with names, those of overlapping buffers merged."""
    found: list[tuple[int, int, str]] = []
    for buffer in sorted(buffers, key=lambda each: each.address):
        begin, end = buffer.address, buffer.address + buffer.nbytes
        if begin == end:
            continue
        if found and begin < found[-1][1]:
            low, high, name = found[-1]
            names = name if buffer.name in name.split(", ") else f"{name}, {buffer.name}"
            found[-1] = low, max(high, end), names
        else:
            found.append((begin, end, buffer.name))
    return found


def _smallest_access(entry: Entry, space: str) -> int:
    """The bytes of the smallest load or store of a space in an entry, generic ones included."""
    sizes = [
        TYPES[each.parts[-1]].itemsize
        for block in entry.blocks
        for each in block
        if each.parts[0] in ("ld", "st")
        and (space in each.parts or not {"global", "shared", "local", "param"} & {*each.parts})
    ]
    copies = [
        int(e.operands[2])
        for block in entry.blocks
        for e in block
        if e.parts[:2] == ("cp", "async") and e.operands[1:]
    ]
    return min([*sizes, *copies], default=4)
