"""Indices of loops as expressions of integers, with the ranges and conditions around an op."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias, TypeGuard, cast

from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.linalg_builder.support import symbol_arguments
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.sizes import declared_size
from stepwell.passes.analysis import Analyzer

SIGNS = {0: "==", 2: "<", 3: "<=", 4: ">", 5: ">="}
"""The signs of comparisons of signed integers, by predicate."""
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_INFIX = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.floordivsi": "floordiv"}
_MOST_DEPTH = 16
_NAME = re.compile(r"\bv\d+\b")

_Range: TypeAlias = "tuple[int | str | None, int | str | None]"
"""The least and the greatest value: a number, an expression, or None for no bound."""


class LoopIndices:
    """The indices of a function as text for an `Analyzer`, with names of their own."""

    def __init__(self, func: FuncOp):
        self._func = func
        self._names: dict[SSAValue, str] = {}
        self._values: dict[str, SSAValue] = {}
        self._symbols = dict(symbol_arguments(func)) if is_kernel(func) else {}
        self._sizes = set(self._symbols.values())

    def analyzer(self, op: Operation, text: str) -> Analyzer:
        """An analyzer with the loops and conditions around an op, for the symbols of an expression."""
        facts = list(self._facts(op))
        ranges: dict[str, _Range] = {}
        for each in (text, *facts):
            self._add_ranges(each, ranges)
        analyzer = Analyzer(
            {name: ends for name, ends in ranges.items() if self._values[name] not in self._sizes}
        )
        for fact in facts:
            analyzer.assume(fact)
        return analyzer

    def _add_ranges(self, text: str, ranges: dict[str, _Range]) -> None:
        """Add the ranges of the symbols of an expression, after those of the symbols in their ends."""
        for name in _NAME.findall(text):
            if name in ranges:
                continue
            ends = self._range(self._values[name])
            for end in ends:
                if isinstance(end, str):
                    self._add_ranges(end, ranges)
            ranges[name] = ends

    def _range(self, value: SSAValue) -> _Range:
        """The range of a symbol: the index of a loop, or an extent."""
        block = value.owner
        if not isinstance(block, Block):
            return (0, None) if isinstance(block, tensor.DimOp | memref.DimOp) else (None, None)
        match block.parent_op():
            case scf.ForOp() as loop if value is block.args[0]:
                return self._of_loop(loop.lb, loop.ub, loop.step)
            case scf.ParallelOp() as loop:
                place = block.args.index(value)
                return self._of_loop(loop.lowerBound[place], loop.upperBound[place], loop.step[place])
            case _:
                return None, None

    def _of_loop(self, lower: SSAValue, upper: SSAValue, step: SSAValue) -> _Range:
        """The range of the index of a loop, which ascends from one bound and is less than the other."""
        low, end = number_of(lower), number_of(upper)
        first = self.text(lower) if low is None else low
        if (number_of(step) or 0) <= 0:
            return first, None
        return first, f"{self.text(upper)} - 1" if end is None else end - 1

    def size_of(self, buffer: SSAValue, axis: int) -> SSAValue | None:
        """The value from which an open extent of a buffer comes: a symbol, or a size of its allocation."""
        dim = declared_size(buffer, axis)
        if dim is not None:
            return self._symbols.get(str(dim))
        place = cast("MemRefType[Attribute]", buffer.type).get_shape()[:axis].count(DYNAMIC_INDEX)
        match buffer.owner:
            case memref.ViewOp() as view:
                return view.sizes[place]
            case memref.AllocOp() | memref.AllocaOp() as allocation:
                return allocation.dynamic_sizes[place]
            case _:
                return None

    def _facts(self, op: Operation) -> Iterator[str]:
        """The comparisons under which an op runs."""
        inner, outer = op.parent_region(), op.parent_op()
        while outer is not None and outer is not self._func:
            if isinstance(outer, scf.IfOp):
                yield from self._conditions(outer.cond, holds=inner is outer.true_region)
            inner, outer = outer.parent_region(), outer.parent_op()

    def _conditions(self, value: SSAValue, *, holds: bool) -> Iterator[str]:
        """The comparisons of indices that follow from a condition."""
        op = value.owner
        if isinstance(op, arith.CmpiOp) and isinstance(op.lhs.type, IndexType):
            sign = SIGNS.get(op.predicate.value.data)
            sign = sign if holds or sign is None else _OPPOSITE.get(sign)
            if sign is not None:
                yield f"{self.text(op.lhs)} {sign} {self.text(op.rhs)}"
        elif holds and isinstance(op, arith.AndIOp):
            for operand in op.operands:
                yield from self._conditions(operand, holds=True)
        elif holds and _is_select(op) and number_of(op.operands[2]) == 0:
            for operand in op.operands[:2]:  # `a and b`
                yield from self._conditions(operand, holds=True)

    def text(self, value: SSAValue, depth: int = 0) -> str:
        """An index as an expression of symbols."""
        if (number := number_of(value)) is not None:
            return f"({number})"
        op = value.owner
        if isinstance(op, tensor.DimOp | memref.DimOp) and (axis := number_of(op.index)) is not None:
            if (size := self.size_of(op.source, axis)) is not None:
                return self.text(size)
        if isinstance(op, Operation) and depth < _MOST_DEPTH:
            sign = _INFIX.get(op.name)
            if sign is not None and (sign != "floordiv" or (number_of(op.operands[1]) or 0) > 0):
                left, right = (self.text(operand, depth + 1) for operand in op.operands)
                return f"({left} {sign} {right})"
            if isinstance(op, arith.MinSIOp | arith.MaxSIOp):
                left, right = (self.text(operand, depth + 1) for operand in op.operands)
                return f"{'min' if isinstance(op, arith.MinSIOp) else 'max'}({left} , {right} )"
        name = self._names.setdefault(value, f"v{len(self._names)}")
        self._values[name] = value
        return name


def _is_select(op: Operation | Block) -> TypeGuard[Operation]:
    return isinstance(op, Operation) and op.name == arith.SelectOp.name


def number_of(value: SSAValue) -> int | None:
    """The value of an integer constant; None for any other value."""
    attribute = value.owner.properties.get("value") if isinstance(value.owner, Operation) else None
    is_constant = isinstance(value.owner, Operation) and value.owner.name == "arith.constant"
    return attribute.value.data if is_constant and isinstance(attribute, IntegerAttr) else None
