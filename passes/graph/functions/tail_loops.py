"""Loops for functions whose calls of themselves are all in tail position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.functions import values_read
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.passes.graph.functions.tail_calls import (
    SelfCalls,
    arguments_of,
    has_known_sizes,
    is_branch,
    last_before_end,
)
from stepwell.runtime.files.weights import WeightStore

_Values = Sequence[SSAValue]
_Known = dict[SSAValue, SSAValue]


def make_loop(calls: SelfCalls, weights: WeightStore) -> str:
    """Replace the calls of a function in tail position by a loop; returns the reason where that cannot be."""
    split = _Split.of(calls)
    if split is None and (reason := _reason_against_results(calls)):
        return reason
    made = Block()
    results = split.loop(made) if split is not None else _Flagged(calls, weights).loop(made)
    function, block = calls.function, calls.block
    made.add_op(ReturnOp(*results) if isinstance(block.last_op, ReturnOp) else graph.YieldOp(results))
    for op in made.ops:
        adopt_location(op, function.location)
    for op in reversed(block.ops):
        op.detach()
        op.erase(safe_erase=False)
    for op in list(made.ops):
        op.detach()
        block.add_op(op)
    if isinstance(function, graph.LambdaOp) and function.itself is not None:
        block.erase_arg(function.itself)
        del function.properties["recursive"]
    return ""


@dataclass
class _Split:
    """A function whose last op is a branch: to a call of the function, or to its end."""

    calls: SelfCalls
    branch: graph.IfOp
    before: Sequence[Operation]
    goes_on: int
    """The number of the branch that calls the function again."""

    @staticmethod
    def of(calls: SelfCalls) -> _Split | None:
        """The split of a function; None where a branch may do both, or ops before it cannot run twice."""
        branch = last_before_end(calls.block)
        if not isinstance(branch, graph.IfOp):
            return None
        kinds = [_always_calls(region.block, calls) for region in branch.regions]
        if sorted(map(str, kinds)) != ["False", "True"]:
            return None
        before = list(calls.block.ops)[:-2]
        if not all(map(is_side_effect_free, before)):
            return None
        split = _Split(calls, branch, before, kinds.index(True))
        shared = split.needed([branch.condition]) & (split.needed_by(0) | split.needed_by(1))
        return split if all(map(_is_cheap, shared)) else None

    def needed(self, values: Iterable[SSAValue]) -> set[Operation]:
        """The ops before the branch that values depend on."""
        inside, found, waiting = set(self.before), set[Operation](), list(values)
        while waiting:
            owner = waiting.pop().owner
            if isinstance(owner, Operation) and owner in inside and owner not in found:
                found.add(owner)
                waiting += values_read(owner)
        return found

    def needed_by(self, number: int) -> set[Operation]:
        """The ops before the branch, as far as a region needs them."""
        return self.needed(value for op in self.branch.regions[number].block.ops for value in values_read(op))

    def loop(self, out: Block) -> _Values:
        """Add the loop and what follows it to a block; returns the function's results."""
        calls, parameters = self.calls, self.calls.parameters
        test, known = _block_like(parameters)
        self._copy(self.needed([self.branch.condition]), test, known)
        condition = known.get(self.branch.condition, self.branch.condition)
        if self.goes_on == 1:
            test.add_op(negated := graph.NotOp(condition))
            condition = negated.result
        test.add_op(graph.YieldOp([condition]))
        body, known = _block_like(parameters)
        self._copy(self.needed_by(self.goes_on), body, known)
        types = [value.type for value in parameters]
        again = self.branch.regions[self.goes_on].block
        _Arm(calls, types, lambda arguments: arguments, lambda values: values).copy(again, body, known)
        made = graph.WhileOp(parameters, Region(test), Region(body))
        out.add_op(made)
        known = _Known(zip(parameters, made.results, strict=True))
        for old, new in zip(parameters, made.results, strict=True):
            new.name_hint = old.name_hint
        ends = 1 - self.goes_on
        self._copy(self.needed_by(ends), out, known)
        *ops, last = self.branch.regions[ends].block.ops
        for op in ops:
            out.add_op(op.clone(known))
        return [known.get(value, value) for value in last.operands]

    def _copy(self, ops: set[Operation], into: Block, known: _Known) -> None:
        for op in self.before:
            if op in ops:
                into.add_op(op.clone(known))


@dataclass
class _Flagged:
    """A loop that carries, beside the arguments, whether it goes on, and the results."""

    calls: SelfCalls
    weights: WeightStore

    def loop(self, out: Block) -> _Values:
        """Add the loop to a block; returns the function's results."""
        calls, parameters = self.calls, list(self.calls.parameters)
        carried = [
            *parameters,
            self._constant(True, out),
            *(self._zeros(type, out) for type in calls.results),
        ]
        count = len(parameters)
        test, _ = _block_like(carried)
        test.add_op(graph.YieldOp([test.args[count]]))
        body, known = _block_like(carried)
        arguments, goes_on, results = body.args[:count], body.args[count], body.args[count + 1 :]
        ends = self._constant(False, body)
        arm = _Arm(
            calls,
            [value.type for value in carried],
            lambda values: [*values, goes_on, *results],  # the flag is true within the loop
            lambda values: [*arguments, ends, *values],
        )
        arm.copy(calls.block, body, known)
        made = graph.WhileOp(carried, Region(test), Region(body))
        out.add_op(made)
        return made.results[count + 1 :]

    def _constant(self, value: bool, into: Block) -> SSAValue:
        into.add_op(made := graph.ConstantOp.of(np.array(value), self.weights))
        return made.result

    def _zeros(self, type: Attribute, into: Block) -> SSAValue:
        """The value that a result has before the last iteration."""
        dtype = dtype_of(cast(Tensor, type).element_type)
        into.add_op(zero := graph.ConstantOp.of(np.array(0).astype(dtype), self.weights))
        if not (dims := dims_of(type)):
            return zero.result
        into.add_op(full := graph.FullOp(zero.result, dims))
        return full.result


@dataclass
class _Arm:
    """Copies of a function's ops that yield the carried values of a loop in the places of calls and ends."""

    calls: SelfCalls
    types: Sequence[Attribute]
    goes_on: Callable[[_Values], _Values]
    """The carried values, of the arguments of a call."""
    ends: Callable[[_Values], _Values]
    """The carried values, of the function's results."""

    def copy(self, source: Block, into: Block, known: _Known) -> None:
        """Copy the ops of a block into another one, which yields the carried values."""
        last, op = source.last_op, last_before_end(source)
        assert last is not None
        if op is not None and not self._calls(op):
            op = None
        for each in source.ops:
            if each is not last and each is not op:
                into.add_op(each.clone(known))
        if op is None:
            values = self.ends([known.get(value, value) for value in last.operands])
        elif is_branch(op):
            values = self._branch(op, into, known)
        else:
            values = self.goes_on([known.get(value, value) for value in arguments_of(op)])
        into.add_op(graph.YieldOp(values))

    def _calls(self, op: Operation) -> bool:
        return any(inner in self.calls.tail for inner in op.walk())

    def _branch(self, op: Operation, into: Block, known: _Known) -> _Values:
        """Copy a branch whose regions yield the carried values."""
        regions: list[Region] = []
        for region in op.regions:
            block, inner = _block_like(region.block.args)
            self.copy(region.block, block, {**known, **inner})
            regions.append(Region(block))
        made = type(op).create(
            operands=[known.get(value, value) for value in op.operands],
            result_types=self.types,
            properties=op.properties,
            regions=regions,
        )
        adopt_location(made, op.location)
        into.add_op(made)
        return made.results


def _block_like(values: _Values) -> tuple[Block, _Known]:
    """A block with an argument for each value, and the arguments by the values."""
    block = Block(arg_types=[value.type for value in values])
    for old, new in zip(values, block.args, strict=True):
        new.name_hint = old.name_hint
    return block, dict(zip(values, block.args, strict=True))


def _always_calls(block: Block, calls: SelfCalls) -> bool | None:
    """Whether a block ends in calls of the function: True, False, or None where it may."""
    found = set[bool]()
    waiting = [block]
    while waiting:
        op = last_before_end(waiting.pop())
        if op is not None and is_branch(op):
            waiting += [region.block for region in op.regions]
        else:
            found.add(op in calls.tail)
    return found.pop() if len(found) == 1 else None


def _reason_against_results(calls: SelfCalls) -> str:
    """Why a loop cannot carry the results; empty where it can."""
    known = {str(dim) for value in calls.parameters for dim in dims_of(value.type)}
    for type in calls.results:
        if not has_known_sizes(type) or not all(dim.is_static or str(dim) in known for dim in dims_of(type)):
            return "its results are not tensors of known sizes"
    waiting = [calls.block]
    while waiting:
        block = waiting.pop()
        if block.last_op is None or list(block.last_op.operand_types) != list(calls.results):
            return "its branches end with other sizes"
        op = last_before_end(block)
        if op is not None and is_branch(op):
            waiting += [region.block for region in op.regions]
    return ""


def _is_cheap(op: Operation) -> bool:
    """Whether an op may be computed twice in an iteration: a constant, or a scalar from scalars."""
    if isinstance(op, graph.ConstantOp):
        return True
    values = (*op.operands, *op.results)
    scalars = all(value.type.name == TensorType.name and not dims_of(value.type) for value in values)
    return isinstance(op, GraphOp) and op.KIND <= Kind.BROADCAST and not op.regions and scalars
