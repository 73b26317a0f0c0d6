"""Products with weights of a few bits, for many rows: weights in memory for some columns and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import projection, tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.passes.tensor.forms.nbits_registers import as_floats, code_at
from stepwell.passes.tensor.forms.structured_ops import computed, filled, plus, times
from stepwell.runtime.meaning.packed_codes import codes_in_element

Carried: TypeAlias = Sequence[SSAValue]


def nbits_by_panels(op: MatmulNbitsOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.for` over groups of strips, strips of columns, and parts of the steps around a `linalg.generic`.

    ```mlir
    scf.for %group … {                                   // parallel
      scf.for %strip … {
        scf.for %step … {
          %w = scf.for %block … { scf.for %e … { … } }   // weights of `depth` steps and a strip's columns
          %z = linalg.generic … ins(%x, %w) …            // added to the columns of the strip
        }
      }
    }
    ```
    A strip is a part of a panel, as wide as the panels of products of floats.
    """
    return all_by_panels(emit, op, sizes, op.init)


def all_by_panels(emit: IRBuilder, op: MatmulNbitsOp, sizes: Mapping[str, int], y: SSAValue) -> SSAValue:
    """The tensor `y` with the product written: whole strips by groups, then one that has fewer columns."""
    columns, groups = sizes["columns"], sizes["groups"]
    whole, rest = divmod(op.columns, columns)
    share = -(-whole // groups)

    def one_strip(emit: IRBuilder, number: SSAValue, carried: Carried) -> Carried:
        return [_Strip.of(emit, op, sizes, number, columns).run(emit, carried[0])]

    def one_group(emit: IRBuilder, group: SSAValue, carried: Carried) -> Carried:
        first = emit.times(group, share)
        last = emit.least(emit.plus(first, share), whole)
        return emit.loop(first, last, 1, carried, one_strip)

    if whole:
        (y,) = emit.loop(0, groups, 1, [y], one_group, parallel=True)
    if rest:
        y = _Strip.of(emit, op, sizes, emit.materialize(whole), rest).run(emit, y)
    return y


@dataclass(frozen=True)
class _Strip:
    """Emits the product of all rows with `width` columns, from `first` on in a panel."""

    op: MatmulNbitsOp
    depth: int
    columns: int
    """Those of a strip that is whole."""
    width: int
    panel: SSAValue
    first: SSAValue

    @staticmethod
    def of(
        emit: IRBuilder, op: MatmulNbitsOp, sizes: Mapping[str, int], number: SSAValue, width: int
    ) -> _Strip:
        """The strip of a number: panels have as many strips each."""
        depth, columns = sizes["depth"], sizes["columns"]
        strips = tensor_shape(op.codes)[-1] // columns
        panel = emit.materialize(emit.quotient(number, strips))
        first = emit.times(emit.remainder(number, strips), columns)
        return _Strip(op, depth, columns, width, panel, emit.materialize(first))

    def run(self, emit: IRBuilder, y: SSAValue) -> SSAValue:
        """The tensor `y` with the columns of the strip written."""
        steps, rows = self.op.steps, dim_size(emit, self.op.init, 0)
        first = emit.plus(emit.times(self.panel, tensor_shape(self.op.codes)[-1]), self.first)
        block = Slice((0, first), (rows, self.width), (1, 1))
        sums = filled(emit, extract_slice(emit, y, block), 0)
        scratch = emit.empty(f32, [self.depth, self.columns])
        whole, rest = divmod(steps, self.depth)

        def one_part(emit: IRBuilder, part: SSAValue, carried: Carried) -> Carried:
            return [self._added(emit, emit.times(part, self.depth), self.depth, carried[0], scratch)]

        # A loop even if it runs once: else tiles of a second product would each compute the first one.
        if whole == 1 and not rest:
            (sums,) = one_part(emit, emit.materialize(0), [sums])
        elif whole:
            (sums,) = emit.loop(0, whole, 1, [sums], one_part)
        if rest:
            sums = self._added(emit, whole * self.depth, rest, sums, scratch)
        return insert_slice(emit, sums, y, block)

    def _added(
        self, emit: IRBuilder, first: Index, steps: int, sums: SSAValue, scratch: SSAValue
    ) -> SSAValue:
        """The sums so far plus the products of some steps."""
        weights = self._weights(emit, first, steps, scratch)
        rows = dim_size(emit, self.op.init, 0)
        weights = extract_slice(emit, weights, Slice((0, 0), (steps, self.width), (1, 1)))
        x = extract_slice(emit, self.op.x, Slice((0, first), (rows, steps), (1, 1)))
        reads = [(x, projection(3, [0, 2])), (weights, projection(3, [2, 1]))]
        return computed(
            emit, reads, (sums, projection(3, [0, 1])), lambda e, s: plus(e, s[2], times(e, s[0], s[1])), 1
        )

    def _weights(self, emit: IRBuilder, first: Index, steps: int, scratch: SSAValue) -> SSAValue:
        """The scratch memory with the weights of some steps, rounded up to whole blocks."""
        block, bits = self.op.block.value.data, self.op.bits.value.data
        each = codes_in_element(bits)
        before = emit.quotient(first, block)
        zero = emit.materialize(0)

        def one_block(emit: IRBuilder, number: SSAValue, carried: Carried) -> Carried:
            at = emit.materialize(emit.plus(number, before))
            scale = self._parameter(emit, self.op.scales, at)
            points = self._points(emit, at)

            def one_element(emit: IRBuilder, step: SSAValue, carried: Carried) -> Carried:
                (made,) = carried
                place = emit.materialize(emit.plus(emit.times(at, block // each), step))
                codes = self._parameter(emit, self.op.codes, place)
                row = emit.plus(emit.times(number, block), emit.times(step, each))
                for k in range(each):
                    code = code_at(emit, codes, k, bits, in_place=False)
                    weight = times(emit, emit.value(arith.SubfOp(code, points)), scale)
                    made = write(emit, weight, made, [emit.materialize(emit.plus(row, k)), zero], (1,))
                return [made]

            return emit.loop(0, block // each, 1, carried, one_element)

        return emit.loop(0, -(-steps // block), 1, [scratch], one_block)[0]

    def _points(self, emit: IRBuilder, block: SSAValue) -> SSAValue:
        """The zero points of a block as floats, a lane for each column."""
        if self.op.zero_points is None:
            type = vector_type(f32, (self.columns,))
            return emit.number(float(1 << self.op.bits.value.data - 1), type)
        return as_floats(emit, self._parameter(emit, self.op.zero_points, block))

    def _parameter(self, emit: IRBuilder, source: SSAValue, place: SSAValue) -> SSAValue:
        """Codes of an element, or scales or zero points of a block: a lane for each column of the strip."""
        type = vector_type(tensor_element(source), (self.columns,))
        return read(emit, source, [self.panel, place, self.first], type, (2,))
