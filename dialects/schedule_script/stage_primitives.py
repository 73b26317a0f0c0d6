"""Primitives about a stage as a whole: the form, and the loops around the computation."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.schedule_script.samples import number_chosen, text_chosen
from stepwell.dialects.schedule_script.text import (
    PrimitiveOp,
    StageStepOp,
    parse_count,
    parse_operand,
    parse_optional_choice,
    print_operands_of,
)
from stepwell.dialects.schedule_script.types import LOOP, STAGE, ChoiceType, LoopType, StageType


@irdl_op_definition
class SetFormOp(PrimitiveOp):
    """
    The way to compute an op of `linalg_ext`, with its own sizes until `sched.set_size` changes one.

    ```mlir
    sched.set_form %a to "online-softmax"
    ```
    Constraints:
      (C1) the form is a text, or the choice of one by `sched.sample_choice`.
    """

    name = "sched.set_form"

    stage = operand_def(StageType)
    choice = opt_operand_def(ChoiceType)
    form = opt_prop_def(StringAttr)

    def __init__(self, stage: SSAValue, form: str | SSAValue):
        choice = form if isinstance(form, SSAValue) else None
        properties = {"form": StringAttr(form) if isinstance(form, str) else None}
        super().__init__(operands=[stage, choice], properties=properties)

    @property
    def chosen_form(self) -> str | None:
        """The name of the form; None where the choice is a number."""
        if self.choice is not None:
            return text_chosen(self.choice)
        return None if self.form is None else self.form.data

    @classmethod
    def parse(cls, parser: Parser) -> SetFormOp:
        stage = parse_operand(parser, STAGE)
        parser.parse_keyword("to")
        choice = parse_optional_choice(parser)
        return cls(stage, parser.parse_str_literal() if choice is None else choice)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.stage)
        printer.print_string(" to ")
        if self.choice is not None:
            printer.print_operand(self.choice)
        elif self.form is not None:
            printer.print_attribute(self.form)

    def verify_(self) -> None:
        if self.chosen_form is None:  # (C1)
            raise VerifyException("a form is a text, found the choice of a number")


@irdl_op_definition
class SetSizeOp(PrimitiveOp):
    """
    A named size of the form of an op.

    ```mlir
    sched.set_size %a "queries" to 32
    ```
    Constraints:
      (C1) the size is a number, or the choice of one by `sched.sample_choice`.
    """

    name = "sched.set_size"

    stage = operand_def(StageType)
    choice = opt_operand_def(ChoiceType)
    size = prop_def(StringAttr)
    value = opt_prop_def(IntegerAttr.constr(i64))

    def __init__(self, stage: SSAValue, size: str, value: int | SSAValue):
        choice = value if isinstance(value, SSAValue) else None
        number = IntegerAttr(value, i64) if isinstance(value, int) else None
        super().__init__(operands=[stage, choice], properties={"size": StringAttr(size), "value": number})

    @property
    def chosen_value(self) -> int | None:
        """The number; None where the choice is a text."""
        if self.choice is not None:
            return number_chosen(self.choice)
        return None if self.value is None else self.value.value.data

    @classmethod
    def parse(cls, parser: Parser) -> SetSizeOp:
        stage, size = parse_operand(parser, STAGE), parser.parse_str_literal()
        parser.parse_keyword("to")
        choice = parse_optional_choice(parser)
        return cls(stage, size, parse_count(parser) if choice is None else choice)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.stage)
        printer.print_string(" ")
        printer.print_attribute(self.size)
        printer.print_string(" to ")
        if self.choice is not None:
            printer.print_operand(self.choice)
        else:
            printer.print_string(str(self.chosen_value))

    def verify_(self) -> None:
        if self.chosen_value is None:  # (C1)
            raise VerifyException("a size is a number, found the choice of a text")


@irdl_op_definition
class ComputeAtOp(PrimitiveOp):
    """
    Compute a stage inside of the loops of another one; an error where that is not possible.

    Without a loop: tile by tile inside of the parallel loops. With a loop: the loops down to it are built at
    once, and each of its iterations computes all elements that it reads, even those that the next iteration
    computes again.

    ```mlir
    sched.compute_at %p in %c
    sched.compute_at %p in %c at %i
    ```
    """

    name = "sched.compute_at"

    stage = operand_def(StageType)
    consumer = operand_def(StageType)
    loop = opt_operand_def(LoopType)

    def __init__(self, stage: SSAValue, consumer: SSAValue, loop: SSAValue | None = None):
        super().__init__(operands=[stage, consumer, loop])

    @classmethod
    def parse(cls, parser: Parser) -> ComputeAtOp:
        stage = parse_operand(parser, STAGE)
        parser.parse_keyword("in")
        consumer = parse_operand(parser, STAGE)
        has_loop = parser.parse_optional_keyword("at") is not None
        return cls(stage, consumer, parse_operand(parser, LOOP) if has_loop else None)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.stage)
        printer.print_string(" in ")
        printer.print_operand(self.consumer)
        if self.loop is not None:
            printer.print_string(" at ")
            printer.print_operand(self.loop)


@irdl_op_definition
class StreamOp(StageStepOp):
    """
    A result of the kernel is written past the caches, by stores of whole cache lines.

    ```mlir
    sched.stream %c
    ```
    """

    name = "sched.stream"


@irdl_op_definition
class PrefetchOp(PrimitiveOp):
    """
    An input of the kernel is asked for some iterations of a loop before vectors of it are read.

    ```mlir
    sched.prefetch %i "A" ahead 4
    ```
    """

    name = "sched.prefetch"

    loop = operand_def(LoopType)
    tensor = prop_def(StringAttr)
    ahead = prop_def(IntegerAttr.constr(i64))

    def __init__(self, loop: SSAValue, tensor: str, ahead: int):
        properties = {"tensor": StringAttr(tensor), "ahead": IntegerAttr(ahead, i64)}
        super().__init__(operands=[loop], properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        loop, tensor = parse_operand(parser, LOOP), parser.parse_str_literal()
        parser.parse_keyword("ahead")
        return cls(loop, tensor, parse_count(parser))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        printer.print_string(" ")
        printer.print_attribute(self.tensor)
        printer.print_string(f" ahead {self.ahead.value.data}")


@irdl_op_definition
class ComputeRootOp(StageStepOp):
    """
    A stage is computed in loops of its own, outside of those of all other stages.

    ```mlir
    sched.compute_root %p
    ```
    """

    name = "sched.compute_root"
