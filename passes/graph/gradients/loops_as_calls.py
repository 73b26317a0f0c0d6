"""Loops as functions that call themselves, for those whose tapes are no buffers of one size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.passes.analysis.rename_symbols import defined_names, symbols_named
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.tapes import in_data
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore


def has_fixed_sizes(op: graph.LoopOp) -> bool:
    """Whether all carried values are tensors of one size."""
    for init, arg in zip(op.inits, op.carried, strict=True):
        if arg.type.name != TensorType.name or init.type != arg.type:
            return False
        if any(dim.is_unknown for dim in dims_of(arg.type)):
            return False
    return True


def call_changing_loops(
    function: FuncOp, weights: WeightStore, fresh: Callable[[str], str], *, while_too: bool
) -> list[FuncOp]:
    """
    Replace the loops in a function whose carried values change in size, or are data, by recursive calls.

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
    The last arguments of the function are the values around the loop that are used in it. Its tape is a list
    with what each iteration leaves. Args: `fresh` makes a name of a function; `while_too` replaces all
    `graph.while`. Returns: the functions.
    """
    made: list[FuncOp] = []
    for op in [each for each in function.body.walk() if isinstance(each, graph.LoopOp)]:
        inside = op.parent_op()
        while inside is not None and inside is not function:
            inside = inside.parent_op()
        is_list = while_too and isinstance(op, graph.WhileOp)
        if inside is function and (is_list or not has_fixed_sizes(op)) and not _reads_sizes(op):
            made.append(_outlined(op, fresh(f"{function.sym_name.data}.loop"), weights))
    return made


def _reads_sizes(op: graph.LoopOp) -> bool:
    """Whether an op in a loop has a size of a carried value as operand."""
    return any(arg.uses for region in op.regions for arg in _sizes(op, region))


def _sizes(op: graph.LoopOp, region: Region) -> Sequence[SSAValue]:
    count = len(op.carried_names)
    return region.block.args[len(region.block.args) - count :] if count else ()


def _outlined(op: graph.LoopOp, name: str, weights: WeightStore) -> FuncOp:
    """The function of a loop, of which a call takes the place."""
    captured = list(dict.fromkeys(value for region in op.regions for value in captured_values(region)))
    outside = GradientBuilder(Builder(InsertPoint.before(op)), weights)
    first = [outside.number(0), op.count] if isinstance(op, graph.ForOp) else []
    arguments = [*first, *op.inits, *captured]
    types = [*(value.type for value in first), *(arg.type for arg in op.carried), *(v.type for v in captured)]
    missing = _missing_sizes(op, types)
    if missing:
        arguments.append(outside.insert(graph.ExtentsOp([Dim.symbol(each) for each in missing])))
        types.append(tensor_type(i64, [len(missing)]))
    results = [in_data(value.type) for value in op.values]
    call = outside.rewriter.insert(graph.CallOp(name, arguments, results))
    adopt_location(call, op.location)
    found = [_named(old, new, op, outside) for old, new in zip(op.values, call.results, strict=True)]
    block = Block(arg_types=types)
    block.add_op(last := ReturnOp())
    made = FuncOp(name, (types, results), Region(block), visibility=StringAttr("private"))
    made.location = op.location
    b = GradientBuilder(Builder(InsertPoint.before(last)), weights)
    if missing:
        b.rewriter.insert(graph.BindSizesOp(block.args[-1], missing))
    last.operands = _body(op, call, len(first), captured, results, block, b)
    for old, new in zip(op.values, found, strict=True):
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op, safe_erase=False)
    return made


def _body(
    op: graph.LoopOp,
    call: graph.CallOp,
    count: int,
    captured: Sequence[SSAValue],
    results: Sequence[Attribute],
    block: Block,
    b: GradientBuilder,
) -> Sequence[SSAValue]:
    """Write the branch of the function: an iteration and the call for the rest, or what is carried."""
    carried = block.args[count : count + len(op.inits)]
    around = block.args[count + len(op.inits) :]
    within: dict[SSAValue, SSAValue] = dict(zip(captured, around, strict=False))
    if isinstance(op, graph.WhileOp):
        test = _copied(op.test, carried, within, b)
        condition, own = test[0], list(carried)
    else:
        condition, own = b.less(block.args[0], block.args[1]), [block.args[0], *carried]
    arms = [Region(Block([graph.YieldOp([])])) for _ in range(2)]
    branch = graph.IfOp.create(operands=[condition], result_types=results, regions=arms)
    b.rewriter.insert(branch)
    inner = b.before(yield_of(arms[0]))
    after = _copied(op.body, own, within, inner)
    numbers = [inner.add(block.args[0], inner.number(1)), block.args[1]] if count else []
    assert call.callee is not None
    again = graph.CallOp(call.callee.string_value(), [*numbers, *after, *around], results)
    yield_of(arms[0]).operands = inner.rewriter.insert(again).results
    yield_of(arms[1]).operands = carried
    adopt_location(again, op.location)
    return branch.results


def _copied(
    region: Region, arguments: Sequence[SSAValue], within: dict[SSAValue, SSAValue], b: GradientBuilder
) -> list[SSAValue]:
    """Copy the ops of a region; the values that it yields there."""
    known = {**within, **dict(zip(region.block.args, arguments, strict=False))}
    *ops, last = region.block.ops
    for each in ops:
        b.rewriter.insert(each.clone(known))
    return [known.get(value, value) for value in last.operands]


def _missing_sizes(op: graph.LoopOp, types: Sequence[Attribute]) -> list[str]:
    """The symbols in a loop that neither it nor the types of arguments define."""
    used = {name for region in op.regions for each in region.walk() for name in symbols_named(each)}
    used -= {name for region in op.regions for name in defined_names(region)}
    dims = [dim for type in types if type.name == TensorType.name for dim in dims_of(type)]
    used |= {name for dim in dims if not dim.is_unknown for name in dim.symbols()}
    given = {name for dim in dims for name in dim.symbols() if dim == Dim.symbol(name)}
    return sorted(name for name in used - given if not Dim.of(name).is_unknown)


def _named(old: SSAValue, new: SSAValue, op: graph.LoopOp, b: GradientBuilder) -> SSAValue:
    """A result with names for sizes that are not known; later types may speak of these."""
    if old.type.name != TensorType.name or old.type == new.type and all(d.is_static for d in b.dims(old)):
        return new
    dims = list(b.dims(old))
    for axis, dim in enumerate(dims):
        if dim.is_static or (not dim.is_unknown and not dim.symbols() & set(op.names)):
            continue
        (name,) = fresh_symbols(op, 1) if dim.is_unknown else [str(dim)]
        size = b.slice(b.insert(graph.ShapeOfOp(new)), [axis], [axis + 1])
        b.rewriter.insert(graph.BindSizesOp(size, [name]))
        dims[axis] = Dim.symbol(name)
    return b.reshape(new, dims)
