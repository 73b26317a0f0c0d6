"""Function values that reach a call through tuples, data, and branches that are decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, BlockArgument, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.patterns import BOUND
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.passes.context import count

_Branch = graph.IfOp | adt.MatchOp


class Reaching(NamedTuple):
    """A function value, whether it came through others, and whether nothing else uses any of these."""

    value: SSAValue
    came_through: bool
    used_once: bool


class _Taken(NamedTuple):
    """The region of a branch that runs, with the values of its arguments."""

    region: Region
    values: Sequence[SSAValue]


def reaching_function(call: graph.CallOp) -> Reaching:
    """
    The function value that a call calls, through fields of tuples and data, and results of branches.

    Decided branches on the way are replaced by the ops of the region that runs:

    ```mlir
    %f = graph.function @neg : (tensor<i64>) -> tensor<i64>
    %o = adt.make @Option::@Some(%f) : ((tensor<i64>) -> tensor<i64>) -> !adt.data<@Option, (tensor<i64>) -> tensor<i64>>
    %y = adt.match %o : !adt.data<@Option, (tensor<i64>) -> tensor<i64>> -> (tensor<i64>) case Some(%g: (tensor<i64>) -> tensor<i64>) {
      %z = graph.call %g(%x) : (tensor<i64>) -> tensor<i64>
      graph.yield %z : tensor<i64>
    } case None {
      graph.yield %x : tensor<i64>
    }
    // ->
    %f = graph.function @neg : (tensor<i64>) -> tensor<i64>
    %z = graph.call %f(%x) : (tensor<i64>) -> tensor<i64>
    ```
    """  # noqa: E501
    assert call.function is not None
    value, path, used_once, steps = call.function, list[int](), True, 0
    while True:
        used_once = used_once and value.has_one_use()
        if (before := _in_tuple(value, path) or _in_branch(value)) is None:
            break
        value, steps = before, steps + 1
    if path:
        return Reaching(call.function, False, False)
    return Reaching(value, steps > 0, used_once)


def _in_tuple(value: SSAValue, path: list[int]) -> SSAValue | None:
    """The tuple of a field, or the field of a tuple at the end of a path of field numbers; None of others."""
    owner = value.owner
    if isinstance(owner, graph.GetOp):
        path.append(owner.index.value.data)
        return owner.input
    if isinstance(owner, graph.TupleOp) and path:
        return owner.fields[path.pop()]
    return None


def _in_branch(value: SSAValue) -> SSAValue | None:
    """The value of a result or an argument of a decided branch, which is folded; None of others."""
    owner = value.owner
    if isinstance(owner, _Branch):
        results = _fold(owner)
        return results[cast(OpResult, value).index] if results is not None else None
    match = owner.parent_op() if isinstance(owner, Block) else None
    if isinstance(match, adt.MatchOp) and (taken := _taken(match)) and taken.region.block is owner:
        bound = taken.values[cast(BlockArgument, value).index]
        return bound if _fold(match) is not None else None
    return None


def _fold(op: _Branch) -> Sequence[SSAValue] | None:
    """Replace a decided branch by the ops of its region that runs; returns its results, None of others."""
    waiting, seen = [op], {op}
    while True:
        decider = _deciding_branch(waiting[-1])
        if decider is not None and decider not in seen:
            seen.add(decider)
            waiting.append(decider)
            continue
        results = _replaced(branch := waiting.pop())
        if branch is op:
            return results


def _deciding_branch(op: _Branch) -> _Branch | None:
    """The branch that the condition or the value of another branch comes from."""
    owner = _followed(op.operands[0]).owner
    before = owner.parent_op() if isinstance(owner, Block) else owner
    return before if isinstance(before, _Branch) else None


def _followed(value: SSAValue) -> SSAValue:
    """A value followed through fields of tuples as far as these are in sight."""
    path: list[int] = []
    while (before := _in_tuple(value, path)) is not None:
        value = before
    return value


def _replaced(op: _Branch) -> Sequence[SSAValue] | None:
    """Put the ops of the region that runs before a branch, and its values in the places of the results."""
    taken = _taken(op)
    if taken is None:
        return None
    count("branches decided")
    block = taken.region.block
    for argument, value in zip(tuple(block.args), taken.values, strict=True):
        argument.replace_all_uses_with(value)
    for argument in reversed(block.args):
        block.erase_arg(argument)
    last = yield_of(taken.region)
    values = list(last.operands)
    Rewriter.erase_op(last)
    Rewriter.inline_block(block, InsertPoint.before(op))
    for result, value in zip(op.results, values, strict=True):
        value.name_hint = value.name_hint or result.name_hint
        result.replace_all_uses_with(value)
    op.detach()
    op.erase(safe_erase=False)
    return values


def _taken(op: _Branch) -> _Taken | None:
    """The region of a branch that runs, if its values have exactly the types of the results; else None."""
    taken = _taken_case(op) if isinstance(op, adt.MatchOp) else _taken_arm(op)
    if taken is None or list(yield_of(taken.region).operand_types) != list(op.result_types):
        return None
    types = [value.type for value in taken.values]
    return taken if types == list(taken.region.block.arg_types) else None


def _taken_arm(op: graph.IfOp) -> _Taken | None:
    condition = _followed(op.condition).owner
    value = condition.value if isinstance(condition, graph.ConstantOp) else None
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    is_true = bool(cast("DenseIntOrFPElementsAttr[Any]", value).get_values()[0])
    return _Taken(op.then_region if is_true else op.else_region, [])


def _taken_case(op: adt.MatchOp) -> _Taken | None:
    for pattern, case in zip(op.patterns, op.cases, strict=True):
        bound: list[SSAValue] = []
        fit = _fits(pattern, op.value, bound)
        if fit is None:
            return None
        if fit:
            return _Taken(case, bound)
    return None


def _fits(pattern: adt.PatternAttr, value: SSAValue, bound: list[SSAValue]) -> bool | None:
    """Whether a pattern fits a value, with the values of its names; None where that is not in sight."""
    waiting = [(pattern, value)]
    while waiting:
        part, found = waiting.pop()
        if part.fits_all:
            bound += [found] if part.kind == BOUND else []
            continue
        made = _followed(found).owner
        if not isinstance(made, graph.TupleOp | adt.MakeOp):
            return None
        if isinstance(made, adt.MakeOp) and made.name_of_constructor != part.kind:
            return False
        waiting += reversed(list(zip(part.parts, made.operands, strict=True)))
    return True
