"""Primitives that change the kernel at once: copies, partial results, inlining, merged loops, layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.schedule_script.text import (
    PrimitiveOp,
    StageStepOp,
    ToTextOp,
    parse_count,
    parse_operand,
    print_operands_of,
)
from stepwell.dialects.schedule_script.types import LOOP, STAGE, LoopType, StageType

ARENA = "arena"
"""The scope of a copy unless the script says another one."""


class RewriteOp(PrimitiveOp):
    """A step that changes the ops of the kernel; the loops of stages that it changes are named anew."""


def _parse_scope(parser: Parser) -> str:
    return parser.parse_str_literal() if parser.parse_optional_keyword("scope") is not None else ARENA


def _print_scope(printer: Printer, scope: StringAttr) -> None:
    if scope.data != ARENA:
        printer.print_string(" scope ")
        printer.print_attribute(scope)


@irdl_op_definition
class ComputeInlineOp(StageStepOp, RewriteOp):
    """
    A stage is computed in the bodies of its readers, each time they need an element.

    ```mlir
    sched.compute_inline %p
    ```
    """

    name = "sched.compute_inline"


@irdl_op_definition
class ReverseComputeInlineOp(StageStepOp, RewriteOp):
    """
    A stage is computed in the body of its producer, in place of both.

    ```mlir
    sched.reverse_compute_inline %c
    ```
    """

    name = "sched.reverse_compute_inline"


@irdl_op_definition
class CacheReadOp(RewriteOp):
    """
    A copy of a tensor that some stages read, with a schedule of its own.

    ```mlir
    %a = sched.cache_read "A" for %c
    %b = sched.cache_read "B" for %c, %d scope "stack"
    ```
    Constraints:
      (C1) one reader or more.
    """

    name = "sched.cache_read"

    tensor = prop_def(StringAttr)
    readers = var_operand_def(StageType)
    scope = prop_def(StringAttr)
    result = result_def(StageType)

    def __init__(self, tensor: str, readers: Sequence[SSAValue], scope: str = ARENA):
        properties = {"tensor": StringAttr(tensor), "scope": StringAttr(scope)}
        super().__init__(operands=[readers], properties=properties, result_types=[STAGE])

    @classmethod
    def parse(cls, parser: Parser) -> CacheReadOp:
        tensor = parser.parse_str_literal()
        parser.parse_keyword("for")
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        return cls(tensor, [parser.resolve_operand(name, STAGE) for name in names], _parse_scope(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.tensor)
        printer.print_string(" for")
        print_operands_of(printer, self)
        _print_scope(printer, self.scope)

    def verify_(self) -> None:
        if not self.readers:  # (C1)
            raise VerifyException("cache_read must name a stage that reads the copy")


@irdl_op_definition
class CacheWriteOp(RewriteOp):
    """
    A new stage computes, and the old stage copies the result out.

    ```mlir
    %w = sched.cache_write %c
    ```
    """

    name = "sched.cache_write"

    stage = operand_def(StageType)
    scope = prop_def(StringAttr)
    result = result_def(StageType)

    def __init__(self, stage: SSAValue, scope: str = ARENA):
        properties = {"scope": StringAttr(scope)}
        super().__init__(operands=[stage], properties=properties, result_types=[STAGE])

    @classmethod
    def parse(cls, parser: Parser) -> CacheWriteOp:
        return cls(parse_operand(parser, STAGE), _parse_scope(parser))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        _print_scope(printer, self.scope)


@irdl_op_definition
class RfactorOp(RewriteOp):
    """
    The partial results of a summed loop, or of a part of it, as a stage; the old one combines these.

    ```mlir
    %r0, %r1 = sched.split %r by [?, 16]
    %f = sched.rfactor %r0 axis 0
    ```
    """

    name = "sched.rfactor"

    loop = operand_def(LoopType)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(StageType)

    def __init__(self, loop: SSAValue, axis: int = 0):
        properties = {"axis": IntegerAttr(axis, i64)}
        super().__init__(operands=[loop], properties=properties, result_types=[STAGE])

    @classmethod
    def parse(cls, parser: Parser) -> RfactorOp:
        loop = parse_operand(parser, LOOP)
        has_axis = parser.parse_optional_keyword("axis") is not None
        return cls(loop, parse_count(parser) if has_axis else 0)

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        if self.axis.value.data:
            printer.print_string(f" axis {self.axis.value.data}")


@irdl_op_definition
class FuseOp(RewriteOp):
    """
    Two neighbouring loops as one, on operands whose dimensions are merged (collapse).

    ```mlir
    sched.fuse %i, %j
    %f, %r = sched.loops %c
    ```
    """

    name = "sched.fuse"

    outer = operand_def(LoopType)
    inner = operand_def(LoopType)

    def __init__(self, outer: SSAValue, inner: SSAValue):
        super().__init__(operands=[outer, inner])

    @classmethod
    def parse(cls, parser: Parser) -> FuseOp:
        outer = parse_operand(parser, LOOP)
        parser.parse_punctuation(",")
        return cls(outer, parse_operand(parser, LOOP))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)


@irdl_op_definition
class TransformLayoutOp(RewriteOp):
    """
    A tensor in blocks, packed by a copy, which stages read in its place.

    ```mlir
    %b = sched.transform_layout "B" for %c to affine_map<(k, n) -> (n floordiv 16, k, n mod 16)>
    ```
    """

    name = "sched.transform_layout"

    tensor = prop_def(StringAttr)
    reader = operand_def(StageType)
    layout = prop_def(AffineMapAttr)
    result = result_def(StageType)

    def __init__(self, tensor: str, reader: SSAValue, layout: AffineMap):
        properties = {"tensor": StringAttr(tensor), "layout": AffineMapAttr(layout)}
        super().__init__(operands=[reader], properties=properties, result_types=[STAGE])

    @classmethod
    def parse(cls, parser: Parser) -> TransformLayoutOp:
        tensor = parser.parse_str_literal()
        parser.parse_keyword("for")
        reader = parse_operand(parser, STAGE)
        parser.parse_keyword("to")
        attr = parser.parse_attribute()
        if not isinstance(attr, AffineMapAttr):
            parser.raise_error("expected an affine_map from indices to places")
        return cls(tensor, reader, attr.data)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.tensor)
        printer.print_string(" for")
        print_operands_of(printer, self)
        printer.print_string(" to ")
        printer.print_attribute(self.layout)


@irdl_op_definition
class PadOp(RewriteOp):
    """
    A loop with more iterations, up to a multiple of a number, so that splits by that number leave no rest.

    Operands are copied to longer tensors, and results are parts of these; the loops are named anew.

    ```mlir
    sched.pad %j to 16
    %i, %j2, %r = sched.loops %c
    ```
    """

    name = "sched.pad"

    loop = operand_def(LoopType)
    multiple = prop_def(IntegerAttr.constr(i64))

    def __init__(self, loop: SSAValue, multiple: int):
        super().__init__(operands=[loop], properties={"multiple": IntegerAttr(multiple, i64)})

    @classmethod
    def parse(cls, parser: Parser) -> PadOp:
        loop = parse_operand(parser, LOOP)
        parser.parse_keyword("to")
        return cls(loop, parse_count(parser))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        printer.print_string(f" to {self.multiple.value.data}")


@irdl_op_definition
class StorageAlignOp(RewriteOp):
    """
    Gaps between the rows of a stage in memory, so that a dimension has a stride of one's choice.

    The stride is a multiple of a factor, plus an offset: the stage writes a slice of a tensor with longer
    rows.

    ```mlir
    sched.storage_align %c axis 0 to 16
    sched.storage_align %c axis 0 to 16 offset 4
    ```
    """

    name = "sched.storage_align"

    stage = operand_def(StageType)
    axis = prop_def(IntegerAttr.constr(i64))
    factor = prop_def(IntegerAttr.constr(i64))
    offset = prop_def(IntegerAttr.constr(i64))

    def __init__(self, stage: SSAValue, axis: int, factor: int, offset: int = 0):
        numbers = {"axis": axis, "factor": factor, "offset": offset}
        properties = {name: IntegerAttr(number, i64) for name, number in numbers.items()}
        super().__init__(operands=[stage], properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> StorageAlignOp:
        stage = parse_operand(parser, STAGE)
        parser.parse_keyword("axis")
        axis = parse_count(parser)
        parser.parse_keyword("to")
        factor = parse_count(parser)
        has_offset = parser.parse_optional_keyword("offset") is not None
        return cls(stage, axis, factor, parse_count(parser) if has_offset else 0)

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        printer.print_string(f" axis {self.axis.value.data} to {self.factor.value.data}")
        if offset := self.offset.value.data:
            printer.print_string(f" offset {offset}")


@irdl_op_definition
class TensorizeOp(ToTextOp, RewriteOp):
    """
    The code of an intrinsic in place of a loop and all loops inside of it.

    The tile must be the formula of the intrinsic: one that the script's module declares, or a built-in one.

    ```mlir
    %k0, %k1 = sched.split %k by [?, 4]
    sched.tensorize %k1 to "dot_bytes"
    ```
    """

    name = "sched.tensorize"
    OPERAND: ClassVar[StageType | LoopType] = LOOP
    TEXT: ClassVar[str] = "intrinsic"

    loop = operand_def(LoopType)
    intrinsic = prop_def(StringAttr)

    def __init__(self, loop: SSAValue, intrinsic: str):
        super().__init__(operands=[loop], properties={"intrinsic": StringAttr(intrinsic)})
