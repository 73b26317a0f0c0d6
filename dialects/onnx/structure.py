"""Structure of level 0: calls of operators that we do not know, functions of a model, the end of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerType, StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface

T = TypeVar("T")
U = TypeVar("U")

STRING_ARRAY = BaseAttr[ArrayAttr[Attribute]](ArrayAttr)


@irdl_op_definition
class CallOp(IRDLOperation):
    """
    A node that is no operator of ONNX: a call of a model-local function, or an operator of another domain.

    `arguments` names the attributes of the node, in order; graphs among them are the regions, named by
    `graphs`. `absent` has the positions of inputs that are not given.

    ```mlir
    %y = "onnx.Call"(%x) <{domain = "com.microsoft", op_type = "Gelu", arguments = {}}>
        : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "onnx.Call"

    inputs = var_operand_def()
    outputs = var_result_def()
    domain = prop_def(StringAttr)
    op_type = prop_def(StringAttr)
    overload = opt_prop_def(StringAttr)
    arguments = prop_def(DictionaryAttr)
    absent = opt_prop_def(DenseArrayBase.constr(i64))
    absent_outputs = opt_prop_def(DenseArrayBase.constr(i64))
    graphs = opt_prop_def(STRING_ARRAY)
    bodies = var_region_def()

    @property
    def title(self) -> str:
        """The operator with its domain: `com.acme.Cube`."""
        return ".".join(filter(None, (self.domain.data, self.op_type.data)))

    def uses_output(self, position: int) -> bool:
        """Whether the model uses an output of the node."""
        absent = self.absent_outputs.get_values() if self.absent_outputs is not None else ()
        return position not in absent and position < len(self.outputs) + len(absent)


@irdl_op_definition
class FunctionOp(IRDLOperation):
    """
    A model-local function, whose body sees the function's inputs only and is read with the function's opsets
    (`onnx.opsets`).

    `attribute_names` are attributes without default, `defaults` those with one.

    ```mlir
    "onnx.Function"() <{
      sym_name = "local.Twice", domain = "local", op_type = "Twice",
      inputs = ["x"], attribute_names = [], defaults = {}
    }> ({
    ^bb0(%x: !onnx.any):
      %y = "onnx.Add"(%x, %x) : (!onnx.any, !onnx.any) -> !onnx.any
      "onnx.Yield"(%y) <{outputs = ["y"]}> : (!onnx.any) -> ()
    }) {onnx.opsets = {"" = 18 : i64}} : () -> ()
    ```
    """

    name = "onnx.Function"

    sym_name = prop_def(StringAttr)
    domain = prop_def(StringAttr)
    op_type = prop_def(StringAttr)
    overload = opt_prop_def(StringAttr)
    inputs = prop_def(STRING_ARRAY)
    attribute_names = prop_def(STRING_ARRAY)
    defaults = prop_def(DictionaryAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    The end of a subgraph or function: its outputs, under their names in the model.

    The names of the inputs and of the graph itself are here too, since a block has no attributes.
    """

    name = "onnx.Yield"

    values = var_operand_def()
    outputs = prop_def(STRING_ARRAY)
    inputs = opt_prop_def(STRING_ARRAY)

    traits = traits_def(IsTerminator())


def with_absent(values: Sequence[T], absent: DenseArrayBase[IntegerType] | None, nothing: U) -> list[T | U]:
    """The operands or results of a call by position, with `nothing` at the absent positions."""
    full: list[T | U] = list(values)
    for position in sorted(absent.get_values()) if absent is not None else ():
        full.insert(position, nothing)
    return full


STRUCTURE_OPS: tuple[type[Operation], ...] = (CallOp, FunctionOp, YieldOp)

__all__ = ["STRUCTURE_OPS", "CallOp", "FunctionOp", "YieldOp", "with_absent"]
