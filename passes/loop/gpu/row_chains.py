"""Reductions over rows, and the ops between them that a block can compute for a row of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import AnyFloat, IntegerType, i1
from xdsl.dialects.linalg.ops import FillOp
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.tensor_ir.combiners import combiner_of
from stepwell.dialects.tensor_ir.structured import projected_permutation
from stepwell.passes.loop.gpu.chains import next_in_effect
from stepwell.passes.loop.gpu.nests import Nest, is_buffer, root_of

_UNSIGNED = (CombiningKindFlag.MAXUI, CombiningKindFlag.MINUI)
"""Kinds that are reduced by a thread for each row."""


@dataclass(frozen=True)
class Reduction:
    """A reduction `total = combine(total, element)`."""

    combine: Operation
    """The op of the body that combines a total with an element."""
    kind: str
    """The name of the reduction, as `gpu.all_reduce` has it."""
    total: SSAValue
    """The argument of the body with the total."""
    neutral: float

    @staticmethod
    def of(nest: Nest) -> Reduction | None:
        """The reduction of an op with one output; None where its body is none, or depends on the order."""
        if len(nest.outputs) != 1 or all(nest.parallel):
            return None
        body = nest.op.body.block
        found, total = combiner_of(body), body.args[-1]
        is_number = total.type != i1 and isinstance(total.type, AnyFloat | IntegerType)
        if found is None or not is_number or found.kind in _UNSIGNED:
            return None
        return Reduction(found.op, str(found.kind.value), total, found.neutral)


@dataclass(frozen=True)
class Step:
    """An op of a chain, for each element of the row or once for it."""

    nest: Nest
    space: tuple[int, ...]
    """The dimension of the space of each loop: rows first, then columns."""
    reduction: Reduction | None = None
    fill: FillOp | None = None
    """The fill that a reduction starts from."""

    @property
    def ops(self) -> list[Operation]:
        """The ops that the step replaces."""
        return [self.nest.op] if self.fill is None else [self.fill, self.nest.op]


@dataclass
class RowChain:
    """
    Ops on the rows and columns of a first reduction.

    Buffers with an element for each point are accessed by the thread that has the column; those with one for
    each row are values that all threads of the block have.
    """

    rows: int
    columns: int
    places: dict[SSAValue, tuple[int, ...]] = field(default_factory=dict[SSAValue, tuple[int, ...]])
    """The dimension of the space along each dimension of a buffer of the row."""
    written: set[SSAValue] = field(default_factory=set[SSAValue])
    foreign: set[SSAValue] = field(default_factory=set[SSAValue])
    """Roots of buffers that are read elsewhere than at the own point."""
    steps: list[Step] = field(default_factory=list[Step])

    @staticmethod
    def of(nest: Nest, fill: FillOp | None) -> RowChain | None:
        """The chain of a reduction; None for another op."""
        reduction = Reduction.of(nest)
        output = projected_permutation(nest.output_maps[0]) if nest.outputs else None
        rows = [loop for loop, is_parallel in enumerate(nest.parallel) if is_parallel]
        if reduction is None or output is None or sorted(output) != rows:
            return None
        columns = [loop for loop, is_parallel in enumerate(nest.parallel) if not is_parallel]
        chain = RowChain(len(rows), len(columns))
        order = [*output, *columns]
        space = tuple(order.index(loop) for loop in range(len(order)))
        return chain if chain._take(Step(nest, space, reduction, fill)) else None

    def extend(self, op: Operation) -> None:
        """Add the ops after one, until one does not fit."""
        while (following := next_in_effect(op)) is not None:
            fill = following if isinstance(following, FillOp) else None
            target = next_in_effect(following) if fill is not None else following
            if target is None or (step := self._step(target, fill)) is None or not self._take(step):
                return
            op = target

    def _step(self, op: Operation, fill: FillOp | None) -> Step | None:
        """An op as a step; None where its loops are others."""
        nest = Nest.of(op)
        if nest is None or len(nest.outputs) != 1 or nest.op is fill:
            return None
        reduction = Reduction.of(nest)
        if fill is not None and (reduction is None or fill.outputs[0] is not nest.outputs[0]):
            return None
        if (space := self._space(nest)) is None:
            return None
        is_column = [dim >= self.rows for dim in space]
        if any(
            not parallel and not column for parallel, column in zip(nest.parallel, is_column, strict=True)
        ):
            return None
        if not all(nest.parallel) and (
            reduction is None or [not parallel for parallel in nest.parallel] != is_column
        ):
            return None
        return Step(nest, space, reduction, fill)

    def _space(self, nest: Nest) -> tuple[int, ...] | None:
        """The dimension of the space of each loop, by a buffer that is known: of all points, or of rows."""
        count = len(nest.parallel)
        for value, map in zip(nest.op.operands, nest.maps, strict=True):
            loops = projected_permutation(map)
            if value in self.places and loops is not None and len(loops) == count:
                found = dict(zip(loops, self.places[value], strict=True))
                space = tuple(found[loop] for loop in range(count))
                return space if count in (self.rows, self.rows + self.columns) else None
        return None

    def _take(self, step: Step) -> bool:
        """Add a step, if each of its accesses is of the own row."""
        nest = step.nest
        operands = [(v, m) for v, m in zip(nest.op.operands, nest.maps, strict=True) if is_buffer(v)]
        places = {value: self._place(map, step.space) for value, map in operands}
        if len(places) != len(operands):
            return False  # an operand twice, by different maps
        output = nest.outputs[0]
        for value, place in places.items():
            if root_of(value) in self.written and (place is None or self.places.get(value) != place):
                return False
        place, root = places[output], root_of(output)
        if place is None or root in self.foreign or self.places.get(output, place) != place:
            return False
        if any(root_of(other) is root and other is not output for other in (*self.places, *places)):
            return False
        if nest.captured & {*self.written, root} or self._changes_what_others_read(step, place):
            return False
        self.foreign |= nest.captured
        for value, found in places.items():
            if found is None or self.places.setdefault(value, found) != found:
                self.foreign.add(root_of(value))
        if root in self.foreign:
            return False
        self.written.add(root)
        self.steps.append(step)
        return True

    def _changes_what_others_read(self, step: Step, place: tuple[int, ...]) -> bool:
        """
        Whether a step without a reduction, after which threads would have to wait for each other, changes a
        row's element that threads read from memory.
        """
        output = step.nest.outputs[0]
        if step.reduction is not None or root_of(output) in self.written or len(place) > self.rows:
            return False
        return output in self.places or bool(step.nest.op.body.block.args[-1].uses)

    def _place(self, map: AffineMap, space: tuple[int, ...]) -> tuple[int, ...] | None:
        """The place of an operand that has all dimensions of the space, or those of rows; None for others."""
        loops = projected_permutation(map)
        if loops is None:
            return None
        place = tuple(space[loop] for loop in loops)
        every, rows = set(range(self.rows + self.columns)), set(range(self.rows))
        return place if set(place) in (every, rows) else None

    def is_of_row(self, value: SSAValue) -> bool:
        """Whether a buffer has one element for the row."""
        return len(self.places.get(value, ())) == self.rows and value in self.places
