"""Levels of a schedule: cache blocks from the outermost on, and the register tile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.fields import parse_fields, parse_numbers

MOST = 1 << 31
"""No tile and no size of a kernel is as large."""
BINDS = ("block", "warp", "thread")
"""The processors of a device that the tiles of a level may be given to."""


@dataclass(frozen=True)
class Level:
    """Loops around tiles: the step of each, the order, the independent ones."""

    tile: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    parallel: tuple[int, ...] = ()
    bind: str = field(default="", kw_only=True)
    """The processors that run the tiles; none on a CPU."""

    def loops(self) -> tuple[int, ...]:
        """The tiled loops, outer to inner."""
        return self.order or self.default_order()

    def default_order(self) -> tuple[int, ...]:
        """The order when none is written: parallel loops as listed, then the others by position."""
        rest = tuple(d for d, t in enumerate(self.tile) if t and d not in self.parallel)
        return (*self.parallel, *rest)


LevelParts = ArrayAttr[ArrayAttr[IntAttr]]
"""The tile, the order, the parallel loops of a level, and the index of its processors, if any."""


def level_parts(level: Level) -> LevelParts:
    """A level as an attribute, equal for equal levels: parallel loops in their order, no default order."""
    if set(level.parallel) <= set(level.order):
        parallel = tuple(d for d in level.order if d in level.parallel)
        level = Level(level.tile, level.order, parallel, bind=level.bind)
    order = () if level.order == level.default_order() else level.order
    bind = (BINDS.index(level.bind),) if level.bind else ()
    return ArrayAttr([ints(level.tile), ints(order), ints(level.parallel), ints(bind)])


def level_of(parts: LevelParts) -> Level:
    """The level of an attribute."""
    tile, order, parallel, bind = (values(part) for part in parts)
    return Level(tile, order, parallel, bind=BINDS[bind[0]] if bind else "")


def parse_levels(parser: AttrParser) -> ArrayAttr[LevelParts]:
    """Levels in brackets, each as `<tile = …, order = …, parallel = …, bind = …>`. Raises: ParseError."""

    def level() -> LevelParts:
        def numbers() -> ArrayAttr[IntAttr]:
            return parse_numbers(parser)

        def bind() -> ArrayAttr[IntAttr]:
            if (name := parser.parse_str_literal()) not in BINDS:
                parser.raise_error(f"bind is one of {', '.join(BINDS)}, found {name}")
            return ints((BINDS.index(name),))

        readers = {"tile": numbers, "order": numbers, "parallel": numbers, "bind": bind}
        none = ints(())
        parts = parse_fields(parser, readers, {"order": none, "parallel": none, "bind": none})
        return cast(LevelParts, ArrayAttr(parts))

    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, level))


def print_level(printer: Printer, parts: LevelParts) -> None:
    """The fields of a level."""
    tile, order, parallel, bind = parts
    printer.print_string("tile = ")
    print_ints(tile, printer)
    for key, numbers in (("order", order), ("parallel", parallel)):
        if numbers.data:
            printer.print_string(f", {key} = ")
            print_ints(numbers, printer)
    if bind.data:
        printer.print_string(f', bind = "{BINDS[values(bind)[0]]}"')


def verify_level(level: Level) -> None:
    """Require tiles in range, and an order and parallel loops that fit them. Raises: VerifyException."""
    tile, rank = level.tile, len(level.tile)
    if any(not 0 <= t < MOST for t in tile):
        raise VerifyException(f"tiles must be 0 to 2^31 - 1, found {list(tile)}")
    tiled = [d for d, t in enumerate(tile) if t]
    for key, loops in (("order", level.order), ("parallel", level.parallel)):
        for loop in loops:
            if not 0 <= loop < rank:
                raise VerifyException(f"{key} names loop {loop}, and the tiles are 0 to {rank - 1}")
            if not tile[loop]:
                raise VerifyException(f"{key} names loop {loop}, whose tile is 0")
            if loops.count(loop) > 1:  # threads would write the same tiles
                raise VerifyException(f"{key} names loop {loop} twice")
    if level.order and len(level.order) < len(tiled):
        raise VerifyException(
            f"order must name each of the tiled loops {tiled} once, found {list(level.order)}"
        )
    if set(level.loops()[: len(level.parallel)]) != set(level.parallel):
        raise VerifyException(
            f"parallel must name the first loops of the order {list(level.loops())}, "
            f"found {list(level.parallel)}"
        )


def verify_levels(levels: Sequence[Level]) -> None:
    """
    Require levels to be the only ones for their loops: each begins where the one before cannot go on.

    Raises: VerifyException.
    """
    rank = len(levels[0].tile)
    if any(len(level.tile) != rank for level in levels):
        raise VerifyException(f"levels must have a tile for each of {rank} loops")
    if len([level for level in levels if level.parallel]) > 1:
        raise VerifyException("one level has parallel loops, found several")
    for number, (outer, inner) in enumerate(zip(levels, levels[1:], strict=False), 1):
        if not inner.loops() or not outer.loops():
            raise VerifyException("a level must have a tile that is not 0")
        first = inner.loops()[0]
        is_serial = len(outer.loops()) > len(outer.parallel)
        if not outer.tile[first] and not (first in inner.parallel and is_serial):
            raise VerifyException(f"loop {first} of level {number} must be in the level before")
    for loop in range(rank):
        steps = [level.tile[loop] for level in levels if level.tile[loop]]
        if steps != sorted(steps, reverse=True):
            raise VerifyException(f"the tiles of loop {loop} must not grow inwards, found {steps}")


def filled(loops: Iterable[tuple[int, int, bool]], rank: int) -> list[Level]:
    """The levels of loops in their order, each as (loop, step, whether it is parallel): one at least."""
    levels: list[list[tuple[int, int, bool]]] = [[]]
    for loop, step, is_parallel in loops:
        taken = {other for other, _, _ in levels[-1]}
        is_serial = any(not parallel for _, _, parallel in levels[-1])
        if loop in taken or (is_parallel and is_serial):
            levels.append([])
        levels[-1].append((loop, step, is_parallel))
    return [_level(level, rank) for level in levels]


def _level(loops: Sequence[tuple[int, int, bool]], rank: int) -> Level:
    steps = {loop: step for loop, step, _ in loops}
    parallel = tuple(loop for loop, _, is_parallel in loops if is_parallel)
    return Level(tuple(steps.get(d, 0) for d in range(rank)), tuple(steps), parallel)


def ints(numbers: Sequence[int]) -> ArrayAttr[IntAttr]:
    """Numbers as an attribute."""
    return ArrayAttr([IntAttr(number) for number in numbers])


def values(attr: ArrayAttr[IntAttr]) -> tuple[int, ...]:
    """The numbers of an attribute."""
    return tuple(number.data for number in attr.data)


def print_ints(attr: ArrayAttr[IntAttr], printer: Printer) -> None:
    """Numbers in brackets."""
    with printer.in_square_brackets():
        printer.print_list(values(attr), printer.print_int)
