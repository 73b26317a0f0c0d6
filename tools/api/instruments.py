"""Instruments that print by themselves: the times of passes, and the changes that they make."""

from __future__ import annotations

import sys
from typing import TextIO

from stepwell.passes.instruments import PassTiming, PrintIR


class Timing(PassTiming):
    """
    Measures the time of every pass, and prints the table after the last one; `report()` returns it.

    Args: `stream` is the place to print to (default: standard output).
    """

    def __init__(self, *, stream: TextIO | None = None):
        super().__init__()
        self._stream = stream

    def exit_pass_ctx(self) -> None:
        print(self.report(), file=self._stream or sys.stdout, flush=True)


class Diff(PrintIR):
    """
    Prints the lines that each pass changes.

    Args: `stream` is the place to print to (default: standard output).
    """

    def __init__(self, *, stream: TextIO | None = None):
        super().__init__(after=True, only_changes=True, as_diff=True, stream=stream or sys.stdout)
