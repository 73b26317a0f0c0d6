"""Loops as functions that call themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.passes.analysis.rename_symbols import given_symbols, missing_symbols
from stepwell.passes.analysis.type_substitution import in_data
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore

_Known = dict[SSAValue, SSAValue]


def has_fixed_sizes(op: graph.LoopOp) -> bool:
    """Whether all carried values are tensors of one size."""
    for init, arg in zip(op.inits, op.carried, strict=True):
        if arg.type.name != TensorType.name or init.type != arg.type:
            return False
        if any(dim.is_unknown for dim in dims_of(arg.type)):
            return False
    return True


def reads_sizes(op: graph.LoopOp) -> bool:
    """Whether an op has a size of a carried value as operand, in the loop or after it."""
    after = op.results[len(op.values) :]
    return any(size.uses for size in (*after, *(arg for region in op.regions for arg in _sizes(op, region))))


def _sizes(op: graph.LoopOp, region: Region) -> Sequence[SSAValue]:
    count = len(op.carried_names)
    return region.block.args[len(region.block.args) - count :] if count else ()


def call_loops(
    function: FuncOp,
    weights: WeightStore,
    fresh: Callable[[str], str],
    is_wanted: Callable[[graph.LoopOp], bool],
    *,
    named: bool = False,
) -> list[FuncOp]:
    """
    Replace the outermost loops of a function that are wanted by calls of functions that call themselves.

    ```mlir
    %y = graph.for %i to %n (%a = %x : tensor<1xf32> as tensor<?xf32, #graph.dims<["k"]>>) carries ["k"] (%s)
      -> (tensor<?xf32>) {
      %b = graph.concat %a, %x axis 0 : …
      graph.yield %b : tensor<?xf32, #graph.dims<["k + 1"]>>
    }
    // ->
    %y = graph.call @f.loop(%zero, %n, %x, %x)
      : (tensor<i64>, tensor<i64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?xf32>
    ```
    The last arguments of the function are the values around the loop that are used in it.
    Args: `fresh` makes a name of a function; `named` gives names to unknown sizes of results.
    Returns: the functions, in which loops of theirs remain.
    """
    made: list[FuncOp] = []
    gone: set[Operation] = set()
    for op in list(function.body.walk()):
        if op in gone or not isinstance(op, graph.LoopOp) or not is_wanted(op):
            continue
        gone.update(op.walk())
        made.append(_Loop(op, weights, named).outlined(fresh(f"{function.sym_name.data}.loop")))
    return made


class _Loop:
    """A loop that becomes a function."""

    def __init__(self, op: graph.LoopOp, weights: WeightStore, named: bool):
        self._op, self._weights, self._names_all = op, weights, named
        every = (value for region in op.regions for value in captured_values(region))
        self._captured = list(dict.fromkeys(every))

    def outlined(self, name: str) -> FuncOp:
        """The function, of which a call takes the place of the loop."""
        op, outside = self._op, Builder(InsertPoint.before(self._op))
        first = [self._number(0, outside), op.count] if isinstance(op, graph.ForOp) else []
        arguments = [*first, *op.inits, *self._captured]
        types = [value.type for value in (*first, *op.carried, *self._captured)]
        missing = missing_symbols(op.regions, types)
        if missing:
            sizes = graph.ExtentsOp([Dim.symbol(each) for each in missing])
            arguments.append(outside.insert(sizes).result)
            types.append(tensor_type(i64, [len(missing)]))
        results = [_result_type(value.type, types) for value in op.values]
        call = outside.insert(graph.CallOp(name, arguments, results))
        adopt_location(call, op.location)
        found = [self._named(old, new, outside) for old, new in zip(op.values, call.results, strict=True)]
        made = self._function(name, types, results, missing, len(first))
        for old, new in zip(op.values, found, strict=True):
            new.name_hint = new.name_hint or old.name_hint
            old.replace_all_uses_with(new)
        Rewriter.erase_op(op, safe_erase=False)
        return made

    def _function(
        self,
        name: str,
        types: Sequence[Attribute],
        results: Sequence[Attribute],
        missing: Sequence[str],
        count: int,
    ) -> FuncOp:
        """The function with a branch: an iteration and the call for the rest, or the carried values."""
        op, block = self._op, Block(arg_types=types)
        builder = Builder(InsertPoint.at_end(block))
        if missing:
            builder.insert(graph.BindSizesOp(block.args[-1], missing))
        carried = block.args[count : count + len(op.inits)]
        around = block.args[count + len(op.inits) :]
        for old, new in zip((*op.carried, *self._captured), (*carried, *around), strict=False):
            new.name_hint = old.name_hint
        within: _Known = dict(zip(self._captured, around, strict=False))
        if isinstance(op, graph.WhileOp):
            (condition,), own = _copied(op.test, carried, within, builder), list(carried)
        else:
            condition = builder.insert(graph.LessOp(block.args[0], block.args[1])).result
            own = [block.args[0], *carried]
        arms = [Region(Block()) for _ in range(2)]
        inner = Builder(InsertPoint.at_end(arms[0].block))
        after = _copied(op.body, own, within, inner)
        numbers: list[SSAValue] = []
        if count:
            next_number = graph.AddOp(block.args[0], self._number(1, inner))
            numbers = [inner.insert(next_number).result, block.args[1]]
        again = inner.insert(graph.CallOp(name, [*numbers, *after, *around], results))
        adopt_location(again, op.location)
        arms[0].block.add_op(graph.YieldOp(again.results))
        arms[1].block.add_op(graph.YieldOp(carried))
        branch = graph.IfOp.create(operands=[condition], result_types=results, regions=arms)
        block.add_ops([branch, ReturnOp(*branch.results)])
        made = FuncOp(name, (types, results), Region(block), visibility=StringAttr("private"))
        made.location = op.location
        return made

    def _named(self, old: SSAValue, new: SSAValue, b: Builder) -> SSAValue:
        """A result with the sizes that the loop's has, and with the names that the loop defines."""
        if old.type.name != TensorType.name:
            return new
        dims = list(dims_of(old.type))
        if new.type == old.type and not (self._names_all and any(dim.is_unknown for dim in dims)):
            return new
        for axis, dim in enumerate(dims):
            if dim.is_static or (not dim.is_unknown and not dim.symbols() & set(self._op.names)):
                continue
            (name,) = fresh_symbols(self._op, 1) if dim.is_unknown else [str(dim)]
            size = b.insert(graph.ShapeOfOp(new, axis, axis + 1)).result
            b.insert(graph.BindSizesOp(size, [name]))
            dims[axis] = Dim.symbol(name)
        return b.insert(graph.ReshapeOp(new, dims)).result

    def _number(self, number: int, builder: Builder) -> SSAValue:
        return builder.insert(graph.ConstantOp.of(np.array(number, np.int64), self._weights)).result


def _copied(region: Region, arguments: Sequence[SSAValue], within: _Known, b: Builder) -> list[SSAValue]:
    """Copy the ops of a region; the values that it yields there."""
    known = {**within, **dict(zip(region.block.args, arguments, strict=False))}
    *ops, last = region.block.ops
    for each in ops:
        b.insert(each.clone(known))
    return [known.get(value, value) for value in last.operands]


def _result_type(type: Attribute, arguments: Sequence[Attribute]) -> Attribute:
    """The type of a result; sizes that are neither numbers nor of arguments are unknown."""
    if type.name != TensorType.name or any(dim.is_unknown for dim in dims_of(type)):
        return in_data(type)
    return (
        type
        if {name for dim in dims_of(type) for name in dim.symbols()} <= given_symbols(arguments)
        else in_data(type)
    )
