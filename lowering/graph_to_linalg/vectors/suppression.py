"""`graph.non_max_suppression` → candidates of a class, sorted by score, meet the boxes selected so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import UnitAttr, f32, i1, i32, i64
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.costs.kernels import SEARCHES
from stepwell.dialects.linalg_builder.ranks import key_of
from stepwell.dialects.linalg_builder.row_loops import counted_loop as scalar_loop
from stepwell.dialects.linalg_builder.row_loops import row_by_row
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.slices import INDICES, index_of, layer_of, with_layer
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    Emitted,
    counted_loop,
    empty,
    extent,
    filled,
    generic,
    inserted,
    projection,
)
from stepwell.dialects.sched import PARALLEL as INDEPENDENT
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

_FLOATS, _KEYS, _ENTRIES = Scalars(f32), Scalars(i32), Scalars(i64)
_POSITION_BITS = 32


class NonMaxSuppressionLowering(RewritePattern):
    """
    `graph.non_max_suppression` → for each class, a sorted list of candidates that are selected in turn.

    ```mlir
    scf.for %class = … {
      %entries, %count = scf.for %box = … { arith.shli, arith.addi, … }   // score and index in an i64
      %sorted, … = scf.for %round = … { … }                               // by two digits each
      scf.for %i = %c0 to %count iter_args(%low_y, %low_x, %high_y, %high_x, %area, %chosen, %number) {
        %hit = scf.for %block = … { linalg.generic ["parallel", "reduction"] { arith.divf, … } }
        … // unless %hit the candidate is selected, and its corners are stored
      }
    } {sched.parallel}
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NonMaxSuppressionOp, rewriter: PatternRewriter) -> None:
        """Emit parallel loops over batches and classes, each of which fills its own part of the results."""
        sizes = [extent(dim, rewriter) for dim in dims_of(op.counts.type)]
        outputs = [filled(tensor_of(op.chosen), 0, rewriter), empty(tensor_of(op.counts), rewriter)]

        def nest(outer: list[SSAValue], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if len(outer) == len(sizes):
                return _Class(op, outer, rewriter).select(*carried)
            rows = counted_loop(
                sizes[len(outer)], carried, lambda i, inner: nest([*outer, i], inner), rewriter
            )
            assert isinstance(loop := rows[0].owner, scf.ForOp)
            loop.attributes[INDEPENDENT] = UnitAttr()
            return rows

        rewriter.replace(op, [], list(nest([], outputs)))


class JoinPartsLowering(RewritePattern):
    """`graph.join_parts` → loops over the parts, which carry the number of rows written so far."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.JoinPartsOp, rewriter: PatternRewriter) -> None:
        """Write the rows of each part after those of the parts before it."""
        sizes = [extent(dim, rewriter) for dim in dims_of(op.counts.type)]

        def part(at: Sequence[SSAValue], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            rows, first = carried
            count = index_of(_load(op.counts, at))

            def row(i: SSAValue, rows: Sequence[SSAValue]) -> Sequence[SSAValue]:
                written, number = rows[0], INDICES.add(first, i)
                for column, index in enumerate(at):
                    place = [number, INDICES.constant(column)]
                    written = _store(_ENTRIES.from_index(index), written, place)
                element = _load(op.parts, [*at, i])
                return [_store(element, written, [number, INDICES.constant(len(at))])]

            return *scalar_loop(count, [rows], row), INDICES.add(first, count)

        start = [empty(tensor_of(op.result), rewriter), extent(Dim.of(0), rewriter)]
        rewriter.replace(op, [], [row_by_row(sizes, start, part, rewriter)[0]])


@dataclass(frozen=True)
class _Class:
    """The selection of boxes for one class: `at` is the batch and the class."""

    op: graph.NonMaxSuppressionOp
    at: Sequence[SSAValue]
    rewriter: PatternRewriter

    def select(self, chosen: SSAValue, counts: SSAValue) -> Sequence[SSAValue]:
        """The results with the part of this class."""
        entries, count = self._candidates()
        entries = self._sorted(entries, count)
        room = tensor_type(f32, [self.op.most.get()[0] + SEARCHES.kept_block])
        kept = [empty(room, self.rewriter) for _ in range(5)]
        start = extent(Dim.of(0), self.rewriter)

        def visit(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            entry = self._emitted(lambda: _load(entries, [i]))
            return self._visit(entry, carried[:5], *carried[5:])

        *_, chosen, number = counted_loop(count, [*kept, chosen, start], visit, self.rewriter)
        counts = self._emitted(lambda: _store(_ENTRIES.from_index(number), counts, self.at))
        return chosen, counts

    def _candidates(self) -> tuple[SSAValue, SSAValue]:
        """
        Entries of the boxes whose score is above the least, in the order of their indices, and their number.

        A block of scores is skipped if none of them is: in most models, nearly all.
        """
        size, block = dims_of(self.op.scores.type)[2], SEARCHES.search_block
        start = empty(tensor_type(i64, [size]), self.rewriter), extent(Dim.of(0), self.rewriter)
        threshold = self.op.least
        if threshold is None:
            return self._listed(start[1], extent(size, self.rewriter), None, start)
        least = self._emitted(lambda: _load(threshold, []))

        def visit(number: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            first = self._emitted(lambda: INDICES.multiply(number, INDICES.constant(block)))
            some = self._some_above(first, least)
            some = self._emitted(lambda: INDICES.select(some, INDICES.constant(block), INDICES.constant(0)))
            return self._listed(first, some, least, carried)

        carried = counted_loop(extent(size // block, self.rewriter), start, visit, self.rewriter)
        rest = size - size // block * block
        return self._listed(extent(size - rest, self.rewriter), extent(rest, self.rewriter), least, carried)

    def _some_above(self, first: SSAValue, least: SSAValue) -> SSAValue:
        """Whether any score of the block from `first` on is above the least."""
        at = dict(enumerate([*self.at, first]))
        block = layer_of(self.op.scores, at, self.rewriter, {2: SEARCHES.search_block})
        zero = AffineExpr.constant(0)
        found = generic(
            [(block, AffineMap(2, 0, (zero, zero, AffineExpr.dimension(1))))],
            (filled(tensor_type(i1, [1]), 0, self.rewriter), projection(2, [0])),
            [PARALLEL, REDUCTION],
            lambda s: arith.OrIOp(s[1], _FLOATS.compare("gt", s[0], least)).result,
            self.rewriter,
        )
        return self._emitted(lambda: _load(found, [INDICES.constant(0)]))

    def _listed(
        self, first: SSAValue, boxes: SSAValue, least: SSAValue | None, carried: Sequence[SSAValue]
    ) -> tuple[SSAValue, SSAValue]:
        """The entries and their number after so many boxes from `first` on."""

        def visit(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            entries, count = carried
            box, more = INDICES.add(first, i), INDICES.add(count, INDICES.constant(1))
            score = _load(self.op.scores, [*self.at, box])
            entries = _store(_entry(score, box), entries, [count])
            if least is None:
                return entries, more
            return entries, INDICES.select(_FLOATS.compare("gt", score, least), more, count)

        entries, count = self._emitted(lambda: scalar_loop(boxes, carried, visit))
        return entries, count

    def _sorted(self, entries: SSAValue, count: SSAValue) -> SSAValue:
        """
        The first `count` entries in ascending order: a radix sort of their keys, from the last digit on.

        The sort is stable: entries with equal keys stay in the order of their indices.
        """
        spare, bits = empty(tensor_of(entries), self.rewriter), SEARCHES.digit_bits

        def rounds() -> SSAValue:
            some = INDICES.compare("gt", count, INDICES.constant(1))
            return INDICES.select(some, INDICES.constant(32 // (2 * bits)), INDICES.constant(0))

        def first_bit(number: SSAValue) -> SSAValue:
            done = _ENTRIES.multiply(_ENTRIES.from_index(number), _ENTRIES.constant(2 * bits))
            return _ENTRIES.add(done, _ENTRIES.constant(_POSITION_BITS))

        def two_digits(number: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            entries, spare = carried
            shift = self._emitted(lambda: first_bit(number))
            spare = self._by_digit(entries, spare, count, shift)
            shift = self._emitted(lambda: _ENTRIES.add(shift, _ENTRIES.constant(bits)))
            return self._by_digit(spare, entries, count, shift), spare

        return counted_loop(self._emitted(rounds), [entries, spare], two_digits, self.rewriter)[0]

    def _by_digit(self, source: SSAValue, into: SSAValue, count: SSAValue, shift: SSAValue) -> SSAValue:
        """The tensor `into` with the entries of `source` in the order of one digit of each."""
        digits = 1 << SEARCHES.digit_bits
        starts = filled(tensor_type(i64, [digits]), 0, self.rewriter)
        zero = self._emitted(lambda: _ENTRIES.constant(0))

        def digit_of(entry: SSAValue) -> SSAValue:
            shifted = arith.ShRUIOp(entry, shift).result
            return index_of(arith.AndIOp(shifted, _ENTRIES.constant(digits - 1)).result)

        def tally(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            digit = [digit_of(_load(source, [i]))]
            more = _ENTRIES.add(_load(carried[0], digit), _ENTRIES.constant(1))
            return [_store(more, carried[0], digit)]

        def accumulate(digit: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            starts, before = carried
            own = _load(starts, [digit])
            return _store(before, starts, [digit]), _ENTRIES.add(before, own)

        def move(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            starts, into = carried
            entry = _load(source, [i])
            digit = [digit_of(entry)]
            place = _load(starts, digit)
            starts = _store(_ENTRIES.add(place, _ENTRIES.constant(1)), starts, digit)
            return starts, _store(entry, into, [index_of(place)])

        def steps() -> SSAValue:
            (counts,) = scalar_loop(count, [starts], tally)
            begins, _ = scalar_loop(INDICES.constant(digits), [counts, zero], accumulate)
            return scalar_loop(count, [begins, into], move)[1]

        return self._emitted(steps)

    def _visit(
        self, entry: SSAValue, kept: Sequence[SSAValue], chosen: SSAValue, number: SSAValue
    ) -> Sequence[SSAValue]:
        """
        The selected boxes, their indices and their number after a candidate.

        A selected box is stored in the lanes that follow its own too, so that blocks are always whole.
        """
        lanes, most = SEARCHES.kept_block, extent(self.op.most.get()[0], self.rewriter)
        index = self._emitted(lambda: index_of(_position(entry)))
        box = self._emitted(lambda: self._box(index))

        def blocks() -> SSAValue:
            open = INDICES.compare("lt", number, most)
            whole = arith.CeilDivSIOp(number, INDICES.constant(lanes)).result
            return INDICES.select(open, whole, INDICES.constant(0))

        def meet(block: SSAValue, hit: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [self._meet(block, hit[0], kept, box)]

        no = self._emitted(lambda: arith.ConstantOp.from_int_and_width(0, 1).result)
        (hit,) = counted_loop(self._emitted(blocks), [no], meet, self.rewriter)

        def times() -> SSAValue:
            room = INDICES.select(
                INDICES.compare("lt", number, most), INDICES.constant(1), INDICES.constant(0)
            )
            return INDICES.select(hit, INDICES.constant(0), room)

        def keep(_: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            *kept, chosen, number = carried
            stored = [self._spread(value, into, number) for value, into in zip(box, kept, strict=True)]
            chosen = self._emitted(lambda: _store(_position(entry), chosen, [*self.at, number]))
            return *stored, chosen, self._emitted(lambda: INDICES.add(number, INDICES.constant(1)))

        return counted_loop(self._emitted(times), [*kept, chosen, number], keep, self.rewriter)

    def _meet(
        self, block: SSAValue, hit: SSAValue, kept: Sequence[SSAValue], box: Sequence[SSAValue]
    ) -> SSAValue:
        """Whether the candidate overlaps a box of this block too much, or did so in an earlier one."""
        lanes, rewriter = SEARCHES.kept_block, self.rewriter
        first = self._emitted(lambda: INDICES.multiply(block, INDICES.constant(lanes)))
        overlap = self._emitted(lambda: _load(self.op.overlap, []))
        reads = [(layer_of(each, {0: first}, rewriter, {0: lanes}), projection(2, [1])) for each in kept]
        found = generic(
            reads,
            (filled(tensor_type(i1, [1]), 0, rewriter), projection(2, [0])),
            [PARALLEL, REDUCTION],
            lambda s: arith.OrIOp(s[-1], _overlaps(s[:-1], box, overlap)).result,
            rewriter,
        )
        return self._emitted(lambda: arith.OrIOp(hit, _load(found, [INDICES.constant(0)])).result)

    def _box(self, index: SSAValue) -> tuple[SSAValue, ...]:
        """The low y and x, the high y and x, and the area of a box."""
        numbers = [_load(self.op.boxes, [self.at[0], index, INDICES.constant(number)]) for number in range(4)]
        if bool(self.op.center):
            x, y, *sizes = numbers
            width, height = [_FLOATS.multiply(size, _FLOATS.constant(0.5)) for size in sizes]
            low = _FLOATS.subtract(y, height), _FLOATS.subtract(x, width)
            high = _FLOATS.add(y, height), _FLOATS.add(x, width)
        else:
            corners = list(zip(numbers[:2], numbers[2:], strict=True))
            low = tuple(_FLOATS.minimum(*pair) for pair in corners)
            high = tuple(_FLOATS.maximum(*pair) for pair in corners)
        height, width = map(_FLOATS.subtract, high, low)
        return *low, *high, _FLOATS.multiply(height, width)

    def _spread(self, number: SSAValue, into: SSAValue, first: SSAValue) -> SSAValue:
        """A vector with a number stored in a block from an index on."""
        piece = layer_of(into, {0: first}, self.rewriter, {0: SEARCHES.kept_block})
        piece = self.rewriter.insert(FillOp([number], [piece])).res[0]
        return with_layer(piece, into, {0: first}, self.rewriter)

    def _emitted(self, emit: Callable[[], Emitted]) -> Emitted:
        """The result of an emitter of scalar ops, inserted at the rewriter's insertion point."""
        return inserted(emit, self.rewriter)


def _overlaps(a: Sequence[SSAValue], b: Sequence[SSAValue], most: SSAValue) -> SSAValue:
    """Whether the area that two boxes share, over the area of their union, is above `most`; NaN is not."""
    zero = _FLOATS.constant(0)
    low = [_FLOATS.maximum(a[i], b[i]) for i in (0, 1)]
    high = [_FLOATS.minimum(a[i], b[i]) for i in (2, 3)]
    pairs = zip(high, low, strict=True)
    height, width = [_FLOATS.maximum(_FLOATS.subtract(above, below), zero) for above, below in pairs]
    shared = _FLOATS.multiply(height, width)
    union = _FLOATS.subtract(_FLOATS.add(a[4], b[4]), shared)
    above = _FLOATS.compare("gt", _FLOATS.divide(shared, union), most)
    return arith.AndIOp(above, _FLOATS.compare("gt", shared, zero)).result


def _entry(score: SSAValue, box: SSAValue) -> SSAValue:
    """
    A box of a score as an unsigned i64: entries ascend as scores descend, NaN last.

    Its upper half is the score's key, its lower half the index.
    """
    key = key_of(_FLOATS, _FLOATS.negate(score), largest=True)
    unsigned = arith.XOrIOp(key, _KEYS.constant(_KEYS.lowest())).result
    high = arith.ShLIOp(_KEYS.convert(unsigned, _ENTRIES), _ENTRIES.constant(_POSITION_BITS)).result
    return _ENTRIES.add(high, _ENTRIES.from_index(box))


def _position(entry: SSAValue) -> SSAValue:
    """The index of an entry's box."""
    return arith.AndIOp(entry, _ENTRIES.constant((1 << _POSITION_BITS) - 1)).result


def _load(source: SSAValue, at: Sequence[SSAValue]) -> SSAValue:
    """An element of a tensor."""
    element = tensor_of(source).element_type
    return tensor.ExtractOp.create(operands=[source, *at], result_types=[element]).results[0]


def _store(element: SSAValue, into: SSAValue, at: Sequence[SSAValue]) -> SSAValue:
    """A tensor with an element replaced."""
    return tensor.InsertOp.create(operands=[element, into, *at], result_types=[into.type]).results[0]
