"""`outline-dataflow`: runs of tensor ops become functions, which are compiled as programs of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from stepwell.dialects import graph
from stepwell.dialects.locations import adopt_location, fused_location
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.analysis.symbol_sources import symbols_of_type
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.graph.outlining import Outline
from stepwell.runtime.errors import StepwellError

SEGMENT = "vm.segment"
"""Key of the unit attribute of a function of tensor ops alone, which is compiled as `@main` is."""
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
    What is left are calls, function values, data, cells, tuples, constants, and the branches and loops with
    these inside. Ops of a segment keep their order; a run ends where one of its values is needed. A branch or
    a loop of tensor ops alone is part of a segment. Class: exact. Needs functions without lambdas.
    """  # noqa: E501

    name = "outline-dataflow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {*functions_by_name(op)}
        for function in functions_of(op):
            if SEGMENT in function.attributes:
                continue
            waiting = list(function.body.blocks)
            while waiting:
                block = waiting.pop()
                for run in list(_runs(block)):
                    op.body.block.add_op(_outlined(run, function.sym_name.data, names))
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
    The tensor ops of a block, in runs: each ends before the first other op that reads a value of it.

    The block is reordered: the ops of a run are placed before that op.
    """
    waiting: dict[Operation, None] = {}
    made: set[SSAValue] = set()
    for op in list(block.ops):
        if isinstance(op, graph.ConstantOp):
            continue
        if _is_tensor_op(op):
            waiting[op] = None
            made.update(op.results)
            continue
        if waiting and any(value in made for value in _values_read(op)):
            yield _moved_before(list(waiting), op)
            waiting.clear()
            made.clear()
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


def _outlined(ops: Sequence[Operation], outer: str, names: set[str]) -> FuncOp:
    """A run as a function, which a call replaces."""
    outline = Outline.of(ops, lambda constant: True)
    for value in (*outline.inputs, *outline.results):
        if not isinstance(value.type, TensorType):
            message = f"a size that depends on data goes from one part of @{outer} to another"
            raise StepwellError("unsupported", ops[0], message, help="compute it where it is used")
    for symbol in outline.missing:
        outline.inputs.append(_with_size(symbol, ops[0]))
    number = 0
    while (name := f"{outer}_{number}") in names:
        number += 1
    names.add(name)
    function = outline.function(name)
    function.attributes[SEGMENT] = UnitAttr()
    call = graph.CallOp(name, outline.inputs, [result.type for result in outline.results])
    adopt_location(call, fused_location(ops))
    outline.replace_by(call)
    return function


def _with_size(symbol: str, before: Operation) -> SSAValue:
    """A value whose shape contains the size of a symbol. Raises: StepwellError `unsupported`."""
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
    raise StepwellError("unsupported", before, f"no value's shape has the size {symbol}")
