"""Pattern objects made of others: alternatives, constraints, optional parts, dominators."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, SymbolRefAttr
from xdsl.irdl import irdl_op_definition, prop_def, region_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.pattern.base import NODE, NodeOp, OneOp, TwoOp, YieldOp, expect_last
from stepwell.dialects.types import DimsAttr


@irdl_op_definition
class DominatesOp(NodeOp):
    """
    A dominator pattern: a parent, the ops on all paths from it, and the child where the paths end.

    ```mlir
    %parent = pattern.op "graph.conv"(...)
    %path = pattern.op "trait:elementwise"(...)
    %child = pattern.op "graph.add"(...)
    %y = pattern.dominates %parent, %path, %child
    ```
    """

    name = "pattern.dominates"
    parts = var_operand_def(NODE)
    assembly_format = "$parts attr-dict"

    def verify_(self) -> None:
        if len(self.parts) != 3:
            raise VerifyException(
                f"a dominator is a parent, a path and a child: three objects, found {len(self.parts)}"
            )


@irdl_op_definition
class OrOp(TwoOp):
    """
    Match the first pattern, else the second.

    ```mlir
    %x = pattern.any
    %y = pattern.constant
    %z = pattern.or %y, %x
    ```
    """

    name = "pattern.or"


@irdl_op_definition
class AndOp(TwoOp):
    """
    Match only if both patterns do.

    ```mlir
    %x = pattern.any
    %y = pattern.constant
    %z = pattern.and %y, %x
    ```
    """

    name = "pattern.and"


@irdl_op_definition
class NotOp(OneOp):
    """
    Match only if the pattern does not.

    ```mlir
    %x = pattern.constant
    %y = pattern.not %x
    ```
    """

    name = "pattern.not"
    assembly_format = "$input attr-dict"


@irdl_op_definition
class HasAttrOp(OneOp):
    """
    An op with these attributes.

    ```mlir
    %x = pattern.any
    %y = pattern.has_attr %x {axis = 1 : i64}
    ```
    """

    name = "pattern.has_attr"
    wanted = prop_def(DictionaryAttr)
    assembly_format = "$input $wanted attr-dict"


@irdl_op_definition
class HasTypeOp(OneOp):
    """
    A value of this type.

    ```mlir
    %x = pattern.any
    %y = pattern.has_type %x : tensor<4xf32>
    ```
    """

    name = "pattern.has_type"
    type = prop_def()
    assembly_format = "$input `:` $type attr-dict"


@irdl_op_definition
class HasDtypeOp(OneOp):
    """
    A tensor of these elements.

    ```mlir
    %x = pattern.any
    %y = pattern.has_dtype %x "float32"
    ```
    """

    name = "pattern.has_dtype"
    dtype = prop_def(StringAttr)
    assembly_format = "$input $dtype attr-dict"


@irdl_op_definition
class HasShapeOp(OneOp):
    """
    A tensor of this shape: `"?"` is any extent, another name one symbol, the same at each occurrence.

    ```mlir
    %x = pattern.any
    %y = pattern.has_shape %x <[1, "?", "N"]>
    ```
    """

    name = "pattern.has_shape"
    shape = prop_def(DimsAttr)
    assembly_format = "$input $shape attr-dict"


@irdl_op_definition
class WhereOp(OneOp):
    """
    A value for which a registered predicate holds.

    ```mlir
    %x = pattern.any
    %y = pattern.where %x @fits_in_sram
    ```
    """

    name = "pattern.where"
    predicate = prop_def(SymbolRefAttr)
    assembly_format = "$input $predicate attr-dict"


@irdl_op_definition
class OptionalOp(OneOp):
    """
    A pattern, or what the region makes of it.

    ```mlir
    %b = pattern.constant
    %conv = pattern.op "graph.conv"(...)
    %act = pattern.optional %conv {
    ^bb0(%c: !pattern.node):
      %bias = pattern.op "graph.bias_add"(%c, %b)
      pattern.yield %bias
    }
    ```
    Constraints:
      (C1) the region has one argument, which stands for the pattern.
      (C2) the region ends in a `pattern.yield`.
    """

    name = "pattern.optional"
    body = region_def("single_block")
    assembly_format = "$input $body attr-dict"

    def verify_(self) -> None:
        if [arg.type for arg in self.body.block.args] != [NODE]:  # (C1)
            raise VerifyException("the region takes one argument, of type !pattern.node")
        expect_last(self.body, YieldOp)  # (C2)
