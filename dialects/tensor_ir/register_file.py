"""The vector registers of a target, and the register tiles that fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from xdsl.dialects.builtin import f32

from stepwell.dialects.arith import DotBfloatsOp, DotBytesOp, DotShortsOp
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.costs.schedules import TILES
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.dialects.tensor_ir.transfers import element_type
from stepwell.dialects.types import element_bytes
from stepwell.runtime.machine.target import TargetDescription


@dataclass(frozen=True)
class RegisterFile:
    """The vector registers of the target: their number, elements (`lanes`), bytes and measured speeds."""

    count: int
    lanes: int
    bytes: int
    shares: Mapping[str, Mapping[tuple[int, int], float]] = field(default_factory=dict[str, "TileSpeeds"])
    """Measured speeds of tiles by length of the sums: `short` or `long`; empty where nothing was measured."""
    conversions: int = 0
    """The instructions that convert a vector that was read to the type of the sums."""

    def share(self, rows: int, vectors: int, steps: int) -> float | None:
        """The measured speed of a tile as a share of the best one's; None when it was not measured."""
        return self.shares.get(sum_length(steps, vectors, self.bytes), {}).get((rows, vectors))


TileSpeeds: TypeAlias = Mapping[tuple[int, int], float]


def register_file(view: Structured, target: TargetDescription) -> RegisterFile:
    """The register file for an op, with lanes of its widest element type and the speeds of its sum kind."""
    bytes = target.vector_bytes
    kind = sum_kind(view)
    shares = {
        name.removeprefix(f"{kind} "): {(m, v): share for m, v, share in rows}
        for name, rows in target.tile_shares
        if name.startswith(f"{kind} ")
    }
    return RegisterFile(target.vector_registers, max(1, bytes // widest_element(view)), bytes, shares)


def sum_kind(view: Structured) -> str:
    """The class of a sum of products by its element types; `other` for types without calibration."""
    for op in view.body.ops:
        if isinstance(op, DotBytesOp):
            return "bytes"
        if isinstance(op, DotShortsOp):
            return "shorts"
        if isinstance(op, DotBfloatsOp):
            return "f32"  # registers, bytes and instructions are as many
    return "f32" if {element_type(v.type) for v in view.op.operands} == {f32} else "other"


def sum_length(steps: int, vectors: int, vector_bytes: int) -> str:
    """Whether the panel that a sum reads stays in the level-1 cache (`short`) or not (`long`)."""
    return "short" if steps * vectors * vector_bytes <= MACHINE.panel_bytes else "long"


def widest_element(view: Structured) -> int:
    """Bytes of the widest element that an op reads or writes."""
    return max(element_bytes(element_type(value.type)) for value in view.op.operands)


def measured_tiles(registers: RegisterFile) -> Sequence[tuple[int, int]]:
    """The tiles, rows by vectors, whose speeds a calibration measures: those that fit the registers."""
    sizes = product(range(1, TILES.max_rows + 1), range(1, TILES.max_vectors + 1))
    return [(m, v) for m, v in sizes if m * v >= TILES.measured_sums and fits(m, v, registers)]


def fits(rows: int, vectors: int, registers: RegisterFile) -> bool:
    """Whether a register tile of rows x vectors leaves at least a register free."""
    # One vector only: each broadcast is used once, and is an operand in memory.
    needed = rows + 2 if vectors == 1 else rows * vectors + vectors + 1
    # One stays free: 4 x 3 vectors in 16 registers spill and halve the speed (0.43 of peak, 6 x 2 has 0.98).
    return needed < registers.count
