"""Elements of memory of a block that accesses of two threads never have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.sched import OWN
from stepwell.passes.loop.gpu.nests import root_of


@dataclass(frozen=True)
class _Number:
    """An index `base + offset`."""

    base: SSAValue
    offset: int


@dataclass(frozen=True)
class Place:
    """The elements of a buffer that an access may be of."""

    buffer: SSAValue
    slot: SSAValue | None = None
    """The first index; None for any."""
    number: _Number | None = None
    """The number that the last two indices are quotient and remainder of; None for any element."""
    row: tuple[int, bool] | None = None
    """The divisor of that number, and whether the quotient comes first."""
    is_own: bool = False
    """Whether the access is a store of an element that no other thread stores to (`sched.own`)."""

    @staticmethod
    def of(op: memref.LoadOp | memref.StoreOp | gpu.AsyncCopyOp | gpu.LdmatrixOp) -> Place:
        """The place of an access, of a copy that of the target."""
        is_copy = isinstance(op, gpu.AsyncCopyOp)
        memory, indices = (op.target, op.target_indices) if is_copy else (op.memref, op.indices)
        buffer = root_of(memory)
        if memory is not buffer or not indices:
            return Place(buffer)
        if isinstance(op, gpu.LdmatrixOp):  # of rows that other threads name, in the tile of all of them
            return Place(buffer, indices[0] if len(indices) > 2 else None)
        count = op.count if isinstance(op, gpu.AsyncCopyOp) else 1
        number, row = _parts(indices[-2:], count) if len(indices) > 1 else (None, None)
        return Place(buffer, indices[0], number, row, OWN in op.attributes)

    def outside(self, loop: Operation) -> Place:
        """The place in other iterations of a loop: what is computed inside may differ."""
        values = (self.slot, self.number.base if self.number is not None else None)
        slot, base = (value if value is None or not _is_inside(value, loop) else None for value in values)
        return replace(self, slot=slot, number=self.number if base is not None else None)

    def meets(self, other: Place, kernel: gpu.GPUFuncOp) -> bool:
        """Whether two threads may access one element by these accesses."""
        if self.buffer is not other.buffer or _differ(self.slot, other.slot):
            return False
        if self.is_own and other.is_own:
            return False
        if self.number is None or other.number is None or self.row != other.row:
            return True
        # Of one thread the accesses are in order; those of two are of different numbers.
        size = kernel.block_size
        is_thread = size is not None and _is_only_index(self.number.base, size)
        apart = abs(self.number.offset - other.number.offset)
        return not (is_thread and self.number.base is other.number.base and apart >= prod(size or ()))


def _parts(
    indices: list[SSAValue] | tuple[SSAValue, ...], count: int
) -> tuple[_Number | None, tuple[int, bool] | None]:
    """
    The number of which two indices are quotient and remainder by a constant, in any order.

    Args: `count` are the elements of an access, by which the second index is multiplied.
    """
    first, second = (index.owner for index in indices)
    if count > 1:
        if not isinstance(second, arith.MuliOp) or constant_of(second.rhs) != count:
            return None, None
        second = second.lhs.owner
    is_quotient_first = isinstance(first, arith.DivUIOp)
    quotient, remainder = (first, second) if is_quotient_first else (second, first)
    if not isinstance(quotient, arith.DivUIOp) or not isinstance(remainder, arith.RemUIOp):
        return None, None
    divisor = constant_of(quotient.rhs)
    if quotient.lhs is not remainder.lhs or divisor is None or divisor != constant_of(remainder.rhs):
        return None, None
    number = quotient.lhs
    if isinstance(number.owner, arith.AddiOp) and (offset := constant_of(number.owner.rhs)) is not None:
        return _Number(number.owner.lhs, offset), (divisor, is_quotient_first)
    return _Number(number, 0), (divisor, is_quotient_first)


def _is_only_index(value: SSAValue, size: tuple[int, ...]) -> bool:
    """Whether a value is the number of the thread in a block of one dimension."""
    return (
        isinstance(value.owner, gpu.ThreadIdOp)
        and str(value.owner.dimension.data) == "x"
        and size[1:] == (1, 1)
    )


def _differ(a: SSAValue | None, b: SSAValue | None) -> bool:
    """Whether two indices are never equal: different numbers, or others of some tiles in turn."""
    if a is None or b is None:
        return False
    numbers = constant_of(a), constant_of(b)
    if None not in numbers:
        return numbers[0] != numbers[1]
    return _is_other_of(a, b) or _is_other_of(b, a)


def _is_other_of(a: SSAValue, b: SSAValue) -> bool:
    """Whether an index is an odd number minus another one, or that plus a number modulo a larger one."""
    owner = a.owner
    if isinstance(owner, arith.RemUIOp) and isinstance(owner.lhs.owner, arith.AddiOp):
        added, tiles = constant_of(owner.lhs.owner.rhs), constant_of(owner.rhs)
        if owner.lhs.owner.lhs is not b or added is None or tiles is None:
            return False
        return 0 < added < tiles
    if not isinstance(owner, arith.SubiOp) or owner.rhs is not b:
        return False
    number = constant_of(owner.lhs)
    return number is not None and number % 2 == 1


def constant_of(value: SSAValue) -> int | None:
    """The number of a constant."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _is_inside(value: SSAValue, loop: Operation) -> bool:
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None and op is not loop:
        op = op.parent_op()
    return op is loop
