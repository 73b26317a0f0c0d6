"""Mutable cells: `ref.new`, `ref.read`, `ref.write`, which run in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, param_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp, Kind, OrUnknown
from stepwell.dialects.type_variables import has_parts, note_kinds


@irdl_attr_definition
class CellType(ParametrizedAttribute, TypeAttribute):
    """
    The type of a mutable cell that contains one value.

    ```mlir
    !ref.cell<tensor<f32>>
    ```
    """

    name = "ref.cell"

    content: Attribute = param_def()

    def verify(self) -> None:
        note_kinds()


def _with_content(type: Attribute, parts: Sequence[Attribute]) -> Attribute:
    return CellType(*parts)


has_parts(CellType.name, lambda type: [cast(CellType, type).content], _with_content)


@irdl_op_definition
class NewOp(GraphOp):
    """
    A new cell with a value; no other cell is the same.

    ```mlir
    %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
    ```
    """

    name = "ref.new"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    value = operand_def()
    result = result_def(OrUnknown(CellType))

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        self.initialize([value])

    def infer(self) -> Sequence[Attribute]:
        return [CellType(self.value.type)]

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return [(self.result.type, CellType(self.value.type))]


@irdl_op_definition
class ReadOp(GraphOp):
    """
    The value in a cell.

    ```mlir
    %v = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
    ```
    """

    name = "ref.read"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    cell = operand_def(OrUnknown(CellType))
    result = result_def()

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$cell attr-dict `:` type($cell) `->` type($result)"

    def __init__(self, cell: SSAValue):
        self.initialize([cell])

    def infer(self) -> Sequence[Attribute]:
        return [cast(CellType, self.cell.type).content]

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return [(self.cell.type, CellType(self.result.type))]


@irdl_op_definition
class WriteOp(GraphOp):
    """
    Put another value into a cell.

    ```mlir
    ref.write %r, %v : !ref.cell<tensor<f32>>, tensor<f32>
    ```
    Constraints:
      (C1) the value has the type of the cell's content.
    """

    name = "ref.write"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    cell = operand_def(OrUnknown(CellType))
    value = operand_def()

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$cell `,` $value attr-dict `:` type($cell) `,` type($value)"

    def __init__(self, cell: SSAValue, value: SSAValue):
        super().__init__(operands=[cell, value])

    def infer(self) -> Sequence[Attribute]:
        return []

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return [(self.cell.type, CellType(self.value.type))]

    def check(self) -> None:
        content = cast(CellType, self.cell.type).content
        if self.value.type != content:  # (C1)
            raise VerifyException(f"a cell of {content} is written a value of type {self.value.type}")
