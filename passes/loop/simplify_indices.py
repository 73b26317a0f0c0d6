"""`simplify-indices`: extrema, divisions and comparisons of indices that the ranges of loops decide."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.loop.loop_indices import SIGNS, LoopIndices, number_of


class SimplifyIndicesPass(Pass):
    """
    Replace index arithmetic that is decided by the ranges of loops, and by the conditions around it.

    ```mlir
    scf.for %i = %c0 to %c8 step %c1 {
      %a = arith.minsi %i, %c7 : index
      %q = arith.floordivsi %a, %c8 : index
      … %a, %q
    }
    // ->
    scf.for %i = %c0 to %c8 step %c1 {
      … %i, %c0
    }
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
        self._func, self._indices = func, LoopIndices(func)

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
        """The value that an op always has; None if there are several, or if this is not known."""
        left, right = (self._indices.text(operand) for operand in op.operands)
        analyzer = self._indices.analyzer(op, f"{left} + {right}")
        match op:
            case arith.MinSIOp() | arith.MaxSIOp():
                is_min = isinstance(op, arith.MinSIOp)
                if analyzer.proves(f"{left} <= {right}"):
                    return op.operands[0 if is_min else 1]
                return op.operands[1 if is_min else 0] if analyzer.proves(f"{left} >= {right}") else None
            case arith.CmpiOp():
                sign = SIGNS.get(op.predicate.value.data)
                answer = None if sign is None else analyzer.proves(f"{left} {sign} {right}")
                if answer is None:
                    return None
                return IRBuilder.before(op).number(int(answer), IntegerType(1))
            case _:
                number = number_of(op.operands[1])
                if number is None or number <= 0:
                    return None
                low, high = analyzer.bounds(f"({left}) floordiv {number}")
                return IRBuilder.before(op).materialize(low) if isinstance(low, int) and low == high else None
