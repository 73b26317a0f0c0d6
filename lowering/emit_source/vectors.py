"""Vectors in memory as statements: their elements are values, and several are loaded or stored at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import gcd, prod
from typing import Any

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.types import element_bytes
from stepwell.dialects.vector import alignment_of, constant_position, vector_shape
from stepwell.lowering.bufferize import memref_of
from stepwell.lowering.emit_source.language import Language
from stepwell.lowering.emit_source.names import Names
from stepwell.lowering.emit_source.views import Term, View, plus
from stepwell.runtime.errors import StepwellError

_SAME_ELEMENTS = (memref.CastOp, memref.CollapseShapeOp, memref.ExpandShapeOp)


class Vectors:
    """The vectors of a kernel, by the texts of their elements."""

    def __init__(
        self,
        language: Language,
        names: Names,
        values: dict[SSAValue, str],
        views: Mapping[SSAValue, View],
        line: Callable[[str], None],
    ):
        """Args: `values` has the texts of numbers; `line` writes a statement."""
        self._language, self._names, self._values, self._views = language, names, values, views
        self._line = line
        self._elements: dict[SSAValue, list[str]] = {}

    def handlers(self) -> Mapping[type[Operation], Callable[[Any], None]]:
        """The writer of each op on vectors."""
        return {
            vector.LoadOp: self._load,
            vector.StoreOp: self._store,
            vector.BroadcastOp: self._broadcast,
            vector.ExtractOp: self._extract,
            vector.InsertOp: self._insert,
        }

    def _load(self, op: vector.LoadOp) -> None:
        language, (count,) = self._language, vector_shape(op.result.type)
        element, name = self._element(op), op.result.name_hint or "v"
        found: list[str] = []
        for view, place, lanes in self._pieces(op, op.base, op.indices, count):
            made = self._names.fresh(name)
            if lanes == 1:
                self._line(language.let(made, element, language.load(view, place)))
                found.append(made)
                continue
            self._line(language.load_vector(view, place, made, element, lanes))
            found += [f"{made}.{language.lanes[lane]}" for lane in range(lanes)]
        self._elements[op.result] = found

    def _store(self, op: vector.StoreOp) -> None:
        language, elements = self._language, self._elements[op.vector]
        element, values = self._element(op), iter(elements)
        for view, place, lanes in self._pieces(op, op.base, op.indices, len(elements)):
            each = [next(values) for _ in range(lanes)]
            if lanes == 1:
                self._line(language.store(view, place, each[0]))
                continue
            for line in language.store_vector(view, place, self._names.fresh("v"), element, each):
                self._line(line)

    def _element(self, op: vector.LoadOp | vector.StoreOp) -> str:
        """The type of an element. Raises: StepwellError `unsupported`."""
        return self._language.type(memref_of(op.base).element_type, op)

    def _pieces(
        self, op: vector.LoadOp | vector.StoreOp, base: SSAValue, indices: Sequence[SSAValue], count: int
    ) -> list[tuple[View, Term, int]]:
        """The parts of an access that are a statement each: the place of the first element, and how many."""
        view = self._views[base]
        if view.strides[-1] != 1:
            raise StepwellError("unsupported", op, f"{op.name} of elements that are not in a row")
        place = view.place([self._values[index] for index in indices])
        lanes = gcd(count, view.lanes, _aligned_elems(op))
        return [(view, plus(place, first), lanes) for first in range(0, count, lanes)]

    def _broadcast(self, op: vector.BroadcastOp) -> None:
        (count,) = vector_shape(op.vector.type)
        self._elements[op.vector] = [self._values[op.source]] * count

    def _extract(self, op: vector.ExtractOp) -> None:
        self._values[op.result] = self._elements[op.vector][constant_position(op)]

    def _insert(self, op: vector.InsertOp) -> None:
        elements = list(self._elements[op.dest])
        elements[constant_position(op)] = self._values[op.source]
        self._elements[op.result] = elements


def _aligned_elems(op: vector.LoadOp | vector.StoreOp) -> int:
    """The elements of which an access begins at a multiple."""
    return max(1, alignment_of(op) // element_bytes(memref_of(op.base).element_type))


def common_lanes(buffer: SSAValue) -> int:
    """
    The elements that divide all accesses of a buffer and its size; 1 where single elements are accessed too.

    A language may then declare the buffer as an array of vectors.
    """
    shape = memref_of(buffer).get_shape()
    if DYNAMIC_INDEX in shape:
        return 1
    counts, stack = [prod(shape)], [buffer]
    while stack:
        for use in stack.pop().uses:
            op = use.operation
            if isinstance(op, vector.LoadOp | vector.StoreOp):
                (count,) = vector_shape(op.result.type if isinstance(op, vector.LoadOp) else op.vector.type)
                counts += [count, _aligned_elems(op)]
            elif isinstance(op, _SAME_ELEMENTS):
                stack.append(op.results[0])
            else:
                return 1
    return reduce(gcd, counts) if len(counts) > 1 else 1
