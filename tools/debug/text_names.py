"""Names for the values of a program from text: the SSA names in place of the names of nodes."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.ir import SSAValue
from xdsl.printer import Printer

from stepwell.dialects.locations import node_names
from stepwell.tools.driver.compilation import main_of


def name_by_text(module: ModuleOp) -> None:
    """
    Give each op of `@main` without a node the location of a node with the printed name of its first result.

    `%s = graph.add %x, %y : …` becomes the node "s"; a value without a name has its number: `%0` is "0".
    """
    printer = _Names(StringIO())
    printer.print_op(module)
    for op in main_of(module).body.walk():
        if op.results and not node_names(op.location) and (name := printer.names.get(op.results[0])):
            op.location = NameLoc(StringAttr(name), NoneAttr())


class _Names(Printer):
    """A printer with a memory of the printed names of values, also of names inside isolated regions."""

    def __init__(self, stream: StringIO):
        super().__init__(stream)
        self.names: dict[SSAValue, str] = {}

    def print_ssa_value(self, value: SSAValue) -> str:
        name = super().print_ssa_value(value)
        self.names.setdefault(value, name)
        return name
