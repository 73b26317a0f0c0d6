"""Names for the sizes of a segment's arguments, in place of names that are defined at run time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from xdsl.dialects.builtin import FunctionType, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph_ir.refine import refine_types
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.passes.analysis.rename_symbols import defined_names, rename_symbols
from stepwell.passes.analysis.symbol_sources import symbols_of_type
from stepwell.passes.analysis.symbolic_values import SymbolicValues
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore


def name_sizes_of_arguments(function: FuncOp, weights: WeightStore) -> None:
    """
    Give the unknown sizes of a segment's arguments names, and use these for sizes that are read from them.

    ```mlir
    func.func private @f_0(%x: tensor<?xf32>) -> tensor<?xf32, #graph.dims<["data_0"]>> {
      %s = graph.shape_of %x start 0 end 1 : tensor<?xf32> -> tensor<1xi64>
      %n = graph.bind_sizes %s names ["data_0"] : tensor<1xi64> -> index
      %y = graph.reshape %x shape <["data_0"]> : tensor<?xf32> -> tensor<?xf32, #graph.dims<["data_0"]>>
      func.return %y : tensor<?xf32, #graph.dims<["data_0"]>>
    }
    // ->
    func.func private @f_0(%x: tensor<?xf32, #graph.dims<["size_0"]>>) -> tensor<?xf32, #graph.dims<["size_0"]>> {
      %y = graph.reshape %x shape <["size_0"]>
        : tensor<?xf32, #graph.dims<["size_0"]>> -> tensor<?xf32, #graph.dims<["size_0"]>>
      func.return %y : tensor<?xf32, #graph.dims<["size_0"]>>
    }
    ```
    Then the memory of the segment is planned before it runs, as for any model.
    """  # noqa: E501
    taken = {*defined_names(function.body)} | {n for arg in function.args for n in symbols_of_type(arg.type)}
    names = (name for number in count() if (name := f"size_{number}") not in taken)
    for argument in function.args:
        _name_open_sizes(argument, names)
    values = SymbolicValues(weights)
    for op in [each for each in function.body.walk() if isinstance(each, graph.BindSizesOp)]:
        dims = None if op.signed is not None else values.dims(op.input)
        if dims is None or not all(map(_is_name, dims)) or any(size.uses for size in op.sizes):
            continue
        known = dict(zip((name.data for name in op.symbols), dims, strict=True))
        Rewriter.erase_op(op)
        rename_symbols(function.body, known)
    refine_types(function)
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    inputs, outputs = ([value.type for value in part] for part in (function.args, last.operands))
    function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)


def _name_open_sizes(argument: SSAValue, names: Iterator[str]) -> None:
    if argument.type.name != TensorType.name:
        return
    dims = [Dim.symbol(next(names)) if dim.is_unknown else dim for dim in dims_of(argument.type)]
    set_type(argument, tensor_type(tensor_of(argument).element_type, dims))


def _is_name(dim: Dim) -> bool:
    """Whether a size is the name of another one, which cannot be negative."""
    return not dim.is_unknown and dim.symbols() == frozenset({str(dim)})
