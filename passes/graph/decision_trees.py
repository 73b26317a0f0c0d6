"""
Decision trees: the tests of tags that find the case of a match, each part of the value tested at most once.

Source: Maranget, "Compiling Pattern Matching to Good Decision Trees", ML Workshop 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from xdsl.ir import Attribute

from stepwell.dialects import adt
from stepwell.dialects.adt.exhaustive import MatrixSearch, Row, shapes_of
from stepwell.dialects.adt.patterns import ANYTHING, BOUND, TUPLE, PatternAttr
from stepwell.runtime.errors import StepwellError

Path: TypeAlias = tuple[tuple[str, int], ...]
"""A part of the value: from the whole, the constructor (or `()`) and the field at each step."""
T = TypeVar("T")
MAX_TESTS = 10_000
MAX_DEPTH = 100
"""The most tests after each other."""
MAX_STEPS = 100_000
"""The steps of search for needed columns, after which only constructors count."""


@dataclass(frozen=True)
class Leaf:
    """The case that is taken."""

    case: int


@dataclass(frozen=True)
class Fail:
    """No case fits."""


@dataclass(frozen=True)
class Test:
    """A test of a tag: the trees of some constructors, in the order of tags, and that of all others."""

    path: Path
    branches: Sequence[tuple[str, Tree]]
    others: Tree | None
    """None where the branches are of all constructors."""

    @property
    def below(self) -> Sequence[Tree]:
        """All trees after the test."""
        own = [tree for _, tree in self.branches]
        return own if self.others is None else [*own, self.others]


Tree: TypeAlias = Leaf | Fail | Test


def trees_inside(tree: Tree) -> Iterator[Tree]:
    """A tree and all trees inside."""
    waiting = [tree]
    while waiting:
        yield (each := waiting.pop())
        if isinstance(each, Test):
            waiting += each.below


def bound_paths(pattern: PatternAttr) -> list[Path]:
    """The parts that a pattern binds, in the order of its text."""
    found: list[Path] = []
    waiting: list[tuple[PatternAttr, Path]] = [(pattern, ())]
    while waiting:
        part, path = waiting.pop()
        if part.kind == BOUND:
            found.append(path)
        waiting += reversed([(each, (*path, (part.kind, n))) for n, each in enumerate(part.parts)])
    return found


def decision_tree(op: adt.MatchOp, head_of: Callable[[Path], str | None]) -> Tree:
    """
    The decision tree of a match.

    Args: `head_of` gives the constructor of a part where it is known, which then is not tested.
    Raises: StepwellError `too-large`.
    """
    rows = [(case, (pattern,)) for case, pattern in enumerate(op.patterns)]
    return _Builder(op, head_of).tree(rows, [((), op.value.type)])


_Rows: TypeAlias = Sequence[tuple[int, Row]]
_Columns: TypeAlias = Sequence[tuple[Path, Attribute]]


@dataclass
class _Builder:
    op: adt.MatchOp
    head_of: Callable[[Path], str | None]
    tests: int = 0
    search: MatrixSearch = field(init=False)

    def __post_init__(self) -> None:
        self.search = MatrixSearch(self.op, MAX_STEPS)

    def tree(self, rows: _Rows, columns: _Columns, depth: int = 0) -> Tree:
        """The tree of a matrix: a row for each case that may still fit, a column for each part."""
        while True:
            if not rows:
                return Fail()
            case, first = rows[0]
            tested = [n for n in range(len(columns)) if any(not row[n].fits_all for _, row in rows)]
            if all(part.fits_all for part in first):
                return Leaf(case)
            known = {column: self._known_head(rows, columns, column) for column in tested}
            column, head = next(((n, head) for n, head in known.items() if head is not None), (0, ""))
            if not head:
                return self._test(rows, columns, self._best(rows, columns, tested), depth)
            rows, columns = self._taken_apart(rows, columns, column, head)

    def _known_head(self, rows: _Rows, columns: _Columns, column: int) -> str | None:
        """The constructor that all values of a column have; `()` of tuples."""
        if any(row[column].kind == TUPLE for _, row in rows):
            return TUPLE
        return self.head_of(columns[column][0])

    def _test(self, rows: _Rows, columns: _Columns, column: int, depth: int) -> Tree:
        self.tests += 1
        if self.tests > MAX_TESTS or depth > MAX_DEPTH:
            message = (
                f"the cases of a match need more than {MAX_TESTS} tests, or {MAX_DEPTH} after each other"
            )
            raise StepwellError("too-large", self.op, message, help="match in two steps")
        path, type = columns[column]
        heads = {row[column].kind for _, row in rows}
        names = [name for name, _ in shapes_of(type, self.op)]
        branches = [
            (name, self.tree(*self._taken_apart(rows, columns, column, name), depth + 1))
            for name in names
            if name in heads
        ]
        others = None
        if len(branches) < len(names):
            rest = [(case, _without(row, column)) for case, row in rows if row[column].fits_all]
            others = self.tree(rest, _without(columns, column), depth + 1)
        return Test(path, branches, others)

    def _taken_apart(self, rows: _Rows, columns: _Columns, column: int, head: str) -> tuple[_Rows, _Columns]:
        """The rows that fit a constructor, and the columns, with the fields in place of the whole."""
        path, type = columns[column]
        fields = next(fields for name, fields in shapes_of(type, self.op) if name == head)
        nothing = (PatternAttr.of(ANYTHING),) * len(fields)
        parts = [((*path, (head, number)), of) for number, of in enumerate(fields)]
        fitting = [
            (
                case,
                (
                    *row[:column],
                    *(nothing if row[column].fits_all else row[column].parts),
                    *row[column + 1 :],
                ),
            )
            for case, row in rows
            if row[column].fits_all or row[column].kind == head
        ]
        return fitting, [*columns[:column], *parts, *columns[column + 1 :]]

    def _best(self, rows: _Rows, columns: _Columns, tested: Sequence[int]) -> int:
        """The column that most rows need; of several that with the fewest branches, the first of these."""
        if len(tested) == 1:
            return tested[0]

        def rank(column: int) -> tuple[int, int]:
            heads = {row[column].kind for _, row in rows if not row[column].fits_all}
            return -self._needs(rows, columns, column), len(heads)

        return min(tested, key=rank)

    def _needs(self, rows: _Rows, columns: _Columns, column: int) -> int:
        """
        The number of rows that need a column: no value is known to reach them before it is tested.

        A row needs the column if it has a constructor there, or if earlier rows cover it without the column.
        """
        patterns = [_without(row, column) for _, row in rows]
        types = [type for _, type in _without(columns, column)]
        needed = 0
        for number, (_, row) in enumerate(rows):
            needed += not row[column].fits_all or self._is_covered(patterns[: number + 1], types)
        return needed

    def _is_covered(self, patterns: Sequence[Row], types: Sequence[Attribute]) -> bool:
        """Whether each value that fits the last row fits one before; False where that takes too long."""
        try:
            return not self.search.is_useful(patterns[:-1], patterns[-1], types)
        except StepwellError:
            return False


def _without(row: Sequence[T], column: int) -> tuple[T, ...]:
    return (*row[:column], *row[column + 1 :])
