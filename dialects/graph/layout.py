"""Layout changes at the graph level: the same numbers in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.convolution import checked_layout
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.layout import parse_layout


@irdl_op_definition
class LayoutTransformOp(GraphOp):
    """
    Store a tensor in another layout: permute its axes, split an axis into blocks, or join blocks.

    ```mlir
    %b = graph.layout_transform %x from "NCHW" to "NCHW16c" : tensor<1x64x7x7xf32> -> tensor<1x4x7x7x16xf32>
    ```
    A blocked axis is padded with zeros to a multiple of its block; a block that goes away leaves its padding.
    Constraints:
      (C1) `from` fits the input's rank, and both layouts have the same axes.
      (C2) `result` has the input's extents in the layout `to`.
    Source: TVM's layout_transform; MLIR's linalg.pack and linalg.unpack.
    """

    name = "graph.layout_transform"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    source = prop_def(StringAttr, prop_name="from")
    target = prop_def(StringAttr, prop_name="to")

    traits = traits_def(Pure())
    assembly_format = "$input `from` $from `to` $to attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue, source: str, target: str):
        self.initialize([input], {"from": source, "to": target})

    def check(self) -> None:
        source = checked_layout(self.source.data, self.input, "")  # (C1)
        try:
            target = parse_layout(self.target.data)
        except ValueError as error:
            raise VerifyException(str(error)) from None
        if {*source.letters} != {*target.letters}:
            raise VerifyException(f'layouts must have the same axes, found "{source}" and "{target}"')

    def infer(self) -> Sequence[Attribute]:  # (C2)
        source, target = parse_layout(self.source.data), parse_layout(self.target.data)
        shape = target.physical(source.logical(dims_of(self.input.type)))
        return [tensor_type(tensor_of(self.input).element_type, shape)]
