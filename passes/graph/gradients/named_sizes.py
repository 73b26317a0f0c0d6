"""Names for sizes that types leave open: rules of derivatives speak of sizes by name."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import adt, graph
from stepwell.dialects.graph.gradients import is_float
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.without_derivative import is_structure
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore


def name_sizes(function: FuncOp, weights: WeightStore) -> bool:
    """
    Name the unknown sizes of arguments, of parts of data, and of results of calls, branches and matches.

    ```mlir
    %y = graph.call @f(%x) : (tensor<2xf32>) -> tensor<?xf32>
    // ->
    %u = graph.call @f(%x) : (tensor<2xf32>) -> tensor<?xf32>
    %s = graph.shape_of %u …
    %n = graph.bind_sizes %s names ["data_0"] : tensor<1xi64> -> index
    %y = graph.reshape %u shape <["data_0"]> : tensor<?xf32> -> tensor<?xf32, #graph.dims<["data_0"]>>
    ```
    Returns: whether there were any.
    """
    found: list[SSAValue] = list(function.args)
    for op in function.body.walk():
        if isinstance(op, graph.CallOp | graph.IfOp | adt.MatchOp):
            found += op.results
        if isinstance(op, adt.MatchOp):
            found += [argument for case in op.cases for argument in case.block.args]
    open_values = [value for value in found if _is_open(value) and _is_computed_with(value)]
    for value in open_values:
        _name(value, function, weights)
    return bool(open_values)


def _is_open(value: SSAValue) -> bool:
    return is_float(value.type) and any(dim.is_unknown for dim in dims_of(value.type))


def _is_computed_with(value: SSAValue) -> bool:
    """Whether an op on tensors reads a value; data, calls and results need no names."""
    return not all(is_structure(use.operation) for use in value.uses)


def _name(value: SSAValue, function: FuncOp, weights: WeightStore) -> None:
    """Let the uses of a value be of one with names of sizes."""
    owner = value.owner
    following = owner.first_op if isinstance(owner, Block) else owner.next_op
    assert following is not None
    users = {use.operation for use in value.uses}
    b = GradientBuilder(Builder(InsertPoint.before(following)), weights)
    named = sized_by_name(value, value, function, b)
    value.replace_uses_with_if(named, lambda use: use.operation in users)


def sized_by_name(value: SSAValue, like: SSAValue, at: Operation, b: GradientBuilder) -> SSAValue:
    """A value with the sizes of another one's type, with new names for unknown ones."""
    dims = list(b.dims(like))
    known = {name for dim in b.dims(value) for name in dim.symbols()}
    for axis, dim in enumerate(dims):
        if not dim.is_unknown and (dim.is_static or dim.symbols() <= known):
            continue
        (name,) = fresh_symbols(at, 1) if dim.is_unknown else [str(dim)]
        size = b.slice(b.insert(graph.ShapeOfOp(value)), [axis], [axis + 1])
        b.rewriter.insert(graph.BindSizesOp(size, [name]))
        dims[axis] = Dim.symbol(name)
    named = b.reshape(value, dims)
    named.name_hint = like.name_hint
    return named
