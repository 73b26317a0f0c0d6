"""Tapes: what the ops of a derivative read of the ops before them, as a value of a data type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.functions import values_read
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.passes.analysis.rename_symbols import defined_names, symbols_named
from stepwell.passes.analysis.type_substitution import in_data
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.runtime.dims import UNKNOWN, Dim

_VIEWS = (graph.ReshapeOp, graph.ExpandDimsOp, graph.SqueezeOp)


def mark(b: GradientBuilder) -> Operation:
    """An op between the forward ops and the ops of their derivative; `Tape.of` erases it."""
    return b.rewriter.insert(graph.TupleOp([]))


@dataclass
class Tape:
    """
    The values before a mark that the ops of a derivative read.

    `values` are kept; constants, views and elementwise ops of kept values are computed again (`again`); of
    sizes that are data, `sizes` are kept as numbers.
    """

    part: list[Operation]
    """The ops of the derivative."""
    values: list[SSAValue]
    again: list[Operation]
    sizes: list[str] = field(default_factory=list[str])

    @staticmethod
    def of(
        marked: Operation,
        found: Sequence[SSAValue],
        is_kept: Callable[[SSAValue], bool],
        sizes: Iterable[str],
    ) -> Tape:
        """
        The tape of the ops after a mark, whose results are `found`.

        Args: `is_kept` says of a value that they read whether the tape has it; `sizes` are the symbols that
        are not known where they move.
        """
        block = marked.parent
        assert block is not None
        part: list[Operation] = []
        while (following := marked.next_op) is not None and following is not block.last_op:
            part.append(following)
            following.detach()
        marked.detach()
        marked.erase()
        made = {result for op in part for result in op.results}
        read = [value for op in part for value in values_read(op)] + list(found)
        values = [value for value in dict.fromkeys(read) if value not in made and is_kept(value)]
        values, again = _without_cheap(values, block)
        missing = {*sizes} - {UNKNOWN}
        used = {name for op in part for inner in op.walk() for name in symbols_named(inner)}
        used |= {name for value in values for name in _symbols(value.type)}
        used |= {name for op in again for name in symbols_named(op)}
        defined = {name for op in part for region in op.regions for name in defined_names(region)}
        return Tape(part, values, again, sorted((used & missing) - defined))

    def packed(self, b: GradientBuilder) -> list[SSAValue]:
        """The fields of the tape, at the end of the ops that they are of."""
        extents = [b.insert(graph.ExtentsOp([Dim.symbol(name) for name in self.sizes]))] if self.sizes else []
        return [*self.values, *extents]

    def types(self) -> list[Attribute]:
        """The types of the fields: without names of sizes."""
        extents = [tensor_type(i64, [len(self.sizes)])]
        return [*(in_data(value.type) for value in self.values), *(extents if self.sizes else [])]

    def unpacked(
        self, fields: Sequence[SSAValue], found: Sequence[SSAValue], b: GradientBuilder
    ) -> list[SSAValue]:
        """Put the ops of the derivative at a place where the fields are known; returns its results there."""
        if self.sizes:
            b.rewriter.insert(graph.BindSizesOp(fields[-1], self.sizes))
        known: dict[SSAValue, SSAValue] = {}
        for value, given in zip(self.values, fields, strict=False):
            given.name_hint = value.name_hint
            known[value] = b.sized(given, value)
        for op in self.again:
            made = b.rewriter.insert(op.clone(known))
            adopt_location(made, op.location)
            known[op.results[0]] = made.results[0]
        for op in self.part:
            b.rewriter.insert(op)
            for inner in op.walk():
                inner.operands = [known.get(value, value) for value in inner.operands]
        return [known.get(value, value) for value in found]


def _without_cheap(values: Sequence[SSAValue], block: Block) -> tuple[list[SSAValue], list[Operation]]:
    """Values without the cheap ones, and the ops that compute these from others, in order."""
    kept = dict.fromkeys(values)
    again: dict[Operation, None] = {}
    place = {op: number for number, op in enumerate(block.ops)}

    def place_of(value: SSAValue) -> int:
        return -1 if isinstance(value.owner, Block) else place.get(value.owner, -1)

    for value in sorted(values, key=place_of, reverse=True):
        op = value.owner
        if not isinstance(op, GraphOp) or len(op.results) != 1:
            continue
        constants = [o.owner for o in op.operands if isinstance(o.owner, graph.ConstantOp)]
        is_known = sum(o in kept for o in op.operands) + len(constants) == len(op.operands)
        if isinstance(op, graph.ConstantOp) or (op in place and _is_cheap(op) and is_known):
            again.update(dict.fromkeys([op, *constants]))
            del kept[value]
    return list(kept), sorted(again, key=lambda op: place.get(op, -1))


def _is_cheap(op: GraphOp) -> bool:
    return isinstance(op, _VIEWS) or (op.KIND <= Kind.BROADCAST and not op.regions)


def _symbols(type: Attribute) -> set[str]:
    if type.name != TensorType.name:
        return set()
    return {name for dim in dims_of(type) for name in dim.symbols()}
