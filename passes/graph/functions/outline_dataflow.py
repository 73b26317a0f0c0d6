"""`outline-dataflow`: runs of tensor ops become functions, which are compiled as programs of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type, weights_of
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.locations import adopt_location, fused_location
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.analysis.symbol_sources import symbols_needed, symbols_of_type
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.graph.functions.counted_loops import count_by_condition
from stepwell.passes.graph.functions.segment_sizes import name_sizes_of_arguments
from stepwell.passes.graph.outlining import Outline
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError

SEGMENT = "vm.segment"
"""Key of the unit attribute of a function that has tensor ops only, and is compiled like `@main`."""
_NOT_TENSOR_OPS = (
    graph.CallOp,
    graph.ClosureOp,
    graph.FunctionOp,
    graph.LambdaOp,
    graph.TupleOp,
    graph.GetOp,
    graph.VjpOp,
    graph.GradientOp,
)


@dataclass(frozen=True)
class OutlineDataflowPass(Pass):
    """
    Move each maximal run of tensor ops into a function, a segment, and call it.

    ```mlir
    %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %b = graph.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %l = adt.make @List::@Cons(%b, %t) : (tensor<4xf32>, !adt.data<@List, tensor<4xf32>>) -> !adt.data<@List, tensor<4xf32>>
    ```
    becomes
    ```mlir
    %b = graph.call @main_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %l = adt.make @List::@Cons(%b, %t) : (tensor<4xf32>, !adt.data<@List, tensor<4xf32>>) -> !adt.data<@List, tensor<4xf32>>
    ```
    The other ops stay: calls, function values, data, cells, tuples, constants, and branches and loops with
    these inside (a `graph.for` among them becomes a `graph.while`). Ops of a segment stay in order; a run
    ends before an op that needs one of its values. A branch or a loop of tensor ops alone is part of a
    segment. Class: exact. Needs functions without lambdas.
    """  # noqa: E501

    name = "outline-dataflow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {*functions_by_name(op)}
        for function in functions_of(op):
            if SEGMENT in function.attributes:
                continue
            for loop in [each for each in function.walk() if isinstance(each, graph.ForOp)]:
                if not _is_tensor_op(loop):
                    count_by_condition(loop, weights_of(ctx))
            waiting = list(function.body.blocks)
            sizes: dict[str, SSAValue] = {}
            while waiting:
                block = waiting.pop()
                for run in [_with_numbers(each, function) for each in _runs(block)]:
                    segment = _outlined(run, function.sym_name.data, names, sizes)
                    name_sizes_of_arguments(segment, weights_of(ctx))
                    op.body.block.add_op(segment)
                    count("segments")
                inside = [region for inner in block.ops for region in reversed(inner.regions)]
                waiting += [block for region in inside for block in region.blocks]
            _erase_unused_constants(function)


def _erase_unused_constants(function: FuncOp) -> None:
    """Erase the constants of which segments have copies."""
    for op in list(function.walk()):
        if isinstance(op, graph.ConstantOp) and not op.result.uses:
            op.detach()
            op.erase()


def _is_tensor_op(op: Operation) -> bool:
    """Whether an op works on tensors alone, with all ops inside, and is not a constant or a terminator."""
    if isinstance(op, graph.ConstantOp) or op.has_trait(IsTerminator):
        return False
    return all(_is_of_tensors(inner) for inner in op.walk())


def _is_of_tensors(op: Operation) -> bool:
    if isinstance(op, _NOT_TENSOR_OPS) or not op.name.startswith("graph."):
        return False
    arguments = (arg for region in op.regions for block in region.blocks for arg in block.args)
    return not any(_is_beyond(value) for value in (*op.operands, *op.results, *arguments))


def _is_beyond(value: SSAValue) -> bool:
    """Whether a value is neither a tensor nor a size."""
    return not isinstance(value.type, TensorType) and value.type.name != "index"


def _runs(block: Block) -> Iterator[Sequence[Operation]]:
    """
    The tensor ops of a block, in runs: each ends before the first other op that reads a value or size of it.

    The block is reordered: the ops of a run are placed before that op.
    """
    waiting: dict[Operation, None] = {}
    made: set[SSAValue] = set()
    sizes: set[str] = set()
    for op in list(block.ops):
        if isinstance(op, graph.ConstantOp):
            continue
        if _is_tensor_op(op):
            waiting[op] = None
            made.update(op.results)
            sizes.update(name for name, _ in defined_symbols(op))
            continue
        is_read = any(value in made for value in _values_read(op))
        if waiting and (is_read or not sizes.isdisjoint(symbols_needed([op]))):
            yield _moved_before(list(waiting), op)
            for each in (waiting, made, sizes):
                each.clear()
    if waiting and (last := block.last_op) is not None:
        yield _moved_before(list(waiting), last)  # of effects alone: checks


def _moved_before(ops: Sequence[Operation], place: Operation) -> Sequence[Operation]:
    block = place.parent
    assert block is not None
    for op in ops:
        op.detach()
    block.insert_ops_before(ops, place)
    return ops


def _values_read(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.operands


def _with_numbers(run: Sequence[Operation], function: FuncOp) -> Sequence[Operation]:
    """A run, with the sizes that it defines as numbers at the end, where no shape has them."""
    defined = {name for op in run for name, _ in defined_symbols(op)}
    if not defined:
        return run
    inside = {inner for op in run for inner in op.walk()}
    others = [op for op in function.body.walk() if op not in inside and op is not function]
    needed = defined & set(symbols_needed(others))
    read = {value for op in others for value in op.operands if value.owner in inside}
    told = {symbol for value in read for symbol in symbols_of_type(value.type)}
    numbers = [graph.ExtentsOp([Dim.symbol(name)]) for name in sorted(needed - told)]
    for number in numbers:
        adopt_location(number, fused_location(run))
    if (block := run[-1].parent) is not None and numbers:
        block.insert_ops_after(numbers, run[-1])
    return [*run, *numbers]


def _outlined(ops: Sequence[Operation], outer: str, names: set[str], sizes: dict[str, SSAValue]) -> FuncOp:
    """The function of a run, for a call in its place; earlier runs return `sizes` as numbers."""
    numbers = [op for op in ops if isinstance(op, graph.ExtentsOp) and not op.result.uses]
    outline = Outline.of(ops, lambda constant: True)
    outline.results = [*outline.results, *(op.result for op in numbers)]
    for value in (*outline.inputs, *outline.results):
        if not isinstance(value.type, TensorType):
            message = f"a size that depends on data goes from one part of @{outer} to another"
            raise StepwellError("unsupported", ops[0], message, help="compute it where it is used")
    bound: dict[str, int] = {}
    for symbol in outline.missing:
        value = _with_size(symbol, ops[0]) or sizes.get(symbol)
        if value is None:
            raise StepwellError("unsupported", ops[0], f"no value's shape has the size {symbol}")
        if value is sizes.get(symbol):
            bound[symbol] = len(outline.inputs)
        outline.inputs.append(value)
    number = 0
    while (name := f"{outer}_{number}") in names:
        number += 1
    names.add(name)
    function = outline.function(name)
    function.attributes[SEGMENT] = UnitAttr()
    call = graph.CallOp(name, outline.inputs, [result.type for result in outline.results])
    adopt_location(call, fused_location(ops))
    if bound:
        _bind_sizes(function, bound)
    told = [str(op.dims.get()[0]) for op in numbers]
    outline.replace_by(call)
    sizes.update(zip(told, call.results[len(call.results) - len(told) :], strict=True))
    return function


def _bind_sizes(function: FuncOp, bound: Mapping[str, int]) -> None:
    """Let a segment name sizes that are elements of arguments, before other arguments have them in types."""
    block = function.body.block
    first = block.first_op
    assert first is not None
    block.insert_ops_before(
        [graph.BindSizesOp(block.args[place], [symbol]) for symbol, place in bound.items()], first
    )
    for argument in block.args:
        if argument.type.name != TensorType.name:
            continue
        dims = dims_of(argument.type)
        if all(bound.keys().isdisjoint(dim.symbols()) for dim in dims):
            continue
        open_dims = [dim if bound.keys().isdisjoint(dim.symbols()) else UNKNOWN for dim in dims]
        set_type(argument, tensor_type(tensor_of(argument).element_type, open_dims))
        named = graph.ReshapeOp(argument, dims)
        block.insert_op_before(named, first)
        argument.replace_uses_with_if(named.result, lambda use, named=named: use.operation is not named)
    outputs = function.function_type.outputs.data
    function.properties["function_type"] = FunctionType.from_lists(block.arg_types, outputs)


def _with_size(symbol: str, before: Operation) -> SSAValue | None:
    """A value whose shape contains the size of a symbol; None without one."""
    at: Operation | None = before
    while at is not None and (block := at.parent) is not None:
        op = at.prev_op
        while op is not None:
            for value in op.results:
                if symbol in symbols_of_type(value.type):
                    return value
            op = op.prev_op
        for value in block.args:
            if symbol in symbols_of_type(value.type):
                return value
        at = block.parent_op()
    return None
