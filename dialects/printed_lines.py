"""The text of IR with the line of each op: what links a printed line to nodes of the model."""

from __future__ import annotations

from bisect import bisect_left
from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer


class _PositionPrinter(Printer):
    """A printer that records the position in the text at which each op begins."""

    def __init__(self, stream: StringIO):
        super().__init__(stream)
        self.positions: dict[Operation, int] = {}
        self._tell = stream.tell

    def print_op(self, op: Operation) -> None:
        self.positions[op] = self._tell()
        super().print_op(op)


def printed_lines(op: Operation) -> tuple[str, dict[Operation, int]]:
    """The text of an op in the custom assembly format, and the line, from 1 on, on which each op begins."""
    printer = _PositionPrinter(stream := StringIO())
    printer.print_op(op)
    text = stream.getvalue() + "\n"
    ends = [at for at, character in enumerate(text) if character == "\n"]
    return text, {inner: bisect_left(ends, at) + 1 for inner, at in printer.positions.items()}
