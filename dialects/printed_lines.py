"""The text of IR with the line of each op: what links a printed line to nodes of the model."""

from __future__ import annotations

from bisect import bisect_left
from io import StringIO
from itertools import accumulate
from typing import TypeAlias

from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

AttributeTexts: TypeAlias = dict[int, tuple[Attribute, str]]
"""The texts of attributes by identity; the attribute is referenced, so that its identity stays its own."""


class _PositionPrinter(Printer):
    """
    A printer that records the position in the text at which each op begins.

    It takes half of the time of xDSL's: attributes, which are most of a text, are printed once each.
    """

    def __init__(self, stream: StringIO, texts: AttributeTexts):
        super().__init__(stream)
        self.positions: dict[Operation, int] = {}
        self._texts, self._text_stream = texts, stream
        self._tell, self._write = stream.tell, stream.write

    def print_op(self, op: Operation) -> None:
        self.positions[op] = self._tell()
        super().print_op(op)

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self._write(text)

    def print_attribute(self, attribute: Attribute) -> None:
        if (known := self._texts.get(id(attribute))) is not None:
            self._write(known[1])
            return
        begin = self._tell()
        super().print_attribute(attribute)
        self._text_stream.seek(begin)
        if "\n" not in (text := self._text_stream.read()):  # lines depend on the indentation
            self._texts[id(attribute)] = attribute, text


def printed_lines(op: Operation, texts: AttributeTexts | None = None) -> tuple[str, dict[Operation, int]]:
    """
    The text of an op in the custom assembly format, and the line, from 1 on, on which each op begins.

    Args: `texts` are filled in and used: one dictionary for several versions of a program.
    """
    printer = _PositionPrinter(stream := StringIO(), {} if texts is None else texts)
    printer.print_op(op)
    text = stream.getvalue() + "\n"
    ends = list(accumulate(len(line) + 1 for line in text.split("\n")))
    return text, {inner: bisect_left(ends, at + 1) + 1 for inner, at in printer.positions.items()}
