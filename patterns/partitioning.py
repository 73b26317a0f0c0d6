"""Partitioning: each match of a pattern becomes one `graph.composite`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.attributes import AttributeLike, attribute
from stepwell.dialects.graph.structure import CompositeOp, YieldOp
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import fused_location
from stepwell.patterns.groups import Check, Duplicate, Group, Remark, blocks_of, groups_of
from stepwell.patterns.index import PatternIndex
from stepwell.patterns.machine import Blocks
from stepwell.patterns.nodes import Pattern


def ignore(where: object, message: str) -> None:
    """The default `remark`, which discards the message."""


def partition(
    pattern: Pattern,
    func: FuncOp,
    attrs: Mapping[str, AttributeLike] | None = None,
    check: Check | None = None,
    allow_duplicate: bool = False,
    *,
    name: str = "",
    remark: Remark = ignore,
) -> list[CompositeOp]:
    """
    Replace each match by a composite, in one pass from the last op to the first.

    Args: `attrs` are given to every composite, Python values as attributes; `check` may refuse a match by its
    root; `allow_duplicate` lets pure ops of any cost be computed twice, cheap ones may be anyway; `name` is
    that of the table's entry; `remark` is called with the reason for each refused match.
    Returns: the composites, in program order.
    Raises: StepwellError `type-mismatch` for a value that is no attribute.
    """
    duplicate = Duplicate.PURE if allow_duplicate else Duplicate.CHEAP
    given = {key: attribute(value) for key, value in (attrs or {}).items()}
    return partition_table([TableRow(name, pattern, check)], func, given, duplicate, remark=remark)


@dataclass(frozen=True)
class TableRow:
    """A row of a pattern table: a pattern, the name of its composites, and the check of its matches."""

    name: str
    pattern: Pattern
    check: Check | None = None


def partition_table(
    rows: Sequence[TableRow],
    func: FuncOp,
    attrs: Mapping[str, Attribute] | None,
    duplicate: Duplicate,
    *,
    remark: Remark = ignore,
) -> list[CompositeOp]:
    """
    `partition` for the patterns of a table, one after the other.

    A `PatternIndex` finds the candidate rows of each op once, not pattern by pattern: rows without candidates
    in the function cost nothing.
    """
    made: list[CompositeOp] = []
    index = PatternIndex([row.pattern for row in rows])
    for block in list(blocks_of(func)):
        roots, blocks = _Roots(index, len(rows), block), Blocks()
        for number, row in enumerate(rows):
            given = dict(attrs or {}) | ({"pattern": StringAttr(row.name)} if row.name else {})
            groups = groups_of(
                row.pattern, roots.of(number), blocks, check=row.check, duplicate=duplicate, remark=remark
            )
            replaced: dict[SSAValue, SSAValue] = {}
            params = [group.params for group in groups]  # before the first change
            for group, wanted in zip(groups, params, strict=True):
                operands = [replaced.get(value, value) for value in wanted]
                composite = _compose(group, operands, given, replaced)
                roots.add(composite, group.root)
                made.append(composite)
            if groups:
                roots.read_anew()
                blocks.forget(block)
    return made


class _Roots:
    """The candidate roots in a block for each row of a table, updated as ops become composites."""

    def __init__(self, index: PatternIndex, rows: int, block: Block):
        self._index = index
        self._roots: list[dict[Operation, None]] = [{} for _ in range(rows)]
        self._place: dict[Operation, int] = {}
        self._changed: list[Operation] = []
        for place, op in enumerate(block.ops):
            self._place[op] = place
            self._look_at(op)

    def _look_at(self, op: Operation) -> bool:
        """Index an op. Returns: whether its terms changed."""
        if not self._index.read(op):
            return False
        for number in self._index.candidates(op) if op.results else ():
            self._roots[number][op] = None
        return True

    def of(self, number: int) -> list[Operation]:
        """The candidate roots of a row that are still in the block, the last one first."""
        there = [op for op in self._roots[number] if op.parent is not None]
        return sorted(there, key=self._place.__getitem__, reverse=True)

    def add(self, composite: CompositeOp, root: Operation) -> None:
        """Record a composite at the position of the root that it replaced."""
        self._place[composite] = self._place[root]
        self._changed.append(composite)

    def read_anew(self) -> None:
        """Index the new composites, and the ops below them whose terms change."""
        waiting = [(self._place[op], op) for op in self._changed if op.parent is not None]
        self._changed.clear()
        heapify(waiting)
        queued = {op for _, op in waiting}
        while waiting:
            _, op = heappop(waiting)
            if not self._look_at(op):
                continue
            for user in (use.operation for result in op.results for use in result.uses):
                if user in self._place and user not in queued:
                    queued.add(user)
                    heappush(waiting, (self._place[user], user))


def _compose(
    group: Group,
    operands: Sequence[SSAValue],
    attributes: Mapping[str, Attribute],
    replaced: dict[SSAValue, SSAValue],
) -> CompositeOp:
    """Copy a group into a composite at its root, and erase the ops without uses."""
    results = [result for result in group.root.results if result.first_use is not None]
    results = results or list(group.root.results)

    block = Block(arg_types=[value.type for value in operands])
    values: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for value, arg in values.copy().items():
        arg.name_hint = value.name_hint
    for op in group.ops:
        block.add_op(op.clone(values))
    block.add_op(YieldOp([values[result] for result in results]))
    composite = CompositeOp(operands, [result.type for result in results], Region(block))
    composite.attributes |= {"ops": StringAttr(group.name), **attributes}
    IRBuilder(InsertPoint.before(group.root), fused_location(group.ops)).insert(composite)
    for result, new in zip(results, composite.results, strict=True):
        new.name_hint = result.name_hint
        result.replace_all_uses_with(new)
        replaced[result] = new
    for op in reversed(group.ops):
        if all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()
    return composite
