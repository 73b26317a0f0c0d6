"""Barriers, and values that the threads of a subgroup exchange."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr, IntegerType, StringAttr, UnitAttr, f32, i1, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.gpu.uniformity import divergent_ancestor

MODES = ("xor", "up", "down", "idx")
REDUCTIONS = (
    *("add", "mul", "minsi", "maxsi", "minimumf", "maximumf", "minnumf", "maxnumf"),
    *("and", "or", "xor"),
)


def is_exchangeable(type: Attribute) -> bool:
    """Whether the threads of a warp exchange values of a type: 32 bits."""
    return type in (f32, i32)


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """
    Wait for all threads of the block; elements that they wrote before are visible afterwards.

    ```mlir
    gpu.barrier
    ```
    Constraints:
      (C4) not under a condition or in a loop that depends on a thread id.
    """

    name = "gpu.barrier"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()

    def verify_(self) -> None:
        if (ancestor := divergent_ancestor(self)) is not None:  # (C4)
            message = f"gpu.barrier in {ancestor.name}, whose condition or bounds depend on a thread id"
            raise VerifyException(f"{message}: threads that do not reach the barrier block the others")


class _WithKeyword(IRDLOperation):
    """An op whose assembly begins with a keyword."""

    T: ClassVar = VarConstraint("T", base(IntegerType) | AnyFloatConstr)


@irdl_op_definition
class ShuffleOp(_WithKeyword):
    """
    The value of another thread of the subgroup, and whether there is such a thread.

    ```mlir
    %v, %ok = gpu.shuffle xor %a, %offset, %width : f32
    ```
    The other position is lane xor offset, lane - offset (`up`), lane + offset (`down`), or the offset.

    Constraints:
      (C1) the mode is `xor`, `up`, `down` or `idx`.
    """

    name = "gpu.shuffle"
    mode = prop_def(StringAttr)
    value = operand_def(_WithKeyword.T)
    offset = operand_def(i32)
    width = operand_def(i32)
    shuffled = result_def(_WithKeyword.T)
    valid = result_def(i1)

    def __init__(self, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue):
        super().__init__(
            operands=[value, offset, width],
            result_types=[value.type, i1],
            properties={"mode": StringAttr(mode)},
        )

    def verify_(self) -> None:
        if self.mode.data not in MODES:  # (C1)
            raise VerifyException(f"the mode is one of {', '.join(MODES)}, found {self.mode.data}")

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        mode = parser.parse_identifier()
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operands = parser.resolve_operands(names, [type, i32, i32], parser.pos)
        properties: dict[str, Attribute] = {"mode": StringAttr(mode)}
        return cls.create(
            operands=operands, result_types=[type, i1], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.mode.data} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class SubgroupReduceOp(_WithKeyword):
    """
    The sum (or another reduction) of a value over the threads of the subgroup.

    ```mlir
    %r = gpu.subgroup_reduce add %a : (f32) -> f32
    ```
    Constraints:
      (C1) the reduction is one of MLIR's: `add`, `mul`, `minsi`, `maxsi`, `minimumf`, `maximumf`, `and`, …
    """

    name = "gpu.subgroup_reduce"
    op = prop_def(StringAttr)
    value = operand_def(_WithKeyword.T)
    result = result_def(_WithKeyword.T)

    def __init__(self, op: str, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type], properties={"op": StringAttr(op)})

    def verify_(self) -> None:
        if self.op.data not in REDUCTIONS:  # (C1)
            raise VerifyException(f"the reduction is one of {', '.join(REDUCTIONS)}, found {self.op.data}")

    @classmethod
    def parse(cls, parser: Parser) -> SubgroupReduceOp:
        op = parser.parse_identifier()
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands([name], type.inputs.data, parser.pos)
        properties: dict[str, Attribute] = {"op": StringAttr(op)}
        return cls.create(
            operands=operands, result_types=[*type.outputs], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.op.data} ")
        printer.print_ssa_value(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : (")
        printer.print_attribute(self.value.type)
        printer.print_string(") -> ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class AllReduceOp(_WithKeyword):
    """
    The sum (or another reduction) of a value over all threads of the block, which all of them get.

    ```mlir
    %r = gpu.all_reduce add %a {} : (f32) -> f32
    %s = gpu.all_reduce maxsi %n uniform {} : (i32) -> i32
    ```
    `expand-all-reduce` writes it as exchanges in warps and memory of the block. All threads reach the op, as
    `uniform` says in MLIR. In MLIR's other form the region computes the reduction and there is no name; here
    the region is always empty.

    Constraints:
      (C1) the reduction is one that `gpu.subgroup_reduce` has, and the region is empty.
      (C2) not under a condition or in a loop that depends on a thread id.
    """

    name = "gpu.all_reduce"
    op = prop_def(StringAttr)
    uniform = opt_prop_def(UnitAttr)
    value = operand_def(_WithKeyword.T)
    result = result_def(_WithKeyword.T)
    body = region_def()

    def __init__(self, op: str, value: SSAValue):
        super().__init__(
            operands=[value], result_types=[value.type], properties={"op": StringAttr(op)}, regions=[Region()]
        )

    def verify_(self) -> None:
        if self.op.data not in REDUCTIONS or self.body.blocks:  # (C1)
            message = f"the reduction is one of {', '.join(REDUCTIONS)} with an empty region"
            raise VerifyException(f"{message}, found {self.op.data}")
        if (ancestor := divergent_ancestor(self)) is not None:  # (C2)
            message = f"gpu.all_reduce in {ancestor.name}, whose condition or bounds depend on a thread id"
            raise VerifyException(f"{message}: all threads of the block take part")

    @classmethod
    def parse(cls, parser: Parser) -> AllReduceOp:
        op = parser.parse_identifier()
        name = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {"op": StringAttr(op)}
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands([name], type.inputs.data, parser.pos)
        return cls.create(
            operands=operands,
            result_types=[*type.outputs],
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.op.data} ")
        printer.print_ssa_value(self.value)
        printer.print_string(" uniform {}" if self.uniform is not None else " {}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : (")
        printer.print_attribute(self.value.type)
        printer.print_string(") -> ")
        printer.print_attribute(self.result.type)
