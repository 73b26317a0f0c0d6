"""`add-entry`: `sched.entry` beside the planned `@main`, with the offsets of its weights."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.dialects.locations import adopt_location
from stepwell.dialects.sched_entry import EntryOp, entries_of, weight_offsets
from stepwell.dialects.sched_program import has_memory
from stepwell.dialects.types import element_bytes
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.runtime.errors import StepwellError

_MAIN = "main"


@dataclass(frozen=True)
class AddEntryPass(ModulePass):
    """
    Add the entry by which programs in C call `@main`, for a file that is exported.

    Needs a planned `@main` (`plan-memory`), and does nothing where that has an entry. The weights, globals
    before it, follow one another in memory, each on a cache line.
    """

    name = "add-entry"

    entry: str = "model"
    """The name of the entry, with which the names of its functions begin."""
    weights: str = "embed"
    """`embed`, `file` or `extern`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Add the entry after `@main`. Raises: StepwellError `bad-main` where its memory is not planned."""
        main = functions_by_name(op).get(_MAIN)
        if main is None or not has_memory(main):
            message = "an entry needs a function @main on buffers, and the module has none"
            raise StepwellError("bad-main", main, message, help="run plan-memory first")
        if entries_of(op):
            return
        globals = [each for each in op.ops if isinstance(each, memref.GlobalOp)]
        entry = EntryOp(self.entry, _MAIN, self.weights, weight_offsets(list(map(_bytes, globals))))
        adopt_location(entry, main.location)
        op.body.block.insert_op_after(entry, main)


def _bytes(weight: memref.GlobalOp) -> int:
    return prod(weight.type.get_shape()) * element_bytes(weight.type.element_type)
