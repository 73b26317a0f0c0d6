"""A simulator of the accelerator in numpy: exact results, hazards, cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.config import Config
from stepwell.runtime.npu.hazards import Hazards, Indices, NoHazards, clocks
from stepwell.runtime.npu.instructions import (
    Alu,
    AluKind,
    Buffer,
    Finish,
    Gemm,
    Instruction,
    Load,
    Stage,
    Store,
    Uop,
)
from stepwell.runtime.npu.order import expect_ending, orders
from stepwell.runtime.npu.products import product

Array: TypeAlias = npt.NDArray[Any]
_DTYPES = {"inp": np.float32, "wgt": np.float32, "acc": np.int32}
"""The types of the buffers here: bytes are floats, whose products BLAS computes."""
BYTES_A_CYCLE, LATENCY = 8, 20
"""The bytes that a cycle moves to or from memory, and the cycles before the first of them."""
_EXACT, _BYTE = 1 << 24, 1 << 7
"""The integers that f32 has, and the largest byte."""
MOST_UOPS_RUN = 1 << 24
"""The most micro-ops of a whole run: a program with more is refused before it runs."""


@dataclass
class Report:
    """Cycles of the stages, bytes that were moved, products of elements."""

    cycles: dict[str, int] = field(default_factory=lambda: dict.fromkeys((s.name.lower() for s in Stage), 0))
    bytes_in: int = 0
    bytes_out: int = 0
    macs: int = 0


class Simulator:
    """
    An accelerator with its buffers.

    Args: `uops` are the micro-ops of the program, which its loads bring into the buffer.
    """

    def __init__(self, config: Config, instructions: Sequence[Instruction], uops: Sequence[Uop]):
        """Raises: StepwellError `bad-npu-program` for a program that never ends."""
        self.config, self.instructions = config, instructions
        self._all_uops = np.array([(u.dst, u.src, u.wgt) for u in uops], np.int64).reshape(-1, 3)
        self._order = expect_ending(instructions)
        self._clocks = clocks(instructions, self._order)
        self._is_checked = False
        """Whether a whole run had no hazard: these depend on the program alone, not on elements."""
        self.report = Report()

    def run(self, arrays: Sequence[Array], seed: int | None = None) -> None:
        """
        Run the program; stores write into `arrays`.

        Args: the last dimensions of an array are an element of the buffer that it is loaded to. `seed`
        chooses an order among those that tokens allow.
        Raises: StepwellError `npu-hazard`, and `bad-npu-program` for an access beyond an array or a buffer.
        """
        config = self.config
        self._buffers = {
            name: np.zeros((getattr(config, name), *config.element(name)), dtype)
            for name, dtype in _DTYPES.items()
        }
        self._uops = np.zeros((config.uop, 3), np.int64)
        self._arrays = arrays
        is_checked = self._is_checked
        self._hazards = NoHazards() if is_checked else Hazards(config, self.instructions, self._clocks)
        self._left = MOST_UOPS_RUN
        self.report = Report()
        for number in self._order if seed is None else orders(self.instructions, seed):
            self._run(number, self.instructions[number])
        self._is_checked, self._arrays = True, ()

    def sums(self, element: int) -> Array:
        """An element of `acc` after a run."""
        return self._buffers["acc"][element]

    def _run(self, number: int, instruction: Instruction) -> None:
        match instruction:
            case Load():
                cycles = self._load(number, instruction)
            case Store():
                cycles = self._store(number, instruction)
            case Gemm():
                cycles = self._gemm(number, instruction)
            case Alu():
                cycles = self._alu(number, instruction)
            case Finish():
                cycles = 0
        self.report.cycles[Stage(instruction.stage).name.lower()] += cycles

    def _load(self, number: int, load: Load) -> int:
        buffer = load.buffer.name.lower()
        top, bottom, left, right = load.pad
        written = self._range(number, buffer, load.sram, load.elements)
        self._hazards.write(number, buffer, written)
        source = self._elements(number, load, buffer)
        block = np.full(
            (load.y + top + bottom, load.x + left + right, *source.shape[1:]), load.value, source.dtype
        )
        rows = self._rows(number, load, len(source))
        block[top : top + load.y, left : left + load.x] = source[rows]
        target = self._uops if load.buffer is Buffer.UOP else self._buffers[buffer]
        target[written] = block.reshape(-1, *source.shape[1:])
        moved = load.y * load.x * int(np.prod(source.shape[1:])) * source.dtype.itemsize
        self.report.bytes_in += moved
        return LATENCY + -(-moved // BYTES_A_CYCLE)

    def _elements(self, number: int, load: Load, buffer: str) -> Array:
        """The elements of the array that is loaded from."""
        if load.buffer is Buffer.UOP:
            return self._all_uops
        return self._array(number, load.array).reshape(-1, *self.config.element(buffer))

    def _array(self, number: int, index: int) -> Array:
        if index >= len(self._arrays):
            raise self._wrong(number, f"there is no array {index}: the program has {len(self._arrays)}")
        return self._arrays[index]

    def _rows(self, number: int, op: Load | Store, count: int) -> Indices:
        """The elements of an array that rows of a copy are, two-dimensional."""
        rows = op.dram + op.stride * np.arange(op.y)[:, None] + np.arange(op.x)
        if rows.size and int(rows.max()) >= count:
            raise self._wrong(number, f"element {int(rows.max())} of array {op.array}, which has {count}")
        return rows

    def _range(self, number: int, buffer: str, first: int, count: int) -> Indices:
        """A range of elements of a buffer."""
        size = getattr(self.config, buffer)
        if first + count > size:
            raise self._wrong(number, f"element {first + count - 1} of {buffer}, which has {size}")
        return np.arange(first, first + count)

    def _wrong(self, number: int, what: str) -> StepwellError:
        name = type(self.instructions[number]).__name__.lower()
        return StepwellError("bad-npu-program", None, f"instruction {number}, {name}, accesses {what}")

    def _store(self, number: int, store: Store) -> int:
        read = self._range(number, "acc", store.sram, store.y * store.x)
        self._hazards.read(number, "acc", read)
        array = self._array(number, store.array)
        flat = array.reshape(-1, *self.config.element("out"))
        if not np.shares_memory(flat, array):
            raise self._wrong(number, f"array {store.array}, which is not contiguous")
        rows = self._rows(number, store, len(flat))
        low, high = (0, 255) if store.unsigned else (-128, 127)
        clipped = np.clip(self._buffers["acc"][read], low, high)
        flat[rows.reshape(-1)] = clipped.astype(np.uint8).view(flat.dtype)
        self.report.bytes_out += clipped.size
        return LATENCY + -(-clipped.size // BYTES_A_CYCLE)

    def _indices(self, number: int, op: Gemm | Alu) -> tuple[Indices, Indices, list[tuple[int, int, int]]]:
        """The numbers of outer and inner iterations, flat, and the micro-ops of an instruction."""
        count = max(0, op.last - op.first)
        self._left -= count * op.outer * op.inner
        if self._left < 0:
            raise StepwellError(
                "bad-npu-program", None, f"the program runs more than {MOST_UOPS_RUN} micro-ops"
            )
        uops = self._range(number, "uop", op.first, count)
        self._hazards.read(number, "uop", uops)
        outer, inner = np.divmod(np.arange(op.outer * op.inner), max(1, op.inner))
        return outer, inner, [tuple(uop) for uop in self._uops[uops].tolist()]

    def _affine(
        self, number: int, buffer: str, base: int, factors: tuple[int, int], outer: Indices, inner: Indices
    ) -> Indices:
        found = base + factors[0] * outer + factors[1] * inner
        size = getattr(self.config, buffer)
        if found.size and int(found.max()) >= size:
            raise self._wrong(number, f"element {int(found.max())} of {buffer}, which has {size}")
        return found

    def _gemm(self, number: int, gemm: Gemm) -> int:
        outer, inner, uops = self._indices(number, gemm)
        if not uops or not outer.size:
            return 1
        table = np.array(uops, np.int64)
        dst, targets = self._accessed(number, "acc", table[:, 0], gemm.dst, outer, inner)
        self._hazards.write(number, "acc", targets)
        acc = self._buffers["acc"]
        if gemm.reset:
            acc[targets] = 0
            return len(uops) * len(outer)
        src, sources = self._accessed(number, "inp", table[:, 1], gemm.src, outer, inner)
        wgt, weights = self._accessed(number, "wgt", table[:, 2], gemm.wgt, outer, inner)
        self._hazards.read(number, "inp", sources)
        self._hazards.read(number, "wgt", weights)
        groups = _groups(table)
        is_apart = len(np.unique(targets)) == len(targets) == len(groups) * len(outer)
        if is_apart and gemm.wgt == (0, 0):
            for chunk in self._chunks(groups, table):
                acc[dst[chunk[:, 0]]] += self._products(src[chunk[0]], wgt[chunk, 0])
        else:
            for uop in range(len(uops)):
                np.add.at(acc, dst[uop], self._each(src[uop], wgt[uop]))
        self.report.macs += dst.size * self._buffers["inp"][0].size * self.config.block_out
        return len(uops) * len(outer)

    def _accessed(
        self,
        number: int,
        buffer: str,
        bases: Indices,
        factors: tuple[int, int],
        outer: Indices,
        inner: Indices,
    ) -> tuple[Indices, Indices]:
        """The elements by micro-op and iteration, and those of different bases alone."""
        along = self._affine(number, buffer, int(bases.max()), factors, outer, inner) - int(bases.max())
        each = along if any(factors) else along[:1]
        return bases[:, None] + along, (np.unique(bases)[:, None] + each).reshape(-1)

    def _products(self, src: Indices, wgt: Indices) -> Array:
        """
        Sums of products for blocks of the result, which read the same inputs: [blocks, iterations, …].

        Sums of so few products of bytes are exact in f32.
        """
        inputs, weights = self._buffers["inp"][src], self._buffers["wgt"][wgt]
        taps, count, batch, block_in = inputs.shape
        rows = inputs.transpose(1, 2, 0, 3).reshape(count * batch, taps * block_in)
        columns = weights.transpose(1, 3, 0, 2).reshape(taps * block_in, -1)
        sums = product(rows, columns).reshape(count, batch, len(wgt), -1)
        return sums.transpose(2, 0, 1, 3).astype(np.int32)

    def _chunks(self, groups: Sequence[Indices], table: Indices) -> Iterator[Indices]:
        """Micro-ops by group and position, so few that sums are exact; groups read the same inputs."""
        most = _EXACT // (_BYTE * _BYTE * self.config.block_in)
        shared = [groups]
        if len({len(group) for group in groups}) > 1 or np.ptp(table[np.array(groups), 1], axis=0).any():
            shared = [[group] for group in groups]
        for each in shared:
            for start in range(0, len(each[0]), most):
                yield np.array(each)[:, start : start + most]

    def _each(self, src: Indices, wgt: Indices) -> Array:
        """The products of a micro-op, with weights of their own in each iteration."""
        inputs, weights = self._buffers["inp"][src], self._buffers["wgt"][wgt]
        return (inputs @ weights.transpose(0, 2, 1)).astype(np.int32)

    def _alu(self, number: int, alu: Alu) -> int:
        outer, inner, uops = self._indices(number, alu)
        acc = self._buffers["acc"]
        for u_dst, u_src, u_third in uops:
            dst = self._affine(number, "acc", u_dst, alu.dst, outer, inner)
            src = self._affine(number, "acc", u_src, alu.src, outer, inner)
            third = self._range(number, "acc", u_third, 1)
            self._hazards.write(number, "acc", dst)
            if alu.immediate is None:
                self._hazards.read(number, "acc", src)
            # Elements that an earlier iteration writes are read by later ones: then one after the other.
            is_apart = len(np.unique(dst)) == len(dst) and (
                alu.immediate is not None or not np.intersect1d(dst, src).size or bool((dst == src).all())
            )
            steps = [slice(None)] if is_apart else [slice(i, i + 1) for i in range(len(dst))]
            for step in steps:
                given = acc[src[step]] if alu.immediate is None else alu.immediate
                other: Array = np.asarray(given, np.int64)
                acc[dst[step]] = _OPERATIONS[alu.kind](acc[dst[step]].astype(np.int64), other, acc[third])
        return max(1, len(uops) * len(outer))


def _mulshift(a: Array, m: Array, s: Array) -> Array:
    shift = s.astype(np.int64) & 63
    half = np.where(shift > 0, np.left_shift(np.int64(1), np.maximum(shift - 1, 0)), 0)
    return np.right_shift(a * m + half, shift)


_OPERATIONS: dict[AluKind, Callable[[Array, Array, Array], Array]] = {
    AluKind.MIN: lambda a, b, s: np.minimum(a, b),
    AluKind.MAX: lambda a, b, s: np.maximum(a, b),
    AluKind.ADD: lambda a, b, s: _wrapped(a + b),
    AluKind.SHR: lambda a, b, s: _wrapped(np.where(b >= 0, a >> np.maximum(b, 0), a << np.maximum(-b, 0))),
    AluKind.MULSHIFT: lambda a, b, s: _wrapped(_mulshift(a, b, s)),
}


def _wrapped(value: Array) -> Array:
    """The lower 32 bits of integers, with a sign."""
    return value.astype(np.int64).astype(np.int32)


def _groups(table: Indices) -> list[Indices]:
    """The numbers of micro-ops with the same `dst`."""
    _, group = np.unique(table[:, 0], return_inverse=True)
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
