"""`maxnumf` and `minnumf`, which ignore NaN, as a single comparison when an operand is never NaN."""

from __future__ import annotations

from math import isnan

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import BlockArgument, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.passes.loop.math.lanes import Lanes


class CompareNumbers(RewritePattern):
    """
    Replace `maxnumf` and `minnumf` by a comparison and a choice, if an operand is never NaN (exact).

    The operation itself needs three instructions, as either side may be NaN; this needs one. A zero of the
    other sign may result, which the operation leaves open.

    ```mlir
    %m = scf.for %i = … iter_args(%best = %minus_infinity) -> (f32) {
      %next = arith.maxnumf %best, %x : f32
      scf.yield %next : f32
    }
    // ->
      %above = arith.cmpf ogt, %x, %best : f32
      %next = arith.select %above, %x, %best : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.MaxnumfOp | arith.MinnumfOp, rewriter: PatternRewriter) -> None:
        number = next((v for v in (op.lhs, op.rhs) if _is_number(v, set())), None)
        if number is None:
            return
        other = op.rhs if number is op.lhs else op.lhs
        predicate = "ogt" if isinstance(op, arith.MaxnumfOp) else "olt"
        above = Lanes(rewriter, other).compare(predicate, Lanes(rewriter, number))
        rewriter.replace(op, [], [above.choose(Lanes(rewriter, other), Lanes(rewriter, number)).value])


def _is_number(value: SSAValue, assumed: set[SSAValue]) -> bool:
    """Whether a value is NaN in no lane; for an argument of a loop, its initial and yielded values count."""
    if value in assumed:
        return True
    if isinstance(value, BlockArgument):
        sources = _carried_from(value)
        return bool(sources) and all(_is_number(source, {*assumed, value}) for source in sources)
    assert isinstance(value, OpResult)
    match value.op:
        case arith.ConstantOp():
            numbers = _numbers(value.op)
            return bool(numbers) and not any(isnan(number) for number in numbers)
        case vector.BroadcastOp():
            return _is_number(value.op.source, assumed)
        case arith.MaxnumfOp() | arith.MinnumfOp():
            return any(_is_number(v, assumed) for v in value.op.operands)
        case arith.SelectOp():
            return _chooses_number(value.op, assumed)
        case scf.ForOp():
            block = value.op.body.block
            return _is_number(block.args[1 + value.index], assumed)
        case _:
            return False


def _chooses_number(op: arith.SelectOp, assumed: set[SSAValue]) -> bool:
    """Whether `arith.select` never gives NaN: both sides are numbers, or an ordered comparison chose one."""
    if not _is_number(op.rhs, assumed):
        return False
    compare = op.cond.owner
    if isinstance(compare, arith.CmpfOp) and compare.predicate.value.data in _ORDERED:
        return op.lhs in compare.operands or _is_number(op.lhs, assumed)
    return _is_number(op.lhs, assumed)


_ORDERED = range(1, 7)  # oeq to ord: true for numbers only


def _carried_from(arg: BlockArgument) -> list[SSAValue]:
    """The initial and the yielded value of an `scf.for` argument; none for other arguments."""
    loop = arg.block.parent_op()
    if not isinstance(loop, scf.ForOp) or arg.index == 0 or (last := arg.block.last_op) is None:
        return []
    return [loop.iter_args[arg.index - 1], last.operands[arg.index - 1]]


def _numbers(op: arith.ConstantOp) -> list[float]:
    """The floats of a constant; none for a constant of another type."""
    match op.value:
        case FloatAttr():
            return [op.value.value.data]
        case DenseIntOrFPElementsAttr():
            return [n for n in op.value.get_values() if isinstance(n, float)]
        case _:
            return []
