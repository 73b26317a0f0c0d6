"""Transposing a block of elements in registers, by shuffles of pairs of vectors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.transfers import element_type, vector_of, vector_type
from stepwell.dialects.types import element_bytes

# Registers are made of parts of 16 bytes: shuffles inside them, and of whole ones, are single instructions.
_PART_BYTES = 16


def transposed(emit: IRBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The columns of a block whose rows are vectors.

    First blocks inside parts of 16 bytes are transposed, each round interleaving two vectors, then the parts
    themselves. Rows that are missing to a power of two are the last one again.

    ```mlir
    %0 = vector.shuffle %r0, %r2 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
    %1 = vector.shuffle %r1, %r3 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
    %column0 = vector.shuffle %0, %1 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
    ```
    """
    count, (width,) = len(rows), vector_of(rows[0]).get_shape()
    size = 1 << (max(count, width) - 1).bit_length()
    square = [_lanes(emit, row, range(width), size) for row in rows]
    square += square[-1:] * (size - count)
    part = min(size, _PART_BYTES // element_bytes(element_type(rows[0].type)))
    groups = [_by_interleaving(emit, square[i : i + part]) for i in range(0, size, part)]
    by_column = [_by_parts(emit, [group[c] for group in groups], part) for c in range(part)]
    columns = [by_column[i % part][i // part] for i in range(width)]
    return [_lanes(emit, column, range(count), count) for column in columns]


def _by_interleaving(emit: IRBuilder, rows: list[SSAValue]) -> list[SSAValue]:
    """Transpose the square blocks in the parts of registers: column `c` of each part, for all `c`."""
    part = len(rows)
    for _ in range(part.bit_length() - 1):
        pairs = zip(rows[: part // 2], rows[part // 2 :], strict=True)
        rows = [_interleaved(emit, a, b, part, upper) for a, b in pairs for upper in (0, 1)]
    return rows


def _interleaved(emit: IRBuilder, a: SSAValue, b: SSAValue, part: int, upper: int) -> SSAValue:
    """The lower or upper halves of all parts, an element of `a`, then one of `b`."""
    (size,) = vector_of(a).get_shape()
    firsts = [start + upper * part // 2 + i for start in range(0, size, part) for i in range(part // 2)]
    return shuffle(emit, a, b, [lane + k * size for lane in firsts for k in (0, 1)])


def _by_parts(emit: IRBuilder, values: list[SSAValue], part: int) -> list[SSAValue]:
    """Transpose parts: the first ones of all values, the second ones, and so on."""
    count = len(values)
    for _ in range(count.bit_length() - 1):
        pairs = list(zip(values[::2], values[1::2], strict=True))
        values = [_every_other(emit, a, b, part, odd) for odd in (0, 1) for a, b in pairs]
    return values


def _every_other(emit: IRBuilder, a: SSAValue, b: SSAValue, part: int, odd: int) -> SSAValue:
    """The parts of even or odd numbers of two values."""
    (size,) = vector_of(a).get_shape()
    firsts = range(odd * part, 2 * size, 2 * part)
    return shuffle(emit, a, b, [first + i for first in firsts for i in range(part)])


def _lanes(emit: IRBuilder, value: SSAValue, lanes: Sequence[int], size: int) -> SSAValue:
    """A vector of `size` lanes that begins with the given lanes of another; the other lanes are arbitrary."""
    if vector_of(value).get_shape() == (size,):
        return value
    return shuffle(emit, value, value, [*lanes, *[0] * (size - len(lanes))])


def shuffle(emit: IRBuilder, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
    """A `vector.shuffle` of two vectors; `mask` numbers the lanes of `a`, then those of `b`."""
    type = vector_type(element_type(a.type), (len(mask),))
    op = vector.ShuffleOp.create(
        operands=[a, b], result_types=[type], properties={"mask": DenseArrayBase.from_list(i64, list(mask))}
    )
    return emit.value(op)


def assembled(emit: IRBuilder, sources: Sequence[SSAValue], lanes: Sequence[int]) -> SSAValue:
    """
    A vector assembled from lanes of several vectors of equal size, numbered through all of them in order.

    From three or more vectors, as many lanes as each of them has.
    """
    (size,) = vector_of(sources[0]).get_shape()
    first, *others = sorted({lane // size for lane in lanes})
    value, at = sources[first], [lane % size if lane // size == first else 0 for lane in lanes]
    if not others:
        return value if at == list(range(size)) else shuffle(emit, value, value, at)
    for number in others:
        mask = [
            size + lane % size if lane // size == number else i for lane, i in zip(lanes, at, strict=True)
        ]
        value, at = shuffle(emit, value, sources[number], mask), list(range(len(lanes)))
    return value
