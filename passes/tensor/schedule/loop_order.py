"""The order of a product's loops over results, by the operand that stays in a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from stepwell.dialects.costs.machine import MACHINE, stays_in_l2
from stepwell.dialects.costs.schedules import PRODUCTS
from stepwell.dialects.tensor_ir.register_file import widest_element
from stepwell.dialects.tensor_ir.structured import Structured, map_dims
from stepwell.runtime.machine.target import TargetDescription


@dataclass(frozen=True)
class Roles:
    """The parallel loops of a product, each list from the outermost to the innermost of the result."""

    lanes: int
    panels: Sequence[int]
    """Loops that move the vector operand only."""
    rows: Sequence[int]
    """Loops that move the other operand only."""
    both: Sequence[int]
    lanes_in_both: bool
    """Whether no element is broadcast: one filter a channel."""
    vector: int
    """Position of the vector operand among the inputs."""
    other: int
    """Position of the operand that is no vector among the inputs."""

    @staticmethod
    def of(view: Structured, vector: int, other: int, out: Sequence[int]) -> Roles:
        mine, theirs = map_dims(view.maps[vector]), map_dims(view.maps[other])
        long = [d for d in out[:-1] if view.extents[d] != 1]
        return Roles(
            out[-1],
            [d for d in long if d in mine and d not in theirs],
            [d for d in long if d in theirs and d not in mine],
            [d for d in long if (d in mine) == (d in theirs)],
            out[-1] in mine and out[-1] in theirs,
            vector,
            other,
        )


def loop_order(view: Structured, roles: Roles, row: int | None, target: TargetDescription) -> Sequence[int]:
    """
    The loops over results, the outermost first; `row` is the one of the register tile's rows.

    Panels inside of rows read all panels again for each row of tiles, and rows inside of panels all rows
    again for each panel.
    """
    outer_rows = [d for d in roles.rows if d != row]
    panels = [*roles.panels, roles.lanes]
    inner_rows = [] if row is None else [row]
    if _are_read_slowly(view, roles, target, without=outer_rows) and _may_repeat(view, roles, target):
        return [*roles.both, *outer_rows, *inner_rows, *panels]
    is_slow = _are_read_slowly(view, roles, target) and _may_repeat(view, roles, target)
    if is_slow or _stays(view, _of_panels(view, roles), target):
        return [*roles.both, *outer_rows, *panels, *inner_rows]
    return [*roles.both, *panels, *outer_rows, *inner_rows]


def _sums(view: Structured) -> Sequence[int]:
    return [d for d in range(view.rank) if not view.parallel[d]]


def _of_panels(view: Structured, roles: Roles) -> Sequence[int]:
    """The loops over the operand of the panels."""
    return [*roles.both, *roles.panels, roles.lanes, *_sums(view)]


def _bytes(view: Structured, dims: Sequence[int]) -> int | None:
    """The bytes of an operand that some loops move; None where an extent is open."""
    extents = [view.extents[d] for d in dims]
    return None if None in extents else prod(n or 1 for n in extents) * widest_element(view)


def _stays(view: Structured, dims: Sequence[int], target: TargetDescription) -> bool:
    """Whether what some loops read is static and fits the share of the level-2 cache."""
    bytes = _bytes(view, dims)
    return bytes is not None and stays_in_l2(bytes, target)


def _may_repeat(view: Structured, roles: Roles, target: TargetDescription) -> bool:
    """Whether panels may be read again for each row of tiles: from a cache, maybe beyond the level-2 one."""
    bytes = _bytes(view, _of_panels(view, roles))
    return bytes is not None and bytes <= PRODUCTS.repeated_panels * target.l2_bytes


def _are_read_slowly(
    view: Structured, roles: Roles, target: TargetDescription, without: Sequence[int] = ()
) -> bool:
    """
    Whether rows come from beyond the level-2 cache, in more pieces at a time than are fetched ahead.

    Those of a feature map in blocks of channels: a piece for each block. Args: `without` are loops outside.
    """
    rows = [d for d in roles.rows if d not in without]
    sums = [d for d in _sums(view) if d in map_dims(view.maps[roles.other])]
    bytes = _bytes(view, [*rows, *sums])
    apart = [d for d in sums if view.stride_bytes(roles.other, d) > PRODUCTS.near_bytes]
    pieces = prod(view.extents[d] or 1 for d in apart)
    return bytes is not None and not stays_in_l2(bytes, target) and pieces >= MACHINE.streams
