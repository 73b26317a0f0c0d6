"""`merge-regions`: connected ops of one backend are merged into maximal regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count, remark
from stepwell.passes.graph.partition.annotate_target import TARGET
from stepwell.passes.graph.partition.units import Units
from stepwell.patterns.groups import blocks_of
from stepwell.runtime.errors import StepwellError

REGION = "graph.region"
"""Attribute of an op with a target: the number of its region in the block."""


@dataclass(frozen=True)
class MergeRegionsPass(FunctionPass):
    """
    Give ops with a target the attribute `graph.region`: ops with the same number become one partition.

    Adjacent ops of one target are merged, unless a path from one region to the other through other ops would
    become a cycle. Regions that the IR has already stay together and may grow.

    Fails when such regions make a cycle. Class: exact. Source: TVM's MergeCompilerRegions.
    """

    name = "merge-regions"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in blocks_of(func):
            if any(TARGET in op.attributes for op in block.ops):
                _merge(block)


def _merge(block: Block) -> None:
    units = regions_of(block)
    targets = [op.attributes.get(TARGET) for op in units.ops]
    for target in dict.fromkeys(target for target in targets if target is not None):
        _merge_by_level(units, targets, target)
    _merge_pairs(units, targets)
    numbers: dict[int, int] = {}
    for i, op in enumerate(units.ops):
        if targets[i] is not None:
            number = numbers.setdefault(units.find(i), len(numbers))
            op.attributes[REGION] = IntegerAttr(number, i64)
    count("regions", len(numbers))


def regions_of(block: Block) -> Units:
    """
    The ops of a block as units: a unit for each `graph.region` number of the IR, and for each other op.

    Raises: StepwellError `cycle`, `invalid-ir` for ops of several targets with one number.
    """
    units = Units(block)
    first: dict[int, int] = {}
    for i, op in enumerate(units.ops):
        number = _number(op)
        if number is not None and TARGET in op.attributes:
            other = units.ops[first.setdefault(number, i)]
            if other.attributes[TARGET] != op.attributes[TARGET]:
                raise _mixed(op, other, number)
            units.union(first[number], i)
    units.contract()
    units.order()
    return units


def _number(op: Operation) -> int | None:
    attribute = op.attributes.get(REGION)
    if not isinstance(attribute, IntegerAttr):
        return None
    return cast("IntegerAttr[IntegerType]", attribute).value.data


def _merge_by_level(units: Units, targets: list[Attribute | None], target: Attribute) -> None:
    """
    Merge adjacent units of a target that have the same level, all at once.

    The level of a unit is the most times that a path to it leaves the target and comes back; it increases
    along such a path, so that merging units of one level makes no cycle.
    """
    level: dict[int, int] = {}
    outside: dict[int, int] = {}
    for unit in units.order():
        mine = [s for s in units.sources[unit] if targets[s] == target]
        others = [s for s in units.sources[unit] if targets[s] != target]
        inner = max((level[s] for s in mine), default=0)
        outer = max((outside[s] for s in others), default=0)
        if targets[unit] == target:
            level[unit] = max(inner, outer)
        else:
            outside[unit] = max(outer, inner + 1 if mine else 0)
    for unit in level:
        for user in units.users[unit]:
            if level.get(user) == level[unit]:
                units.union(unit, user)
    units.contract()


def _merge_pairs(units: Units, targets: list[Attribute | None]) -> None:
    """Merge adjacent units of one target and different levels, pair by pair, if no other path joins them."""
    order = units.order()
    position = {unit: i for i, unit in enumerate(order)}
    pairs = [
        (unit, user)
        for unit in order
        for user in sorted(units.users[unit])
        if targets[unit] is not None and targets[unit] == targets[user]
    ]
    for a, b in pairs:
        source, user = units.find(a), units.find(b)
        if source == user:
            continue
        between = _reached(units, source, user, position)
        if between is None:
            _remark_cycle(units, source, user)
            continue
        start, end = position[source], position[user]
        window = [unit for unit in order[start : end + 1] if unit not in (source, user)]
        merged, gone = _unite(units, source, user)
        before = [unit for unit in window if unit not in between]
        order[start : end + 1] = [*before, merged, *(unit for unit in window if unit in between), gone]
        for i in range(start, end + 1):
            position[order[i]] = i


def _reached(units: Units, source: int, user: int, position: dict[int, int]) -> set[int] | None:
    """The units that depend on `source`, ordered before `user`; None when `user` depends on one of them."""
    found: set[int] = set()
    stack = [unit for unit in units.users[source] if unit != user]
    while stack:
        unit = stack.pop()
        if unit == user:
            return None
        if unit not in found and position[unit] < position[user]:
            found.add(unit)
            stack += units.users[unit]
    return found


def _unite(units: Units, a: int, b: int) -> tuple[int, int]:
    """Merge two units and update their edges at once; returns the remaining and the absorbed unit."""
    merged = units.union(a, b)
    other = b if merged == a else a
    for edges, back in ((units.users, units.sources), (units.sources, units.users)):
        edges[merged] = (edges[merged] | edges[other]) - {a, b}
        for unit in edges[other] - {a, b}:
            back[unit].discard(other)
            back[unit].add(merged)
        edges[other] = set()
    return merged, other


def _remark_cycle(units: Units, source: int, user: int) -> None:
    op = units.ops[user]
    name = units.ops[source].name
    remark(op, f"not in the region of {name}: they would wait for each other through another part")


def _mixed(op: Operation, other: Operation, number: int) -> StepwellError:
    names = [t.data for t in (other.attributes[TARGET], op.attributes[TARGET]) if isinstance(t, StringAttr)]
    return StepwellError(
        "invalid-ir", op, f"region {number} contains ops of several targets: {', '.join(names)}"
    )
