"""Values of partial evaluation: what is known of a value, cells with their contents, fuel of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from stepwell.dialects import adt, graph
from stepwell.runtime.meaning import Array

Fuel: TypeAlias = tuple[float, ...]
"""How large each argument of a call is; infinity where that is not known."""
UNKNOWN_SIZE = float("inf")


@dataclass(frozen=True, eq=False)
class Known:
    """A value during partial evaluation: the SSA value, and the known parts."""

    value: SSAValue
    static: Static | None = None


@dataclass(frozen=True, eq=False)
class KnownArray:
    """A constant tensor."""

    array: Array


@dataclass(frozen=True, eq=False)
class KnownData:
    """A tuple, or a value of a data type by its constructor."""

    constructor: str
    fields: Sequence[Known]
    size: int = field(init=False)
    """The constructors inside, each as often as it is reached."""

    def __post_init__(self) -> None:
        inside = sum(each.static.size for each in self.fields if isinstance(each.static, KnownData))
        object.__setattr__(self, "size", 1 + inside)


@dataclass(frozen=True, eq=False)
class KnownFunction:
    """A lambda with the captured values, or a function of the module with the first arguments."""

    body: graph.LambdaOp | FuncOp
    captured: Mapping[SSAValue, Known]
    first: Sequence[Known] = ()


@dataclass(frozen=True, eq=False)
class KnownConstructor:
    """A constructor as a function."""

    constructor: str
    type: adt.DataType


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell's identity."""


Static: TypeAlias = KnownArray | KnownData | KnownFunction | KnownConstructor | Cell


def _inside(static: Static | None) -> Iterable[Known]:
    if isinstance(static, KnownData):
        return static.fields
    if isinstance(static, KnownFunction):
        return [*static.captured.values(), *static.first]
    return ()


@dataclass
class Cells:
    """
    The known contents of cells at a point of the program.

    A cell has escaped once a value that leads to it is only known as an SSA value: then unknown code can
    write it.
    """

    contents: dict[Cell, Known] = field(default_factory=dict[Cell, Known])
    escaped: set[Cell] = field(default_factory=set[Cell])
    """Shared by all copies: that a cell has escaped holds everywhere."""

    def copy(self) -> Cells:
        """The contents for a region that may or may not run."""
        return Cells(dict(self.contents), self.escaped)

    def escape(self, values: Iterable[Known]) -> None:
        """Let values be known as SSA values alone, as arguments of an unknown call are."""
        waiting = list(values)
        seen: set[int] = set()
        while waiting:
            static = waiting.pop().static
            if static is None or id(static) in seen:
                continue
            seen.add(id(static))
            waiting += _inside(static)
            if isinstance(static, Cell):
                self.escaped.add(static)
                if static in self.contents:
                    waiting.append(self.contents[static])

    def forget(self, cells: Iterable[Cell]) -> None:
        """Let the contents of cells be unknown."""
        self.escape([self.contents.pop(cell) for cell in list(cells) if cell in self.contents])

    def forget_escaped(self) -> None:
        """Let the contents be unknown of all cells that something not seen may write."""
        while gone := [cell for cell in self.contents if cell in self.escaped]:
            self.forget(gone)

    def write(self, cell: Static | None, content: Known) -> None:
        """Put a value into a cell, or into one that is not known."""
        if not isinstance(cell, Cell):
            self.forget_escaped()
            self.escape([content])
            return
        self.contents[cell] = content
        if cell in self.escaped:
            self.escape([content])

    def join(self, branches: Sequence[Cells]) -> None:
        """Forget the contents of the cells that one of some branches may have written."""
        changed = [
            cell
            for cell, content in self.contents.items()
            if any(branch.contents.get(cell) is not content for branch in branches)
        ]
        for branch in branches:
            branch.forget(list(branch.contents))
        self.forget(changed)


def fuel_of(arguments: Iterable[Known]) -> Fuel:
    """The sizes of arguments: constructors of data, the value of a natural number."""
    return tuple(map(_size, arguments))


def _size(argument: Known) -> float:
    static = argument.static
    if isinstance(static, KnownArray):
        array = static.array
        is_natural = array.size == 1 and array.dtype.kind in "iu" and int(array.flat[0]) >= 0
        return int(array.flat[0]) if is_natural else UNKNOWN_SIZE
    return static.size if isinstance(static, KnownData) else UNKNOWN_SIZE


def fits(pattern: adt.PatternAttr, value: Known, bound: list[Known]) -> bool | None:
    """
    Whether a pattern fits a value; None where that is not known.

    Args: `bound` is extended by the values that the pattern's names have, in order.
    """
    waiting = [(pattern, value)]
    while waiting:
        part, found = waiting.pop()
        if part.fits_all:
            bound += [found] if part.kind == "?" else []
            continue
        if not isinstance(found.static, KnownData):
            return None
        if found.static.constructor != part.kind:
            return False
        waiting += reversed(list(zip(part.parts, found.static.fields, strict=True)))
    return True
