"""`append-to-states`: a call writes its new elements to the end of a growing state, in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import in_bounds
from stepwell.dialects.graph_ir.state import (
    LENGTH,
    STATE,
    argument_attributes,
    growing_axis,
    is_used_part,
    length_argument,
    set_argument_attributes,
    set_type_of_body,
)
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_attr, dims_of
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class AppendToStatesPass(Pass):
    """
    Let the next value of a growing state be the state itself with new positions written after the old ones.

    ```mlir
    %past = graph.slice %k starts <[0, 0]> limits <["P", 4]> steps [1, 1] …
    %all = graph.concat %past, %new axis 0 …
    func.return %all : …
    // ->
    %next = graph.insert_slice %new into %k at <["P", 0]> …
    %all = graph.slice %next starts <[0, 0]> limits <["P + S", 4]> steps [1, 1] …
    func.return %next : …
    ```
    `plan-memory` gives both values of the state one buffer, so that a call copies the new positions alone.
    Another next value than such a join is copied into the state whole, which a remark says. The number of new
    positions becomes the attribute `graph.length` of the state with the length.

    Class: exact. Fails where states grow by different numbers of positions. Does nothing without growing
    states; `bind-states` makes them.
    """

    name = "append-to-states"
    required: ClassVar[tuple[str, ...]] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            if function.sym_name.data == "main" and (length := length_argument(function)) is not None:
                _append(function, length)


def _append(main: FuncOp, length: BlockArgument) -> None:
    """Write all growing states of `@main` in place, and note by how much they grow."""
    attributes = argument_attributes(main)
    if not isinstance(last := main.body.block.last_op, ReturnOp) or main.res_attrs is None:
        return
    results = {each.data.get(STATE): number for number, each in enumerate(main.res_attrs.data)}
    added: set[Dim] = set()
    for argument, each in zip(main.body.block.args, attributes, strict=True):
        axis = growing_axis(each)
        number = results.get(each.data.get(STATE))
        if axis is None or number is None:
            continue
        value, new = _written(argument, last.operands[number], axis, last)
        last.operands[number] = value
        added.add(new)
    if len(added) > 1:
        message = f"states grow by {' and '.join(sorted(map(str, added)))} positions in a call"
        raise StepwellError("state-mismatch", main, message, help="all states have one length")
    for new in added:
        _check_room(main, length, new)
        data = {**attributes[length.index].data, LENGTH: dims_attr([new])}
        attributes[length.index] = DictionaryAttr(data)
    set_argument_attributes(main, attributes)
    set_type_of_body(main)


def _check_room(main: FuncOp, length: BlockArgument, new: Dim) -> None:
    """
    Let a call end with an error, before anything else, that would write after the end of states.

    Sessions refuse it before; the memory plan relies on the bound.
    """
    axes = zip(main.body.block.args, argument_attributes(main), strict=True)
    growing = {arg: axis for arg, each in axes if (axis := growing_axis(each)) is not None}
    sizes = dict.fromkeys(dims_of(state.type)[axis] - new for state, axis in growing.items())
    for use in list(length.uses):
        if not isinstance(bind := use.operation, graph.BindSizesOp):
            continue
        past = Dim.symbol(bind.symbols.data[0].data)
        check = graph.CheckOffsetsOp([past] * len(sizes), list(sizes))
        after = bind.next_op
        if not isinstance(after, graph.CheckOffsetsOp) or after.properties != check.properties:
            adopt_location(Builder(InsertPoint.after(bind)).insert(check), bind.location)
        for state, axis in growing.items():
            _mark(state, axis, past, new)


def _mark(value: SSAValue, axis: int, past: Dim, new: Dim) -> None:
    """Mark what reads past positions, and writes and reads new ones, as within the bounds of that check."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, graph.InsertSliceOp) and use.index == 0 and op.offsets is not None:
            others = [offset for i, offset in enumerate(op.offsets.get()) if i != axis]
            added = dims_of(op.update.type)[axis]
            if op.offsets.get()[axis] == past and added == new and all(offset == 0 for offset in others):
                _mark(in_bounds(op).result, axis, past, new)
        elif isinstance(op, graph.SliceOp) and op.limits is not None and op.starts is not None:
            whole = [*dims_of(value.type)]
            fits = [
                limit in (past, past + new) if i == axis else limit == whole[i]
                for i, limit in enumerate(op.limits.get())
            ]
            if all(fits) and all(start == 0 for start in op.starts.get()):
                in_bounds(op)


def _written(state: BlockArgument, result: SSAValue, axis: int, last: ReturnOp) -> tuple[SSAValue, Dim]:
    """The next value of a state, written over the one before, and the number of new positions."""
    if isinstance(op := result.owner, graph.InsertSliceOp) and op.input is state:  # written already
        return result, dims_of(op.update.type)[axis]
    if isinstance(op, graph.ConcatOp) and op.axis.value.data == axis and len(op.inputs) == 2:
        past, new = op.inputs
        if is_used_part(past) and isinstance(past.owner, graph.SliceOp) and past.owner.input is state:
            return _appended(state, op, dims_of(past.type)[axis], new, axis)
    past = _past_of(state, axis)
    remark(
        last, f"the state {state.name_hint!r} is copied whole: it is no concat of its value and new positions"
    )
    update = graph.InsertSliceOp(state, result, [0] * len(dims_of(result.type)))
    added = Builder(InsertPoint.before(last)).insert(update).result
    return added, dims_of(result.type)[axis] - past


def _appended(
    state: BlockArgument, join: graph.ConcatOp, past: Dim, new: SSAValue, axis: int
) -> tuple[SSAValue, Dim]:
    """The state with new positions after the past ones; readers of the join read the state."""
    builder = Builder(InsertPoint.before(join))
    rank = len(dims_of(new.type))
    offsets = [past if i == axis else Dim.of(0) for i in range(rank)]
    written = builder.insert(graph.InsertSliceOp(state, new, offsets))
    used = builder.insert(graph.SliceOp(written.result, [0] * rank, dims_of(join.result.type), [1] * rank))
    for op in (written, used):
        adopt_location(op, join.location)
    used.result.name_hint = join.result.name_hint
    join.result.replace_all_uses_with(used.result)
    join.detach()
    join.erase()
    count("states written in place")
    return written.result, dims_of(new.type)[axis]


def _past_of(state: BlockArgument, axis: int) -> Dim:
    """The number of positions of a state before a call, as the program reads it."""
    for use in state.uses:
        if isinstance(op := use.operation, graph.SliceOp) and is_used_part(op.result):
            return dims_of(op.result.type)[axis]
    message = "a growing state is not read"
    raise StepwellError("state-mismatch", state.owner.parent_op(), message, help="run bind-states before")
