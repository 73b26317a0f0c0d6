"""Indices of loops as linear sums, with the range of each loop's counter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects.tensor_ir.sizes import constant_index


@dataclass(frozen=True)
class Linear:
    """A linear expression: a sum of integer values times constants, plus a constant."""

    terms: tuple[tuple[SSAValue, int], ...]
    constant: int

    def __add__(self, other: Linear) -> Linear:
        if not other.terms:
            return Linear(self.terms, self.constant + other.constant)
        terms = dict(self.terms)
        for value, factor in other.terms:
            terms[value] = terms.get(value, 0) + factor
        return Linear(tuple(t for t in terms.items() if t[1]), self.constant + other.constant)

    def __sub__(self, other: Linear) -> Linear:
        return self + other.scaled(-1)

    def scaled(self, factor: int) -> Linear:
        """The expression times a number."""
        if factor == 1:
            return self
        return Linear(tuple((v, f * factor) for v, f in self.terms if factor), self.constant * factor)


@dataclass(frozen=True)
class Range:
    """The least and the greatest value, infinite where there is none."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def scaled(self, factor: int) -> Range:
        """The range of the values times a number."""
        if factor == 0:
            return Range(0, 0)
        ends = self.low * factor, self.high * factor
        return Range(min(ends), max(ends))


ANY = Range(-inf, inf)


class Loop(NamedTuple):
    """A loop of an `scf.for`, or one of an `scf.parallel`, by its counter."""

    counter: SSAValue
    lower: SSAValue
    upper: SSAValue
    step: int
    """At least 1, which is also the value for an unknown step."""
    is_parallel: bool


def loops_of(op: Operation) -> Iterator[Loop]:
    """The loops of an op from the outermost to the innermost; empty for an op that is no loop."""
    if isinstance(op, scf.ForOp):
        yield Loop(op.body.block.args[0], op.lb, op.ub, _step(op.step), False)
    elif isinstance(op, scf.ParallelOp):
        bounds = op.lowerBound, op.upperBound, op.step
        for counter, lower, upper, step in zip(op.body.block.args, *bounds, strict=False):
            yield Loop(counter, lower, upper, _step(step), True)


def _step(value: SSAValue) -> int:
    return max(1, constant_index(value) or 1)


class LinearIndices:
    """
    The indices of a function as linear sums of counters, which begin at 0, and of values that are no sums.

    A loop from `%i * 8` on has the index `%i * 8 + %counter`: the tiles of a loop are known to be apart.
    """

    def __init__(self) -> None:
        self._sums: dict[SSAValue, Linear] = {}
        self._ranges: dict[SSAValue, Range] = {}

    def of(self, value: SSAValue) -> Linear:
        """The sum that an index is."""
        if (found := self._sums.get(value)) is None:
            found = self._sums[value] = self._of(value)
        return found

    def _of(self, value: SSAValue) -> Linear:
        if (number := constant_index(value)) is not None:
            return Linear((), number)
        match value.owner:
            case arith.AddiOp() as op:
                return self.of(op.lhs) + self.of(op.rhs)
            case arith.SubiOp() as op:
                return self.of(op.lhs) - self.of(op.rhs)
            case arith.MuliOp() as op:
                sums = [self.of(op.lhs), self.of(op.rhs)]
                for factor, other in (sums, sums[::-1]):
                    if not factor.terms:
                        return other.scaled(factor.constant)
            case Block() as block if (parent := block.parent_op()) is not None:
                loop = next((each for each in loops_of(parent) if each.counter is value), None)
                return Linear(((value, 1),), 0) + (self.of(loop.lower) if loop else Linear((), 0))
            case _:
                pass
        return Linear(((value, 1),), 0)

    def range_of(self, value: SSAValue) -> Range:
        """The values of a term: those of a counter from 0 on, of anything else any."""
        if (found := self._ranges.get(value)) is None:
            found = self._ranges[value] = self._range_of(value)
        return found

    def _range_of(self, value: SSAValue) -> Range:
        block = value.owner
        parent = block.parent_op() if isinstance(block, Block) else None
        for loop in loops_of(parent) if parent is not None else ():
            if loop.counter is value:
                most = self._most(loop.upper, self.of(loop.lower)) - 1
                return Range(0, most if most == inf else max(0, most - most % loop.step))
        return ANY

    def _most(self, value: SSAValue, less: Linear) -> float:
        """The greatest value of an index less a sum."""
        if isinstance(op := value.owner, arith.MinSIOp):
            return min(self._most(operand, less) for operand in op.operands)
        return self.range_of_sum(self.of(value) - less).high

    def range_of_sum(self, sum: Linear) -> Range:
        """The values of a sum whose terms are independent of each other."""
        found = Range(sum.constant, sum.constant)
        for value, factor in sum.terms:
            found += self.range_of(value).scaled(factor)
        return found
