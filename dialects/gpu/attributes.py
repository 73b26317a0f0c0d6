"""Attributes of the `gpu` dialect: address spaces, and xDSL's of dimensions and of mapped loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, MemRefType, StringAttr
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum, LoopDimMapAttr, ProcessorAttr, ProcessorEnum
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

__all__ = ["DimensionAttr", "DimensionEnum", "LoopDimMapAttr", "ProcessorAttr", "ProcessorEnum"]

KNOWN_BLOCK_SIZE = "gpu.known_block_size"
"""Key of the threads of a block along x, y and z among a kernel's attributes."""
MAPPING = "gpu.mapping"
"""Key of the processors of an `scf.parallel`, an attribute for each of its loops."""
CONTAINER = "gpu.container_module"
"""Key of the unit attribute of a module that launches kernels."""
SPACES = ("global", "workgroup", "private")


@irdl_attr_definition
class AddressSpaceAttr(ParametrizedAttribute):
    """
    The memory of a buffer: of the device, of a block, or of a thread.

    ```mlir
    #gpu.address_space<workgroup>
    ```
    Constraints:
      (C1) `global`, `workgroup` or `private`.
    """

    name = "gpu.address_space"

    space: StringAttr = param_def()

    def verify(self) -> None:
        if self.space.data not in SPACES:  # (C1)
            raise VerifyException(f"an address space is {', '.join(SPACES)}, found {self.space.data!r}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.space.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]


WORKGROUP = AddressSpaceAttr(StringAttr("workgroup"))
PRIVATE = AddressSpaceAttr(StringAttr("private"))


def space_of(type: Attribute) -> str:
    """The address space of a buffer's type; the device's memory without one."""
    if isinstance(type, MemRefType) and isinstance(type.memory_space, AddressSpaceAttr):
        return type.memory_space.space.data
    return SPACES[0]


def processors(op_attributes: Mapping[str, Attribute]) -> list[str]:
    """The processors of the loops of an `scf.parallel`: `block_x`, `thread_y`; empty without a mapping."""
    mapping = op_attributes.get(MAPPING)
    if not isinstance(mapping, ArrayAttr):
        return []
    entries = cast("ArrayAttr[Attribute]", mapping)
    return [str(each.processor.data) for each in entries if isinstance(each, LoopDimMapAttr)]
