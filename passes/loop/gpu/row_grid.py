"""The grid of reductions over rows: a block a row, its threads every so many columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.collectives import is_exchangeable
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import SUBGROUP, block_threads
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import (
    computed,
    load_element,
    product_of,
    shared_array,
    split_number,
    store_element,
)
from stepwell.passes.loop.gpu.product_frame import only_where
from stepwell.passes.loop.gpu.row_chains import Reduction, RowChain, Step


def build_rows(before: IRBuilder, schedule: Schedule, chain: RowChain) -> None:
    """Insert the grid of a chain of ops on rows."""
    _Row(before, schedule, chain).build()


class _Row:
    """The ops of a chain for one row."""

    def __init__(self, before: IRBuilder, schedule: Schedule, chain: RowChain):
        self._chain, self._threads = chain, block_threads(schedule.levels())
        self._intrinsic = schedule.on_device.intrinsic
        nest, space = chain.steps[0].nest, chain.steps[0].space
        extents = [nest.extent(before, space.index(dim)) for dim in range(len(space))]
        self._column_extents = extents[chain.rows :]
        self._columns = product_of(before, self._column_extents)
        outer, self._at = open_grid(before, product_of(before, extents[: chain.rows]), self._threads)
        self._row = split_number(self._at, outer.args[0], extents[: chain.rows])
        self._thread = self._at.insertion_point.block.args[0]
        self._values: dict[SSAValue, SSAValue] = {}
        """The elements of buffers of rows."""
        self._waiting: list[tuple[Step, dict[SSAValue, SSAValue]]] = []
        """Elementwise steps for a later loop over columns, with what they know of the row."""

    def build(self) -> None:
        """Compute the steps in order; elementwise ones in the loop of the next reduction."""
        for step in self._chain.steps:
            if step.reduction is not None:
                self._reduce(step, step.reduction)
            elif self._chain.is_of_row(step.nest.outputs[0]):
                self._values[step.nest.outputs[0]] = self._computed(
                    self._at, step, self._row, self._values, {}
                )
            else:
                self._waiting.append((step, dict(self._values)))
        if self._waiting:
            self._loop([], lambda inside, point, known, carried: [])
        self._store_row()
        self._at.insert(scf.ReduceOp())

    def _reduce(self, step: Step, reduction: Reduction) -> None:
        """The total of a row, in all threads."""
        at, output = self._at, step.nest.outputs[0]
        neutral = at.number(reduction.neutral, reduction.total.type)

        def add(
            inside: IRBuilder,
            point: Sequence[Index],
            known: dict[SSAValue, SSAValue],
            carried: Sequence[SSAValue],
        ) -> list[SSAValue]:
            return [self._computed(inside, step, point, self._values, known, carried[0])]

        (partial,) = self._loop([neutral], add)
        # Read before the exchange: after it, the first thread may be done, and have stored the result.
        first = step.fill.inputs[0] if step.fill is not None else self._row_value(step, output)
        total = self._total(reduction, partial)
        self._values[output] = _combined(at, reduction, first, total)

    def _total(self, reduction: Reduction, partial: SSAValue) -> SSAValue:
        """The total of all threads' parts."""
        if self._intrinsic == SUBGROUP and is_exchangeable(partial.type):
            return self._by_subgroups(reduction, partial)
        return self._at.value(gpu.AllReduceOp(reduction.kind, partial))

    def _row_value(self, step: Step, output: SSAValue) -> SSAValue:
        """The element of a row's buffer."""
        if output not in self._values:
            places = [self._row[dim] for dim in self._chain.places[output]]
            indices = [self._at.materialize(place) for place in places]
            self._values[output] = self._at.value(memref.LoadOp.get(output, indices))
        return self._values[output]

    def _loop(
        self,
        carried: Sequence[SSAValue],
        last: Callable[
            [IRBuilder, Sequence[Index], dict[SSAValue, SSAValue], Sequence[SSAValue]], list[SSAValue]
        ],
    ) -> Sequence[SSAValue]:
        """A loop over the thread's columns: the steps that wait, then a last one."""
        waiting, self._waiting = self._waiting, []

        def body(inside: IRBuilder, column: SSAValue, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            point = [*self._row, *split_number(inside, column, self._column_extents)]
            known: dict[SSAValue, SSAValue] = {}
            written: dict[SSAValue, Step] = {}
            for step, of_row in waiting:
                output = step.nest.outputs[0]
                known[output] = self._computed(inside, step, point, of_row, known)
                written[output] = step
            results = last(inside, point, known, values)
            for output, step in written.items():
                indices = [point[dim] for dim in step.space]
                store_element(inside, known[output], output, step.nest.output_maps[0], indices)
            return results

        return self._at.loop(self._thread, self._columns, self._threads, carried, body)

    def _computed(
        self,
        at: IRBuilder,
        step: Step,
        point: Sequence[Index],
        of_row: dict[SSAValue, SSAValue],
        known: dict[SSAValue, SSAValue],
        total: SSAValue | None = None,
    ) -> SSAValue:
        """The result of a step's body at a point, from what is known and loaded elements."""
        nest = step.nest
        indices: list[Index] = [point[dim] if dim < len(point) else 0 for dim in step.space]
        operands: list[SSAValue] = []
        for value, map, argument in zip(nest.op.operands, nest.maps, nest.op.body.block.args, strict=True):
            if total is not None and step.reduction is not None and argument is step.reduction.total:
                operands.append(total)
            elif not argument.uses:
                operands.append(value)
            elif (found := of_row.get(value, known.get(value))) is not None:
                operands.append(found)
            else:
                operands.append(load_element(at, value, map, indices))
        return computed(at, nest, operands, indices)[0]

    def _by_subgroups(self, reduction: Reduction, partial: SSAValue) -> SSAValue:
        """The total of all threads' parts: of each subgroup by one op, then of these in their order."""
        at = self._at
        total = at.value(gpu.SubgroupReduceOp(reduction.kind, partial))
        count = max(1, self._threads // _LEAST_SUBGROUP)
        memory = shared_array(at, total.type, [count], "parts")
        is_first = at.compare("eq", at.value(gpu.LaneIdOp()), at.materialize(0))
        with only_where(at, [is_first]) as inside:
            inside.insert(memref.StoreOp.get(total, memory, [inside.value(gpu.SubgroupIdOp())]))
        count = at.ceildiv(self._threads, at.value(gpu.SubgroupSizeOp()))
        first = at.value(memref.LoadOp.get(memory, [at.materialize(0)]))

        def add(inside: IRBuilder, number: SSAValue, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            part = inside.value(memref.LoadOp.get(memory, [number]))
            return [_combined(inside, reduction, values[0], part)]

        return at.loop(1, count, 1, [first], add)[0]

    def _store_row(self) -> None:
        """Store the elements of the row's buffers, by one thread."""
        at, chain = self._at, self._chain
        ops = {op for step in chain.steps for op in step.ops}
        written = [step.nest.outputs[0] for step in chain.steps if chain.is_of_row(step.nest.outputs[0])]
        kept = [value for value in dict.fromkeys(written) if not _is_dead(value, ops)]
        if not kept:
            return
        with only_where(at, [at.compare("eq", self._thread, at.materialize(0))]) as inside:
            for value in kept:
                places = [inside.materialize(self._row[dim]) for dim in chain.places[value]]
                inside.insert(memref.StoreOp.get(self._values[value], value, places))


_LEAST_SUBGROUP = 4
"""The fewest threads of a subgroup that WebGPU allows."""


def _is_dead(value: SSAValue, ops: set[Operation]) -> bool:
    """Whether a buffer is made for some ops alone."""
    is_made = isinstance(value.owner, memref.AllocaOp | memref.AllocOp)
    return is_made and all(use.operation in ops for use in value.uses)


def _combined(at: IRBuilder, reduction: Reduction, a: SSAValue, b: SSAValue) -> SSAValue:
    """Two totals combined."""
    copy = reduction.combine.clone()
    copy.operands = [a, b]
    return at.value(copy)
