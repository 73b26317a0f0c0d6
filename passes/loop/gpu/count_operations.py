"""`count-operations`: the arithmetic of each nest of loops, as an op before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.ir_builder import Constants, Index, IRBuilder
from stepwell.dialects.linalg_ext import GridOp
from stepwell.dialects.sched_program import program_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.loop.gpu.mapped_loops import number_of
from stepwell.passes.loop.gpu.nests import Nest, size_of

_ARITHMETIC = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp),
    *(arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp),
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp, arith.DivUIOp),
    *(arith.MaxSIOp, arith.MaxUIOp, arith.MinSIOp, arith.MinUIOp),
)


@dataclass(frozen=True)
class CountOperationsPass(FunctionPass):
    """
    Insert a `gpu.work` with the number of arithmetic operations before each op of a kernel's function.

    For an element of a structured op, each addition, multiplication, maximum and function in its body counts
    as one, a multiply-add as two; conversions, selections and index arithmetic do not count. The count of an
    op is the count of an element times the iterations of its loops; open sizes stay open. Ops without
    arithmetic, and ops whose number of iterations depends on data, get no `gpu.work`.

    ```mlir
    linalg.generic { … } ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>) { … arith.addf … }
    // ->
    %rows = memref.dim %x, %c0 : memref<?x8xf32>
    %n = arith.muli %rows, %c8 : index
    "gpu.work"(%n) : (index) -> ()
    linalg.generic { … } ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>) { … arith.addf … }
    ```
    """

    name = "count-operations"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if program_of(func) is not None:
            return  # @main calls the functions of kernels
        constants = Constants(func)
        for op in list(func.body.block.ops):
            if op.regions or isinstance(op, GridOp):
                build = IRBuilder.before(op, constants=constants)
                if (count := _Count(build, func.body.block).of(op)) not in (None, 0):
                    build.insert(gpu.WorkOp(build.materialize(count)))


@dataclass(frozen=True)
class _Count:
    """The counting of ops before one of a block, where values of this block are known."""

    build: IRBuilder
    block: Block

    def of(self, op: Operation) -> Index | None:
        """The operations of an op with its regions; None where they depend on data."""
        match op:
            case scf.ForOp():
                return self._times(self._sum(op.regions), partial(self._trips, op.lb, op.ub, op.step))
            case scf.ParallelOp():
                bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
                return self._times(self._sum(op.regions), *(partial(self._trips, *each) for each in bounds))
            case scf.IfOp():
                return self._most([self._sum([region]) for region in op.regions])
            case scf.WhileOp():
                return 0 if self._sum(op.regions) == 0 else None
            case GridOp():
                return self._times(
                    op.operations(), *(partial(size_of, self.build, *each) for each in op.points())
                )
            case _ if (nest := Nest.of(op)) is not None:
                loops = range(len(nest.parallel))
                return self._times(self._sum(op.regions), *(partial(self._extent, nest, i) for i in loops))
            case _:
                return self._sum(op.regions) if op.regions else _operations(op)

    def _sum(self, regions: Iterable[Region]) -> Index | None:
        """The operations of all ops of regions."""
        total: Index = 0
        for op in (op for region in regions for block in region.blocks for op in block.ops):
            if (count := self.of(op)) is None:
                return None
            total = self.build.plus(total, count)
        return total

    def _most(self, counts: list[Index | None]) -> Index | None:
        """The operations of the longer branch; of both where that is not known."""
        total: Index = 0
        for count in counts:
            if count is None:
                return None
            known = isinstance(count, int) and isinstance(total, int)
            total = self.build.most(total, count) if known else self.build.plus(total, count)
        return total

    def _times(self, count: Index | None, *factors: Callable[[], Index | None]) -> Index | None:
        """A count times numbers of iterations, which are asked for where there is anything to count."""
        if count in (None, 0):
            return count
        total: Index = 1
        # Numbers first: one multiplication by all of them.
        for found in sorted((count, *(factor() for factor in factors)), key=_is_open):
            if found is None:
                return None
            total = self.build.times(total, found)
        return total

    def _trips(self, lower: SSAValue, upper: SSAValue, step: SSAValue) -> Index | None:
        """The iterations of a loop."""
        if not all(map(self._is_known, (lower, upper, step))):
            return None
        length = self.build.minus(number_of(upper), number_of(lower))
        return self.build.ceildiv(length, number_of(step))

    def _extent(self, nest: Nest, loop: int) -> Index | None:
        """The iterations of a loop of a structured op."""
        if (known := nest.extents[loop]) is not None:
            return known
        source = nest.sources[loop]
        return nest.extent(self.build, loop) if source is not None and self._is_known(source[0]) else None

    def _is_known(self, value: SSAValue) -> bool:
        """Whether a value is of the block itself, or a constant."""
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        return home is self.block or isinstance(number_of(value), int)


def _is_open(index: Index | None) -> bool:
    return not isinstance(index, int)


def _operations(op: Operation) -> int:
    """The arithmetic of an op without regions."""
    if len(op.results) != 1 or not _is_number(op.results[0].type):
        return 0
    if isinstance(op, math.FmaOp):
        return 2
    return int(isinstance(op, _ARITHMETIC) or op.name.startswith("math."))


def _is_number(type: Attribute) -> bool:
    """Whether a type is one of numbers; integers of more than 32 bits are indices, no work of a model."""
    if isinstance(type, AnyFloat):
        return True
    return isinstance(type, IntegerType) and 1 < cast(int, type.width.data) <= 32  # pyright: ignore[reportUnknownMemberType]
