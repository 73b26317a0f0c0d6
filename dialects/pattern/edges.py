"""Graph mode: several patterns, and edges between them."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, SymbolNameConstraint, UnitAttr, i64
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.pattern.base import NODE, expect_last


@irdl_op_definition
class EdgeOp(IRDLOperation):
    """
    The second node uses the first one: as its only user (`only`; in Python `a >> b`) or as one of several
    (`a ^ b`), at one operand or at any.

    ```mlir
    %a = pattern.op "graph.matmul"(...)
    %b = pattern.op "graph.add"(...)
    pattern.edge %a -> %b operand 1 only
    ```
    Constraints:
      (C1) an operand has no negative number.
    """

    name = "pattern.edge"
    source = operand_def(NODE)
    user = operand_def(NODE)
    index = opt_prop_def(IntegerAttr.constr(i64))
    only = opt_prop_def(UnitAttr)
    assembly_format = "$source `->` $user (`operand` $index^)? (`only` $only^)? attr-dict"

    def verify_(self) -> None:
        if self.index is not None and self.index.value.data < 0:  # (C1)
            raise VerifyException(f"an operand has no negative number, found {self.index.value.data}")


@irdl_op_definition
class SameShapeOp(IRDLOperation):
    """
    Two nodes have the same shape.

    ```mlir
    %a = pattern.any
    %b = pattern.any
    pattern.same_shape %a, %b
    ```
    """

    name = "pattern.same_shape"
    first = operand_def(NODE)
    second = operand_def(NODE)
    assembly_format = "$first `,` $second attr-dict"


@irdl_op_definition
class BindOp(IRDLOperation):
    """
    End a graph with its patterns: each must match a node of its own.

    ```mlir
    %a = pattern.any
    pattern.bind %a
    ```
    """

    name = "pattern.bind"
    nodes = var_operand_def(NODE)
    traits = traits_def(IsTerminator())
    assembly_format = "$nodes attr-dict"


@irdl_op_definition
class GraphOp(IRDLOperation):
    """
    Several patterns with edges between them, by name.

    ```mlir
    pattern.graph @product_relu {
      %a = pattern.op "graph.matmul"(...)
      %b = pattern.op "graph.relu"(...)
      pattern.edge %a -> %b only
      pattern.bind %a, %b
    }
    ```
    Constraints:
      (C1) it ends in `pattern.bind` of one pattern at least; edges connect bound patterns.
    """

    name = "pattern.graph"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name $body attr-dict"

    def verify_(self) -> None:
        expect_last(self.body, BindOp)  # (C1)
        last = self.body.block.last_op
        assert isinstance(last, BindOp)
        if not last.nodes:
            raise VerifyException("a graph binds one pattern at least, found none")
        for op in self.body.block.ops:
            if isinstance(op, EdgeOp | SameShapeOp) and not {*op.operands} <= {*last.nodes}:
                raise VerifyException(f"{op.name} must connect patterns that pattern.bind names")
