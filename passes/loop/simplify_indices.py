"""`simplify-indices`: extrema, divisions and comparisons of indices that the ranges of loops decide."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.linalg_builder.support import symbol_arguments
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.passes.analysis import Analyzer
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count

_SIGNS = {0: "==", 2: "<", 3: "<=", 4: ">", 5: ">="}
"""The signs of comparisons of signed integers, by predicate."""
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_INFIX = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.floordivsi": "floordiv"}
_MOST_DEPTH = 16


class SimplifyIndicesPass(Pass):
    """
    Replace index arithmetic that is decided by the ranges of loops, and by the conditions around it.

    ```mlir
    scf.for %i = %c0 to %c8 step %c1 {
      %a = arith.minsi %i, %c7 : index
      %q = arith.floordivsi %a, %c8 : index
    // ->
    scf.for %i = %c0 to %c8 step %c1 {
      // %a is %i, %q is %c0
    ```
    So an index that a condition keeps inside needs no clamp. Class: exact.
    """

    name = "simplify-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            if func.body.blocks:
                _Function(func).run()


class _Function:
    """The index arithmetic of a function."""

    def __init__(self, func: FuncOp):
        self._func = func
        self._names: dict[SSAValue, str] = {}
        self._sizes = {value for _, value in symbol_arguments(func)} if is_kernel(func) else set[SSAValue]()

    def run(self) -> None:
        """Replace what is decided, from outside to inside."""
        for op in list(self._func.walk()):
            if isinstance(op, arith.MinSIOp | arith.MaxSIOp | arith.CmpiOp | arith.FloorDivSIOp):
                if isinstance(op.operands[0].type, IndexType) and (new := self._decided(op)) is not None:
                    op.results[0].replace_all_uses_with(new)
                    count("rewrites")
            elif isinstance(op, arith.SelectOp) or op.name == "arith.select":
                self._select(op)
        erase_dead(self._func)

    def _select(self, op: Operation) -> None:
        """Take the side that a constant condition chooses."""
        condition = op.operands[0].owner
        number = condition.properties.get("value") if isinstance(condition, Operation) else None
        if isinstance(number, IntegerAttr):
            op.results[0].replace_all_uses_with(op.operands[1 if number.value.data else 2])
            count("rewrites")

    def _decided(self, op: Operation) -> SSAValue | None:
        """The value that an op always has; None where it has several, or that is not known."""
        left, right = (self._text(operand) for operand in op.operands)
        analyzer = self._analyzer(op, f"{left} + {right}")
        match op:
            case arith.MinSIOp() | arith.MaxSIOp():
                is_min = isinstance(op, arith.MinSIOp)
                if analyzer.proves(f"{left} <= {right}"):
                    return op.operands[0 if is_min else 1]
                return op.operands[1 if is_min else 0] if analyzer.proves(f"{left} >= {right}") else None
            case arith.CmpiOp():
                sign = _SIGNS.get(op.predicate.value.data)
                answer = None if sign is None else analyzer.proves(f"{left} {sign} {right}")
                if answer is None:
                    return None
                return IRBuilder.before(op).number(int(answer), IntegerType(1))
            case _:
                number = _number(op.operands[1])
                if number is None or number <= 0:
                    return None
                low, high = analyzer.bounds(f"({left}) floordiv {number}")
                return IRBuilder.before(op).materialize(low) if isinstance(low, int) and low == high else None

    def _analyzer(self, op: Operation, text: str) -> Analyzer:
        """An analyzer with the loops and conditions around an op, for the symbols of an expression."""
        facts = list(self._facts(op))
        known = {name: value for value, name in self._names.items()}
        ranges: dict[str, tuple[int | str | None, int | str | None]] = {}
        waiting = [text, *facts]
        for each in waiting:  # grows: the end of a range has further symbols
            for name in known:
                if name not in ranges and name in each.replace("(", " ").replace(")", " ").split():
                    ranges[name] = self._range(known[name])
                    waiting += [end for end in ranges[name] if isinstance(end, str)]
        sized = {name: ends for name, ends in ranges.items() if known[name] not in self._sizes}
        analyzer = Analyzer(dict(sorted(sized.items(), key=lambda item: isinstance(item[1][1], str))))
        for fact in facts:
            analyzer.assume(fact)
        return analyzer

    def _range(self, value: SSAValue) -> tuple[int | str | None, int | str | None]:
        """The range of a symbol: the index of a loop, or an extent."""
        block = value.owner
        if (
            isinstance(block, Block)
            and isinstance(loop := block.parent_op(), scf.ForOp)
            and value is block.args[0]
        ):
            low, step = _number(loop.lb), _number(loop.step)
            if low is not None and step == 1:
                end = _number(loop.ub)
                return low, end - 1 if end is not None else f"{self._text(loop.ub)} - 1"
            return low, None
        is_extent = isinstance(block, tensor.DimOp | memref.DimOp)
        return (0, None) if is_extent else (None, None)

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
            sign = _SIGNS.get(op.predicate.value.data)
            sign = sign if holds or sign is None else _OPPOSITE.get(sign)
            if sign is not None:
                yield f"{self._text(op.lhs)} {sign} {self._text(op.rhs)}"
        elif holds and isinstance(op, arith.AndIOp):
            for operand in op.operands:
                yield from self._conditions(operand, holds=True)
        elif (
            holds and isinstance(op, Operation) and op.name == "arith.select" and _number(op.operands[2]) == 0
        ):
            for operand in op.operands[:2]:  # `a and b`
                yield from self._conditions(operand, holds=True)

    def _text(self, value: SSAValue, depth: int = 0) -> str:
        """An index as an expression of symbols."""
        if (number := _number(value)) is not None:
            return f"({number})"
        op = value.owner
        if isinstance(op, Operation) and depth < _MOST_DEPTH:
            sign = _INFIX.get(op.name)
            if sign is not None and (sign != "floordiv" or (_number(op.operands[1]) or 0) > 0):
                left, right = (self._text(operand, depth + 1) for operand in op.operands)
                return f"({left} {sign} {right})"
            if isinstance(op, arith.MinSIOp | arith.MaxSIOp):
                left, right = (self._text(operand, depth + 1) for operand in op.operands)
                return f"{'min' if isinstance(op, arith.MinSIOp) else 'max'}({left} , {right} )"
        return self._names.setdefault(value, f"v{len(self._names)}")


def _number(value: SSAValue) -> int | None:
    """The number of a constant integer."""
    attribute = value.owner.properties.get("value") if isinstance(value.owner, Operation) else None
    is_constant = isinstance(value.owner, Operation) and value.owner.name == "arith.constant"
    return attribute.value.data if is_constant and isinstance(attribute, IntegerAttr) else None
