"""`bind-states`: inputs and outputs that are one value, such as the keys of past tokens, become states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph_ir.state import (
    GROWS,
    LENGTH,
    STATE,
    add_state,
    argument_attributes,
    set_argument_attributes,
    set_type_of_body,
)
from stepwell.dialects.types import Tensor, dims_of, int_attr, tensor_type
from stepwell.passes.analysis.rename_symbols import rename_symbols
from stepwell.passes.base import Pass
from stepwell.passes.graph.states.cache_ops import cache_axis, join_scatters
from stepwell.passes.graph.states.made_inputs import Known, make_inputs, tensor_type_of
from stepwell.passes.graph.states.state_names import AUTO, NamedPair, named_pairs
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

CAPACITY = "capacity"
"""The symbol of the size of growing states."""
LENGTH_NAME = "length"
PAST = "past_length"
"""The symbol of the length where the model has no name for it."""


@dataclass(frozen=True)
class BindStatesPass(Pass):
    """
    Let inputs and outputs be states: arguments and results of `@main` with `graph.state`, which leave the
    interface.

    ```mlir
    func.func @main(%x: tensor<1x?x4xf32, #graph.dims<[1, "S", 4]>> {graph.name = "x"},
                    %k: tensor<1x?x4xf32, #graph.dims<[1, "P", 4]>> {graph.name = "k"})
        -> (tensor<1x?x4xf32, #graph.dims<[1, "P + S", 4]>> {graph.name = "k_out"}) {
      …
    // ->
    func.func @main(%k: tensor<1x?x4xf32, #graph.dims<[1, "capacity", 4]>>
                        {graph.state = "k", graph.grows = 1},
                    %length: tensor<i64> {graph.state = "length", graph.length},
                    %x: tensor<1x?x4xf32, #graph.dims<[1, "S", 4]>> {graph.name = "x"})
        -> (tensor<1x?x4xf32, #graph.dims<[1, "P + S", 4]>> {graph.state = "k"}) {
      %P = graph.bind_sizes %length names ["P"] : tensor<i64> -> index
      %past = graph.slice %k starts <[0, 0, 0]> limits <[1, "P", 4]> steps [1, 1, 1] …
      …
    ```
    `pairs` are patterns `IN=OUT`, where `*` stands for the same text in both, or `auto`. A state whose output
    is longer than its input along one axis grows: the program reads the part of it up to `length`, which is
    one for all growing states and for all rows of a batch; `append-to-states` writes the rest in place. The
    size of that axis is the symbol `capacity`, or the number `capacity`. Inputs that say no more than the
    length are computed from it: a mask of tokens, their positions, and the lengths that operators with a
    cache take. Runs on level 0, so that these operators are known by name, or on level 1.

    Class: exact. Fails for names and types that do not fit.
    Source: none; the caches of exporters, as onnxruntime-genai binds them to one buffer.
    """

    name = "bind-states"

    pairs: tuple[str, ...] = (AUTO,)
    capacity: int = 0
    """The number of positions of growing states; 0 leaves it to the session."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = _main_of(op)
        found = [_with_axis(main, pair) for pair in named_pairs(main, self.pairs)]
        growing = [each for each in found if each.axis is not None]
        if self.capacity < 0:
            raise StepwellError(
                "bad-option", main, f"a capacity is a number from 1 on, found {self.capacity}"
            )
        if self.capacity and not growing:
            raise StepwellError("bad-option", main, "no state grows, so there is no capacity to choose")
        arguments = {each.pair.argument: main.body.block.args[each.pair.argument] for each in found}
        _mark_results(main, found)
        _mark_arguments(main, found, arguments)
        if growing:
            _grow(main, growing, arguments, self.capacity)


class _Bound(NamedTuple):
    """A pair of names with the axis along which the state grows."""

    pair: NamedPair
    axis: int | None
    is_buffer: bool = False
    """Whether the model itself gives both types the size of a buffer, and an operator appends to it."""


def _main_of(module: ModuleOp) -> FuncOp:
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main" and len(op.body.blocks) == 1:
            return op
    raise StepwellError("no-main", module, "states need a function @main of one block, found none")


def _with_axis(main: FuncOp, pair: NamedPair) -> _Bound:
    """The axis along which a state grows. Raises: StepwellError `state-mismatch` with both types."""
    before = main.body.block.args[pair.argument]
    last = main.body.block.last_op
    assert last is not None
    after = main.function_type.outputs.data[pair.result]
    error = StepwellError(
        "state-mismatch",
        main,
        f"the state {pair.input!r} is {before.type} before a call, and {after} after it, as {pair.output!r}",
        help="a state has one type, or grows along one axis whose size has a name",
    )
    if (given := tensor_type_of(before)) is None:
        raise error
    if (axis := cache_axis(last.operands[pair.result], before)) is not None:
        return _Bound(pair, axis, after == before.type)
    if not isinstance(after, TensorType):
        return _Bound(pair, None)
    result, own = cast(Tensor, after), dims_of(given)
    if given.element_type != result.element_type or len(own) != len(dims_of(result)):
        raise error
    others = _symbols_of_others(main, pair)
    axes = [i for i, (a, b) in enumerate(zip(own, dims_of(result), strict=True)) if _differs(a, b, others)]
    if not axes:
        return _Bound(pair, None)
    if len(axes) > 1 or not _is_name(own[axes[0]]):
        raise error
    return _Bound(pair, axes[0])


def _differs(before: Dim, after: Dim, others: set[str]) -> bool:
    """Whether a size grows. A size without a name after the call is that before, if it is an input's too."""
    if before.is_unknown or after.is_unknown:
        return _is_name(before) and str(before) not in others
    return before != after


def _is_name(dim: Dim) -> bool:
    return not dim.is_static and not dim.is_unknown and str(dim) in dim.symbols()


def _symbols_of_others(main: FuncOp, pair: NamedPair) -> set[str]:
    """The sizes of inputs that do not grow, which have rank 1 or 2."""
    dims = [_dims(argument.type) for argument in main.body.block.args]
    return {str(dim) for each in dims if len(each) <= 2 for dim in each if _is_name(dim)}


def _mark_results(main: FuncOp, found: Sequence[_Bound]) -> None:
    """Mark results as next values of states."""
    assert main.res_attrs is not None
    results = [dict(each.data) for each in main.res_attrs.data]
    for each in found:
        results[each.pair.result][STATE] = StringAttr(each.pair.input)
    main.properties["res_attrs"] = ArrayAttr([DictionaryAttr(each) for each in results])


def _mark_arguments(main: FuncOp, found: Sequence[_Bound], arguments: Mapping[int, BlockArgument]) -> None:
    """Mark arguments as states, and move them before the inputs, in the order of the model."""
    block = main.body.block
    attributes = argument_attributes(main)
    first = sum(STATE in each.data for each in attributes)
    for offset, (pair, axis, _) in enumerate(found):
        old = arguments[pair.argument]
        data = {**attributes[old.index].data, STATE: StringAttr(pair.input)}
        if axis is not None:
            data[GROWS] = int_attr(axis)
        new = block.insert_arg(old.type, first + offset)
        new.name_hint = old.name_hint
        attributes.insert(first + offset, DictionaryAttr(data))
        del attributes[old.index]
        old.replace_all_uses_with(new)
        block.erase_arg(old)
        cast("dict[int, BlockArgument]", arguments)[pair.argument] = new
    set_argument_attributes(main, attributes)
    set_type_of_body(main)


def _grow(
    main: FuncOp, growing: Sequence[_Bound], arguments: Mapping[int, BlockArgument], capacity: int
) -> None:
    """Give growing states their capacity, and let the program read the part up to the length."""
    sizes = [(dims_of(arguments[b.pair.argument].type)[b.axis or 0], b.is_buffer) for b in growing]
    names = list(dict.fromkeys(str(size) for size, is_buffer in sizes if _is_name(size) and not is_buffer))
    taken = {symbol for arg in main.body.block.args for dim in _dims(arg.type) for symbol in dim.symbols()}
    past = Dim.symbol(names[0] if names else _unused(PAST, taken))
    if extra := dict.fromkeys(names[1:], past):
        _rename(main, extra)
    size = Dim.of(capacity) if capacity else Dim.symbol(_unused(CAPACITY, taken))
    states = [arguments[each.pair.argument] for each in growing]
    length = cast(
        BlockArgument, add_state(main, _unused(LENGTH_NAME, _taken_names(main)), tensor_type(i64, []))
    )
    attributes = argument_attributes(main)
    attributes[length.index] = DictionaryAttr({**attributes[length.index].data, LENGTH: UnitAttr()})
    set_argument_attributes(main, attributes)
    builder = Builder(InsertPoint.at_start(main.body.block))
    builder.insert(graph.BindSizesOp(length, [str(past)]))
    known = Known(length, past, size, builder)
    for state, each in zip(states, growing, strict=True):
        _cut(state, each.axis or 0, known)
    new = make_inputs(main, known, states, _rename)
    if new is not None:
        join_scatters(main, past + new)
    if buffers := {str(size) for size, is_buffer in sizes if is_buffer and _is_name(size)}:
        _rename(main, dict.fromkeys(buffers, past + new if new is not None else size))
    set_type_of_body(main)


def _cut(state: BlockArgument, axis: int, known: Known) -> None:
    """Let the users of a growing state read the part up to the length."""
    type = cast(Tensor, state.type)
    dims = list(dims_of(type))
    uses = list(state.uses)
    if dims[axis].is_static and known.capacity.is_static and dims[axis] != known.capacity:
        message = f"the model's own capacity is {dims[axis]}, found {known.capacity}"
        raise StepwellError("bad-option", state.owner.parent_op(), message)
    capacity = [known.capacity if i == axis and not d.is_static else d for i, d in enumerate(dims)]
    used = [known.past if i == axis else d for i, d in enumerate(dims)]
    set_type(state, tensor_type(type.element_type, capacity))
    part = known.builder.insert(graph.SliceOp(state, [0] * len(dims), used, [1] * len(dims)))
    part.result.name_hint = state.name_hint
    for use in uses:
        use.operation.operands[use.index] = part.result


def _rename(main: FuncOp, names: Mapping[str, Dim]) -> None:
    """Substitute symbols in a function, and in the types that the model declares."""
    rename_symbols(main.body, names)
    set_type_of_body(main)


def _dims(type: Attribute) -> Sequence[Dim]:
    return dims_of(type) if type.name == TensorType.name else ()


def _taken_names(main: FuncOp) -> set[str]:
    """The names of inputs and states."""
    return {
        name.data
        for each in argument_attributes(main)
        for name in (each.data.get(STATE), each.data.get("graph.name"))
        if isinstance(name, StringAttr)
    }


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
