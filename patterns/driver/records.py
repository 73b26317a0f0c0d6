"""Records of rewrites: the rule, the op, its location, and the text of both before and after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer


@dataclass(frozen=True)
class RewriteRecord:
    """A rewrite of a pass: its number over all runs of the pass, and its changes."""

    number: int
    pass_name: str
    rule: str
    op: str
    where: str
    before: str
    after: str
    """Empty where the op was erased."""


def texts_of(ops: Iterable[Operation]) -> str:
    """The texts of some ops, a line or more each; generic for one that has lost a region already."""
    stream = StringIO()
    printer = Printer(stream)
    for op in ops:
        begin = stream.tell()
        try:
            printer.print_op(op)
        except Exception:  # the rewrite has begun with `detach_region`: what is printed is missing
            stream.seek(begin)
            stream.truncate()
            Printer(stream, print_generic_format=True).print_op(op)
        stream.write("\n")
    return stream.getvalue().rstrip("\n")
