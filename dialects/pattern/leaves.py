"""Pattern objects that contain no others: any node, variables, constants, expressions, references."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator

from stepwell.dialects.pattern.base import NodeOp


@irdl_op_definition
class AnyOp(NodeOp):
    """
    Any node.

    ```mlir
    %x = pattern.any
    ```
    """

    name = "pattern.any"
    assembly_format = "attr-dict"


@irdl_op_definition
class VarOp(NodeOp):
    """
    A block argument, such as a function's input; with a name, of that name.

    ```mlir
    %x = pattern.var
    %y = pattern.var "input_ids"
    ```
    """

    name = "pattern.var"
    variable = opt_prop_def(StringAttr)
    assembly_format = "($variable^)? attr-dict"


@irdl_op_definition
class ConstantOp(NodeOp):
    """
    The result of a constant.

    ```mlir
    %b = pattern.constant
    ```
    """

    name = "pattern.constant"
    assembly_format = "attr-dict"


@irdl_op_definition
class RefOp(NodeOp):
    """
    Match a named pattern: another one, or this one itself (recursion).

    ```mlir
    %p = pattern.ref @chain
    ```
    """

    name = "pattern.ref"
    target = prop_def(SymbolRefAttr)
    assembly_format = "$target attr-dict"


@irdl_op_definition
class UseOp(NodeOp):
    """
    The root object of another pattern itself: it matches the same node as there.

    ```mlir
    %p = pattern.use @conv
    ```
    """

    name = "pattern.use"
    target = prop_def(SymbolRefAttr)
    assembly_format = "$target attr-dict"


@irdl_op_definition
class ContentOp(IRDLOperation):
    """
    End the region of `pattern.expr` with the value that is compared.

    ```mlir
    pattern.content %v : tensor<f32>
    ```
    """

    name = "pattern.content"
    value = operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$value attr-dict `:` type($value)"


@irdl_op_definition
class ExprOp(NodeOp):
    """
    A value structurally equal to what the region computes; constants are compared by content.

    ```mlir
    %two = pattern.expr {
      %c = graph.constant dense<2.0> : tensor<f32>
      pattern.content %c : tensor<f32>
    }
    ```
    """

    name = "pattern.expr"
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())
    assembly_format = "$body attr-dict"
