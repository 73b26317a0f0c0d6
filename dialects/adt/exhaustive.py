"""
Values that no case of a match fits, and cases that can never be reached.

A matrix has one row a case and one column a value. Its first column is taken apart by constructor: the rows
that fit it, with their fields as new columns, are the matrix of the values made by it.
Source: Maranget, "Warnings for pattern matching", Journal of Functional Programming 17(3), 2007.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation

from stepwell.dialects.adt.data import DataType
from stepwell.dialects.adt.definitions import definition_of
from stepwell.dialects.adt.patterns import ANYTHING, TUPLE, PatternAttr
from stepwell.runtime.errors import StepwellError

Row: TypeAlias = tuple[PatternAttr, ...]
Shape: TypeAlias = tuple[str, Sequence[Attribute]]
"""A constructor, or `()` for a tuple, with the types of the fields."""

MAX_WITNESSES = 8
MAX_STEPS = 1_000_000
MAX_NESTED = 500
"""The deepest recursion: columns and constructors that are taken apart within each other."""
_ANY = PatternAttr.of(ANYTHING)


def missing_cases(patterns: Sequence[PatternAttr], type: Attribute, at: Operation) -> list[str]:
    """
    The values of a type that no pattern fits, as patterns: at most 8, ordered by the number of constructors.

    Args: `at` is the match op, whose module has the type.
    Raises: StepwellError `too-large` when the search takes too many steps.
    """
    found = [row[0] for row in MatrixSearch(at).unmatched([(p,) for p in patterns], (type,))]
    sized = sorted(found, key=lambda pattern: sum(not part.fits_all for part in pattern.inside()))
    return [pattern_text(pattern) for pattern in sized[:MAX_WITNESSES]]


def unreachable_cases(
    patterns: Sequence[PatternAttr], type: Attribute, at: Operation
) -> Iterator[tuple[int, int]]:
    """
    The cases that no value reaches, each with the number of a case that covers it, 0 for several together.

    Cases count from 1. Raises: StepwellError `too-large`.
    """
    search = MatrixSearch(at)
    for number, pattern in enumerate(patterns):
        before = [(each,) for each in patterns[:number]]
        if not search.is_useful(before, (pattern,), (type,)):
            alone = (i for i, row in enumerate(before, 1) if not search.is_useful([row], (pattern,), (type,)))
            yield number + 1, next(alone, 0)


def pattern_text(pattern: PatternAttr) -> str:
    """A pattern as text: `Cons(_, Nil)`."""
    head = "" if pattern.kind == TUPLE else pattern.kind
    fields = ", ".join(map(pattern_text, pattern.parts))
    return f"{head}({fields})" if fields or pattern.kind == TUPLE else head


@dataclass
class MatrixSearch:
    """A search over matrices, whose steps are counted."""

    at: Operation
    most_steps: int = MAX_STEPS
    steps: int = 0
    shapes: dict[Attribute, list[Shape]] = field(default_factory=dict[Attribute, list[Shape]])

    def unmatched(self, rows: Sequence[Row], types: Sequence[Attribute], depth: int = 0) -> list[Row]:
        """Rows of patterns for the values that no row fits, by tag."""
        self._count(depth)
        if not types:
            return [] if rows else [()]
        heads = {row[0].kind for row in rows if not row[0].fits_all}
        shapes = self._shapes(types[0])
        if not heads and shapes:
            return [(_ANY, *rest) for rest in self.unmatched(_default(rows), types[1:], depth + 1)]
        found: list[Row] = []
        for head, fields in shapes:
            count = len(fields)
            if head in heads:
                inner = self.unmatched(_specialized(rows, head, count), (*fields, *types[1:]), depth + 1)
            else:
                others = self.unmatched(_default(rows), types[1:], depth + 1)
                inner = [((_ANY,) * count + other) for other in others]
            found += [(PatternAttr.of(head, row[:count]), *row[count:]) for row in inner]
        return found

    def is_useful(self, rows: Sequence[Row], row: Row, types: Sequence[Attribute], depth: int = 0) -> bool:
        """Whether a value fits a row and none of the rows before it."""
        self._count(depth)
        if not types:
            return not rows
        if not row[0].fits_all:
            return self._is_useful_for(rows, row, types, (row[0].kind, self._fields(row[0], types[0])), depth)
        shapes = self._shapes(types[0])
        heads = {each[0].kind for each in rows if not each[0].fits_all}
        if any(head not in heads for head, _ in shapes):
            return self.is_useful(_default(rows), row[1:], types[1:], depth + 1)
        return any(self._is_useful_for(rows, row, types, shape, depth) for shape in shapes)

    def _is_useful_for(
        self, rows: Sequence[Row], row: Row, types: Sequence[Attribute], shape: Shape, depth: int
    ) -> bool:
        """Whether it is for the values made by one constructor."""
        head, fields = shape
        (inner,) = _specialized([row], head, len(fields))
        rest = _specialized(rows, head, len(fields))
        return self.is_useful(rest, inner, (*fields, *types[1:]), depth + 1)

    def _fields(self, pattern: PatternAttr, type: Attribute) -> Sequence[Attribute]:
        return next(fields for head, fields in self._shapes(type) if head == pattern.kind)

    def _shapes(self, type: Attribute) -> list[Shape]:
        """As `shapes_of`, looked up once a type."""
        if type not in self.shapes:
            self.shapes[type] = shapes_of(type, self.at)
        return self.shapes[type]

    def _count(self, depth: int) -> None:
        self.steps += 1
        if self.steps > self.most_steps or depth > MAX_NESTED:
            limit = (
                f"{self.most_steps} steps" if self.steps > self.most_steps else f"{MAX_NESTED} nested fields"
            )
            raise StepwellError(
                "too-large",
                self.at,
                f"whether the cases cover every value takes more than {limit}",
                help="match in two steps, or write `adt.match partial`",
            )


def shapes_of(type: Attribute, at: Operation) -> list[Shape]:
    """The constructors of a type and their parts, in the order of tags; `_` if no pattern splits it."""
    if isinstance(type, DataType):
        definition = definition_of(type, at)
        return [(name, definition.fields(name, type)) for name in definition.names]
    if isinstance(type, TupleType):
        return [(TUPLE, cast("Sequence[Attribute]", type.types.data))]
    return [(ANYTHING, ())]


def _default(rows: Sequence[Row]) -> list[Row]:
    """The rows that fit a constructor which no row names, without the first column."""
    return [row[1:] for row in rows if row[0].fits_all]


def _specialized(rows: Sequence[Row], head: str, count: int) -> list[Row]:
    """The rows that fit a constructor, with a column for each field."""
    found: list[Row] = []
    for first, *rest in rows:
        if first.fits_all:
            found.append((_ANY,) * count + tuple(rest))
        elif first.kind == head:
            found.append((*first.parts, *rest))
    return found
