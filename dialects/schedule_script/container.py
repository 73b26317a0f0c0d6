"""`sched.script`, the container of the steps of a schedule, and `sched.stage`, an op that it schedules."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolNameConstraint
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.schedule_script.text import PrimitiveOp
from stepwell.dialects.schedule_script.types import STAGE, StageType


@irdl_op_definition
class StageOp(IRDLOperation):
    """
    An op of the kernel, by name.

    The name is the op's `sched.name`, else that of its first result, else the op's own: `fill` of a
    `linalg.fill`. From the second op of a name on, they are numbered: `fill.1`. Where no op is called so, the
    name is one of a kind and a number from 0 on: `linalg.generic.1` is the second generic op of the kernel.

    ```mlir
    %c = sched.stage "C"
    ```
    """

    name = "sched.stage"

    stage = prop_def(StringAttr)
    result = result_def(StageType)

    def __init__(self, stage: str):
        super().__init__(properties={"stage": StringAttr(stage)}, result_types=[STAGE])

    @classmethod
    def parse(cls, parser: Parser) -> StageOp:
        return cls(parser.parse_str_literal())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.stage)


@irdl_op_definition
class ScriptOp(IRDLOperation):
    """
    The schedule of a kernel as steps, which `apply-schedule` takes in their order.

    Not MLIR's `transform` dialect: its handles name ops that each step rewrites, and the loops of a kernel
    are decisions until `tile-and-fuse`. What a script decides are the `sched.schedule` attributes.

    ```mlir
    sched.script @blocked for "k0" {
      %c = sched.stage "C"
      %i, %j, %r = sched.loops %c
      %j0, %j1 = sched.split %j by [?, 16]
      sched.reorder %j0, %i, %r, %j1
      sched.parallel %j0, %i
      sched.vectorize %j1
    }
    ```
    - `for`: a kernel's symbol, or a node of the model or a stage in it that no other kernel has.

    Constraints:
      (C1) the body has stages and primitives alone.
      (C2) `for` is not empty.
    """

    name = "sched.script"

    sym_name = prop_def(SymbolNameConstraint())
    target = prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), NoTerminator(), IsolatedFromAbove())

    def __init__(self, name: str, target: str, steps: Sequence[Operation] | Region):
        body = steps if isinstance(steps, Region) else Region(Block(steps))
        properties = {"sym_name": StringAttr(name), "target": StringAttr(target)}
        super().__init__(properties=properties, regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> ScriptOp:
        name = parser.parse_symbol_name()
        parser.parse_keyword("for")
        target, body = parser.parse_str_literal(), parser.parse_region()
        return cls(name.data, target, body if body.blocks else [])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" for ")
        printer.print_attribute(self.target)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    @property
    def steps(self) -> Sequence[Operation]:
        """The ops of the script, in order."""
        return list(self.body.block.ops)

    def verify_(self) -> None:
        if not self.target.data:  # (C2)
            raise VerifyException("`for` must name a kernel, a stage or a node, found an empty name")
        for op in self.body.block.ops:
            if not isinstance(op, StageOp | PrimitiveOp):  # (C1)
                raise VerifyException(f"a script has stages and primitives alone, found {op.name}")


def scripts_of(module: ModuleOp) -> list[ScriptOp]:
    """The scripts of a module, in order."""
    return [op for op in module.ops if isinstance(op, ScriptOp)]
