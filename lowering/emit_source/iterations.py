"""The iterations of loops that a thread of a kernel runs at most, by what a launch passes."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.lowering.bufferize import OF_SIZES, memref_of
from stepwell.lowering.emit_source.language import ScalarParameter
from stepwell.runtime.dims import Dim

_LEAST = ("arith.minsi", "arith.minui")
_QUOTIENTS = ("arith.ceildivsi", "arith.ceildivui", "arith.floordivsi", "arith.divui", "arith.divsi")
_GROWING = ("arith.addi", "arith.muli", *_LEAST, *_QUOTIENTS)
"""Ops whose result is at most that of larger operands; divisors have to be known."""


def most_iterations(kernel: gpu.GPUFuncOp, scalars: tuple[ScalarParameter, ...]) -> Dim:
    """
    The iterations of all loops of a thread together, with all branches taken and loops from 0.

    Numbers that a launch passes are symbols: `n0` is the first of `scalars`. A loop whose bounds are computed
    from data is not counted; its body counts once.
    """
    names = {(each.argument, each.dim): f"n{number}" for number, each in enumerate(scalars)}
    return _Bounds(kernel, names).of_block(kernel.body.block)


class _Bounds:
    """The iterations of loops of a kernel."""

    def __init__(self, kernel: gpu.GPUFuncOp, names: Mapping[tuple[int, int | None], str]):
        self._arguments = {value: number for number, value in enumerate(kernel.arguments)}
        self._names = names

    def of_block(self, block: Block) -> Dim:
        """The iterations of the loops in a block, with those inside of them."""
        total = Dim.of(0)
        for op in block.ops:
            inside = Dim.of(0)
            for region in op.regions:
                for each in region.blocks:
                    inside += self.of_block(each)
            total += self._of_loop(op, inside)
        return total

    def _of_loop(self, op: Operation, inside: Dim) -> Dim:
        """The iterations of an op, given the iterations in its regions, which a loop repeats."""
        if isinstance(op, scf.ForOp):
            trips = self._trips(op.lb, op.ub, op.step)
            return inside if trips is None else trips * (inside + 1)
        if isinstance(op, scf.ParallelOp):
            for bounds in reversed([*zip(op.lowerBound, op.upperBound, op.step, strict=True)]):
                if (trips := self._trips(*bounds)) is not None:
                    inside = trips * (inside + 1)
        return inside

    def _trips(self, lower: SSAValue, upper: SSAValue, step: SSAValue) -> Dim | None:
        """The iterations of a loop, at most; None where data decide."""
        first, last, by = (self._value(value) for value in (lower, upper, step))
        if last is None or by is None or not by.is_static or by.value < 1:
            return None
        begin = first.value if first is not None and first.is_static else 0
        return (last - begin).ceildiv(by)

    def _value(self, value: SSAValue) -> Dim | None:
        """An index, at most; None where it is not known, such as the number of a thread."""
        if value in self._arguments:
            return self._symbol(self._arguments[value], None)
        match owner := value.owner:
            case arith.ConstantOp() if isinstance(owner.value, IntegerAttr):
                return Dim.of(owner.value.value.data)
            case memref.DimOp():
                return self._size(owner)
            case Operation() if len(owner.operands) == 2:
                return _computed(owner.name, *(self._value(each) for each in owner.operands))
            case _:
                return None

    def _size(self, op: memref.DimOp) -> Dim | None:
        """The size of an argument."""
        axis, number = self._value(op.index), self._arguments.get(op.source)
        if axis is None or not axis.is_static or number is None:
            return None
        size = memref_of(op.source).get_shape()[axis.value]
        return Dim.of(size) if size != DYNAMIC_INDEX else self._symbol(number, axis.value)

    def _symbol(self, argument: int, dim: int | None) -> Dim | None:
        name = self._names.get((argument, dim))
        return None if name is None else Dim.symbol(name)


def _computed(name: str, a: Dim | None, b: Dim | None) -> Dim | None:
    """The result of an op on two indices, at most."""
    if a is None or b is None:
        return (b if a is None else a) if name in _LEAST else None
    if name not in _GROWING or (name in _QUOTIENTS and not (b.is_static and b.value > 0)):
        return None
    return OF_SIZES[name](a, b)
