"""The text of IR with the line of each op: what links a printed line to nodes of the model."""

from __future__ import annotations

from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer


class _Lines(StringIO):
    """A text stream that knows its current line, from 1 on."""

    line = 1

    def write(self, text: str, /) -> int:
        self.line += text.count("\n")
        return super().write(text)


class _LinePrinter(Printer):
    """A printer that records the line on which each op begins."""

    def __init__(self, stream: _Lines):
        super().__init__(stream)
        self.lines: dict[Operation, int] = {}
        self._lines = stream

    def print_op(self, op: Operation) -> None:
        self.lines[op] = self._lines.line
        super().print_op(op)


def printed_lines(op: Operation) -> tuple[str, dict[Operation, int]]:
    """The text of an op in the custom assembly format, and the line, from 1 on, on which each op begins."""
    printer = _LinePrinter(stream := _Lines())
    printer.print_op(op)
    return stream.getvalue() + "\n", printer.lines
