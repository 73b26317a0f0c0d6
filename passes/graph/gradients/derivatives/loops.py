"""Derivatives of loops: the values that iterations begin with are stacked, and read from the last on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.dialects.graph_ir.annotations import in_bounds
from stepwell.dialects.locations import adopt_location
from stepwell.passes.graph.gradients.arms import copied, return_values, swept
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.derivatives.loop_tapes import WholeTape, blocked, named, trips_of
from stepwell.passes.graph.gradients.options import BLOCKED
from stepwell.passes.graph.gradients.rules import Cotangents, derivative
from stepwell.passes.graph.gradients.sweep import Sweep, inputs_of
from stepwell.passes.graph.loops_as_calls import has_fixed_sizes
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


@derivative(graph.ForOp)
def for_(op: graph.ForOp, dy: SSAValue | Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """
    A loop from the last iteration to the first; each recomputes its iteration from the values at its start.

    The forward loop stacks these values along a new first axis, in buffers that it carries: memory for one
    copy of the carried values for each iteration. The second loop carries the cotangents of the carried
    values, and sums the cotangents of values from outside. Compiled code writes a row in place, and copies
    nothing else of the buffer.
    ```mlir
    %y = graph.for %i to %n (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      %b = graph.multiply %a, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %b : tensor<4xf32>
    }
    // ->
    %y, %t = graph.for %i to %n (%a = %x : tensor<4xf32>, %s = %empty : tensor<3x4xf32>) -> … {
      %u = graph.insert_slice %row into %s at_value %at : tensor<2xi64> …
      %b = graph.multiply %a, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %b, %u : tensor<4xf32>, tensor<3x4xf32>
    }
    %dx, %dw = graph.for %i to %n (%d = %dy : tensor<4xf32>, %e = %zero : tensor<4xf32>) -> … {
      %a = graph.gather %t, %j axis 0 batch_dims 0 bounds "check" : …
      %da = graph.multiply %d, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %dw = graph.multiply %d, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %f = graph.add %e, %dw : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %da, %f : tensor<4xf32>, tensor<4xf32>
    }
    ```
    A loop whose carried values change in size, or are data, is a function that calls itself instead; its tape
    is a list.
    """
    found = _of_loop(op, op, [dy] if isinstance(dy, SSAValue) else list(dy), b)
    return [found.get(value) for value in inputs_of(op)]


@derivative(graph.WhileOp)
def while_(op: graph.WhileOp, dy: SSAValue | Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """
    A copy of the loop counts the iterations; with that number it is a `graph.for`.

    The forward loop runs twice.
    """
    expect_fixed_sizes(op)
    ahead = b.before(op)
    body = copied(op.body, op)
    body.block.insert_arg(INDEX_TYPE, 0)
    made = graph.ForOp(_iterations(op, ahead), list(op.inits), body)
    _place(made, op, ahead)
    for old, new in zip(op.values, made.values, strict=True):
        old.replace_all_uses_with(new)
    found = _of_loop(made, op, [dy] if isinstance(dy, SSAValue) else list(dy), b)
    return [found.get(value) for value in inputs_of(op)]


def _iterations(op: graph.WhileOp, b: GradientBuilder) -> SSAValue:
    """The number of iterations, counted by a copy of the loop."""
    test, body = copied(op.test, op), copied(op.body, op)
    test.block.insert_arg(INDEX_TYPE, len(test.block.args))
    number = body.block.insert_arg(INDEX_TYPE, len(body.block.args))
    last = yield_of(body)
    inner = b.before(last)
    return_values(last, [*last.operands, inner.add(number, inner.number(1))])
    counting = graph.WhileOp([*op.inits, b.number(0)], test, body)
    _place(counting, op, b)
    return counting.results[-1]


def expect_fixed_sizes(op: graph.LoopOp) -> None:
    """Require carried values to be tensors of one size. Raises: StepwellError `no-derivative`."""
    if not has_fixed_sizes(op):
        message = "a loop that changes sizes has a derivative where no op in it has such a size as operand"
        help = "carry a tensor of the largest size, and write to a part of it"
        raise StepwellError("no-derivative", op, message, help=help)


def _place(made: Operation, op: Operation, b: GradientBuilder) -> None:
    b.rewriter.insert(made)
    adopt_location(made, op.location)


@dataclass(frozen=True)
class _Tape:
    """Values before each iteration: a buffer [iterations, …] for each carried value that the body uses."""

    stacks: dict[int, SSAValue]


def _of_loop(
    op: graph.ForOp, origin: graph.LoopOp, given: Sequence[SSAValue | None], b: GradientBuilder
) -> dict[SSAValue, SSAValue]:
    """The cotangents of initial values, and of values around a loop that its body uses."""
    expect_fixed_sizes(op)
    if b.scope.options.every > 1 and BLOCKED not in op.attributes:
        op = blocked(op, b.scope.options.every, b.before(origin))
    wanted = [value for value in captured_values(op.body) if value in b.active]
    places = _active_places(op, wanted, b)
    tape = None if b.scope.options.keeps_all else _taped(op, b.before(origin))
    cotangents = [given[place] or b.zeros(op.results[place]) for place in places]
    sums = [b.zeros(value) for value in wanted]
    inits = [*cotangents, *sums]
    types = [value.type for value in inits]
    region = Region(Block([graph.YieldOp([])], arg_types=[INDEX_TYPE, *types]))
    made = graph.ForOp.create(operands=[op.count, *inits], result_types=types, regions=[region])
    _place(made, origin, b)
    if tape is None:
        _fill_from_tape(made, op, origin, places, wanted, b)
    else:
        _fill_backwards(made, op, tape, places, wanted, b)
    found: dict[SSAValue, SSAValue] = {}
    keys = [*(op.inits[place] for place in places), *wanted]
    for value, cotangent in zip(keys, made.results, strict=True):
        found[value] = b.sum_of(found[value], cotangent) if value in found else cotangent
    return found


def _active_places(op: graph.ForOp, wanted: Sequence[SSAValue], b: GradientBuilder) -> list[int]:
    """The carried values that depend on active ones, in some iteration."""
    places = [place for place, init in enumerate(op.inits) if init in b.active]
    while True:
        arguments = [op.carried[place] for place in places]
        sweep = Sweep([*wanted, *arguments], list(op.body.block.ops)[:-1], b.scope.tangents)
        reached = {place for place, value in enumerate(op.next_values) if value in sweep.active}
        if reached <= {*places}:
            return places
        places = sorted({*places, *reached})


def _taped(op: graph.ForOp, b: GradientBuilder) -> _Tape:
    """Replace a loop by one that also stacks the values at the begin of each iteration."""
    used = [place for place, value in enumerate(op.carried) if value.first_use is not None]
    if not used:
        return _Tape({})
    trips = trips_of(op, b)
    buffers = [
        b.insert(graph.FullOp(b.scalar(0, op.inits[place]), [trips, *b.dims(op.inits[place])]))
        for place in used
    ]
    body = copied(op.body, op)
    last = yield_of(body)
    inner = b.before(last)
    at = named(body.block.args[0], op, inner)
    stacked: list[SSAValue] = []
    for place, buffer in zip(used, buffers, strict=True):
        argument = body.block.insert_arg(buffer.type, len(body.block.args))
        row = inner.expand(body.block.args[1 + place], [0])
        offsets = [at, *[Dim.of(0)] * (len(b.dims(buffer)) - 1)]
        stacked.append(inner.insert(in_bounds(graph.InsertSliceOp(argument, row, offsets))))
    return_values(last, [*last.operands, *stacked])
    made = graph.ForOp(op.count, [*op.inits, *buffers], body)
    _place(made, op, b)
    for old, new in zip(op.values, made.values, strict=False):
        old.replace_all_uses_with(new)
    return _Tape(dict(zip(used, made.results[len(op.inits) :], strict=True)))


def _fill_from_tape(
    made: graph.ForOp,
    op: graph.ForOp,
    origin: graph.LoopOp,
    places: Sequence[int],
    wanted: Sequence[SSAValue],
    b: GradientBuilder,
) -> None:
    """Write the body of the loop from the last iteration to the first, by all values that it reads."""
    block, last = made.body.block, yield_of(made.body)
    given = dict(zip(places, block.args[1:], strict=False))
    ordered = [given.get(place) for place in range(len(op.inits))]
    ahead = b.before(origin)
    tape = WholeTape(op, ordered, (places, wanted), b)
    if not tape.is_stackable:
        _fill_backwards(made, op, _taped(op, ahead), places, wanted, b)
        return
    stacks = tape.stacked(trips_of(op, ahead), ahead)
    inner = b.before(last)
    found = tape.cotangents(stacks, _reversed(op, block, inner), inner)
    return_values(last, _summed(found, block, len(places), inner))


def _reversed(op: graph.ForOp, block: Block, b: GradientBuilder) -> SSAValue:
    """The number of the forward iteration."""
    return b.subtract(b.subtract(op.count, b.number(1)), block.args[0])


def _summed(found: Sequence[SSAValue], block: Block, count: int, b: GradientBuilder) -> list[SSAValue]:
    """The cotangents of carried values, then the sums of those of values around the loop."""
    totals = zip(block.args[1 + count :], found[count:], strict=True)
    return [*found[:count], *(b.sum_of(total, value) for total, value in totals)]


def _fill_backwards(
    made: graph.ForOp,
    op: graph.ForOp,
    tape: _Tape,
    places: Sequence[int],
    wanted: Sequence[SSAValue],
    b: GradientBuilder,
) -> None:
    """Write the body of the loop from the last iteration to the first."""
    block, last = made.body.block, yield_of(made.body)
    inner = b.before(last)
    number = _reversed(op, block, inner)
    forward = copied(op.body, op).block
    forward.args[0].replace_all_uses_with(number)
    began: dict[int, SSAValue] = {}
    for place, argument in enumerate(forward.args[1 : 1 + len(op.inits)]):
        if place in tape.stacks:
            began[place] = inner.insert(graph.GatherOp(tape.stacks[place], number, 0))
            argument.replace_all_uses_with(began[place])
        elif place in places:  # no iteration uses it
            began[place] = inner.zeros(op.inits[place])
    *ops, end = forward.ops
    values = list(end.operands)
    for each in ops:
        each.detach()
        block.insert_op_before(each, last)
    given = dict(zip(places, block.args[1:], strict=False))
    ordered = [given.get(place) for place in range(len(values))]
    found = swept(ops, values, ordered, [*(began[place] for place in places), *wanted], inner)
    return_values(last, _summed(found, block, len(places), inner))
