"""Numbers of f32 in parts that tensor cores read, and the products of fragments of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.tensor_cores import TF32
from stepwell.dialects.ir_builder import Index, IRBuilder

_INFINITY, _UPPER_BITS = float("inf"), -0x2000


class Factor(NamedTuple):
    """A number of f32 in parts that tensor cores read."""

    high: SSAValue
    low: SSAValue
    """What `high` lacks, 0 where it is not finite."""
    cross: SSAValue
    """`high` for products with `low`: 0 where it is not finite, since 0 times infinity is NaN."""


def factor_of(at: IRBuilder, number: SSAValue, split: int) -> Factor:
    """The parts of a number; the first one alone where `split` is 1, and no more digits are asked for."""
    if split == 1:
        high = at.value(gpu.ToTf32Op(number))
        return Factor(high, high, high)
    zero, infinity = at.number(0, f32), at.number(_INFINITY, f32)
    rounded = at.value(gpu.ToTf32Op(number))
    # The largest numbers of f32 are rounded to infinity: their lower bits are cut off instead.
    is_infinite = at.compare("oeq", at.value(math.AbsFOp(rounded)), infinity)
    chosen = at.value(arith.SelectOp(is_infinite, number, rounded))
    bits = at.value(arith.BitcastOp(chosen, i32))
    upper = at.value(arith.AndIOp(bits, at.number(_UPPER_BITS, i32)))
    high = at.value(arith.BitcastOp(upper, f32))
    is_finite = at.compare("olt", at.value(math.AbsFOp(high)), infinity)
    rest = at.value(arith.SelectOp(is_finite, at.value(arith.SubfOp(number, high)), zero))
    cross = at.value(arith.SelectOp(is_finite, high, zero))
    return Factor(high, at.value(gpu.ToTf32Op(rest)), cross)


def fragment_totals(
    at: IRBuilder, a: Sequence[Factor], b: Sequence[Factor], totals: Sequence[SSAValue], split: int
) -> Sequence[SSAValue]:
    """A fragment after a product: of the small parts first, which a large total would cut off."""
    pairs = [([x.high for x in a], [y.high for y in b])]
    if split > 1:
        low = [x.low for x in a], [y.cross for y in b]
        pairs = [low, ([x.cross for x in a], [y.low for y in b]), *pairs]
    for first, second in pairs:
        totals = at.insert(gpu.MmaSyncOp(TF32, first, second, totals)).totals
    return totals


def load_matrices(at: IRBuilder, memory: SSAValue, place: Sequence[Index], count: int) -> Sequence[SSAValue]:
    """The thread's elements of matrices in memory of the block, of which it names the place of a row."""
    return at.insert(gpu.LdmatrixOp(memory, [at.materialize(index) for index in place], count)).parts
