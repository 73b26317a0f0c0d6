"""`count-macs`: prints the number of multiply-adds of a module, and changes nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from stepwell.passes.analysis.work import macs_of
from stepwell.passes.base import ALL_ANALYSES, Pass, functions_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import describe_location


@dataclass(frozen=True)
class CountMacsPass(Pass):
    """
    Print to standard error the multiply-adds of each contraction, and their sum, as dimension expressions.

    Exact for convolutions, products of matrices, of integers too, einsum, attention and recurrent layers;
    other ops count as 0. A loop's body counts once. Changes nothing.
    """

    name = "count-macs"
    preserves = ALL_ANALYSES

    json: bool = False
    """Print one JSON object: `total`, and `ops` with the name, location and count of each."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        counts = [(each, macs) for func in functions_of(op) for each, macs in _contractions(func)]
        total = sum((macs for _, macs in counts), Dim.of(0))
        if self.json:
            rows = [{"op": o.name, "at": describe_location(o), "macs": str(macs)} for o, macs in counts]
            print(json.dumps({"total": str(total), "ops": rows}), file=sys.stderr)
            return
        for each, macs in counts:
            print(f"{macs!s:>16}  {each.name} at {describe_location(each)}", file=sys.stderr)
        print(f"{total!s:>16}  multiply-adds", file=sys.stderr)


def _contractions(func: Operation) -> Iterator[tuple[Operation, Dim]]:
    for op in func.walk():
        if (macs := macs_of(op)) is not None:
            yield op, macs
