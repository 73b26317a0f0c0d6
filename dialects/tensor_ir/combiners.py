"""Combiners of reductions: the binary operation, its neutral element, and reductions of vectors by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.arith import (
    FastMathFlagsAttr,
    FloatingPointLikeBinaryOperation,
    SignlessIntegerBinaryOperation,
)
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.dialects.utils import FastMathFlag
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from stepwell.dialects.arith import SelectOp
from stepwell.dialects.costs.schedules import VECTORS
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.transfers import element_type, vector_of

_BinaryType: TypeAlias = type[FloatingPointLikeBinaryOperation] | type[SignlessIntegerBinaryOperation]

_INFINITY = float("inf")
_REASSOCIATE = FastMathFlagsAttr([FastMathFlag.REASSOC])
_NO_FLAGS = FastMathFlagsAttr("none")
_REASSOCIATE_NUMBERS = FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.NO_NANS])


@dataclass(frozen=True)
class _Kind:
    flag: CombiningKindFlag
    neutral: Callable[[int], float]
    """The neutral element for a bit width (which only integers ask for)."""


_KINDS: dict[_BinaryType, _Kind] = {
    arith.AddfOp: _Kind(CombiningKindFlag.ADD, lambda _: 0),
    arith.AddiOp: _Kind(CombiningKindFlag.ADD, lambda _: 0),
    arith.MulfOp: _Kind(CombiningKindFlag.MUL, lambda _: 1),
    arith.MuliOp: _Kind(CombiningKindFlag.MUL, lambda _: 1),
    arith.MaximumfOp: _Kind(CombiningKindFlag.MAXIMUMF, lambda _: -_INFINITY),
    arith.MinimumfOp: _Kind(CombiningKindFlag.MINIMUMF, lambda _: _INFINITY),
    arith.MaxnumfOp: _Kind(CombiningKindFlag.MAXNUMF, lambda _: -_INFINITY),
    arith.MinnumfOp: _Kind(CombiningKindFlag.MINNUMF, lambda _: _INFINITY),
    arith.MaxSIOp: _Kind(CombiningKindFlag.MAXSI, lambda bits: -(1 << bits - 1)),
    arith.MinSIOp: _Kind(CombiningKindFlag.MINSI, lambda bits: (1 << bits - 1) - 1),
    arith.MaxUIOp: _Kind(CombiningKindFlag.MAXUI, lambda _: 0),
    arith.MinUIOp: _Kind(CombiningKindFlag.MINUI, lambda _: -1),
    arith.AndIOp: _Kind(CombiningKindFlag.AND, lambda _: -1),
    arith.OrIOp: _Kind(CombiningKindFlag.OR, lambda _: 0),
    arith.XOrIOp: _Kind(CombiningKindFlag.XOR, lambda _: 0),
}


@dataclass(frozen=True)
class Combiner:
    """A body `accumulator = op(accumulator, value)`."""

    op: Operation
    value: SSAValue
    kind: CombiningKindFlag
    neutral: float
    """The neutral element (-0.0 aside, which a sum that starts at 0.0 cannot return)."""


def combiner_of(body: Block) -> Combiner | None:
    """The combiner of the body of a structured op with one result; None for any other body."""
    last = body.last_op
    if last is None or len(last.operands) != 1:
        return None
    result, accumulator = last.operands[0], body.args[-1]
    if not isinstance(result, OpResult):
        return None
    op = result.op
    kind = next((k for known, k in _KINDS.items() if isinstance(op, known)), None)
    if kind is None or op.parent is not body or not accumulator.has_one_use():
        return None
    values = [operand for operand in op.operands if operand is not accumulator]
    if len(values) != 1:
        return None
    return Combiner(op, values[0], kind.flag, kind.neutral(_bits(accumulator.type)))


def _bits(type: Attribute) -> int:
    return cast(IntegerType, type).width.data if isinstance(type, IntegerType) else 64


_ELEMENTWISE = {
    (kind.flag, issubclass(op, FloatingPointLikeBinaryOperation)): op for op, kind in _KINDS.items()
}


# The kinds that ignore NaN, with the kinds that give the same for numbers.
_OF_NUMBERS = {
    CombiningKindFlag.MAXNUMF: CombiningKindFlag.MAXIMUMF,
    CombiningKindFlag.MINNUMF: CombiningKindFlag.MINIMUMF,
}


# The kinds whose result is NaN if an operand is, with the comparison that chooses the first of two numbers.
_NAN_WINS = {CombiningKindFlag.MAXIMUMF: "ogt", CombiningKindFlag.MINIMUMF: "olt"}


def _neutral(emit: IRBuilder, kind: CombiningKindFlag, value: SSAValue) -> SSAValue:
    element = element_type(value.type)
    number = next(k.neutral(_bits(element)) for k in _KINDS.values() if k.flag is kind)
    return emit.number(number, element)


def reduce_vectors(
    emit: IRBuilder, kind: CombiningKindFlag, vectors: Sequence[SSAValue], start: SSAValue
) -> SSAValue:
    """
    Reduce all lanes of vectors (the last one may be narrower) and a scalar to one value.

    Kinds that ignore NaN drop it before the lanes are combined, in a tree without tests for it. Kinds that
    return NaN test for it beside the numbers, by one comparison for two vectors.
    """
    if kind in _NAN_WINS and (whole := [v for v in vectors if _has_mask(v)]):
        start = combined(emit, kind, start, _extremum(emit, kind, whole))
        vectors = [v for v in vectors if not _has_mask(v)]
    # Vectors of one type are combined lane by lane; without NaN, these start from the neutral element.
    by_type: dict[Attribute, SSAValue] = {}
    of_numbers = _OF_NUMBERS.get(kind)
    for value in vectors:
        known = by_type.get(value.type)
        if known is None and of_numbers is not None:
            known = emit.value(vector.BroadcastOp(_neutral(emit, of_numbers, value), vector_of(value)))
        by_type[value.type] = value if known is None else combined(emit, kind, known, value)
    for value in by_type.values():
        # Any order of the lanes will do: the vectors were summed lane by lane already.
        flags = _REASSOCIATE if of_numbers is None else _REASSOCIATE_NUMBERS
        start = combined(emit, kind, start, _all_lanes(emit, of_numbers or kind, value, flags))
    return start


def _has_mask(value: SSAValue) -> bool:
    """Whether the lanes are a power of two, at least 4, so that a comparison of all is tested at once."""
    lanes = prod(vector_of(value).get_shape())
    return lanes >= VECTORS.mask_lanes and lanes & (lanes - 1) == 0


def _extremum(emit: IRBuilder, kind: CombiningKindFlag, vectors: Sequence[SSAValue]) -> SSAValue:
    """
    The maximum or minimum of all lanes; NaN if a lane is NaN.

    The vector operation needs three dependent instructions. Here a comparison and a selection, which are one
    instruction, find the extremum of numbers.
    """
    by_type: dict[Attribute, list[SSAValue]] = {}
    for value in vectors:
        by_type.setdefault(value.type, []).append(value)

    def better(a: SSAValue, b: SSAValue) -> SSAValue:
        return emit.value(SelectOp(emit.compare(_NAN_WINS[kind], a, b), a, b))

    def either(a: SSAValue, b: SSAValue) -> SSAValue:
        return emit.value(arith.OrIOp(a, b))

    # For each vector type: the extremum of numbers, and whether any lane is NaN.
    best: list[SSAValue] = []
    nans: list[SSAValue] = []
    for group in by_type.values():
        best.append(_all_lanes(emit, kind, _in_pairs(group, better), _REASSOCIATE_NUMBERS))
        pairs = zip(group[::2], [*group[1::2], group[-1]], strict=False)
        seen = [emit.compare("uno", a, b) for a, b in pairs]
        nans.append(_all_lanes(emit, CombiningKindFlag.OR, _in_pairs(seen, either), _NO_FLAGS))
    element = element_type(vectors[0].type)
    nan = emit.number(float("nan"), element)
    return emit.value(SelectOp(_in_pairs(nans, either), nan, _in_pairs(best, better)))


def _in_pairs(values: Sequence[SSAValue], combine: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
    """All values combined in a balanced tree, which has the shortest chain of dependent ops."""
    left = list(values)
    while len(left) > 1:
        rest = left[len(left) // 2 * 2 :]
        left = [combine(a, b) for a, b in zip(left[::2], left[1::2], strict=False)] + rest
    return left[0]


def _all_lanes(
    emit: IRBuilder, kind: CombiningKindFlag, value: SSAValue, flags: FastMathFlagsAttr
) -> SSAValue:
    """The reduction of a vector's lanes to a scalar (`vector.reduction`)."""
    properties = {"kind": vector.CombiningKindAttr(kind), "fastmath": flags}
    return emit.value(
        vector.ReductionOp.create(
            operands=[value], result_types=[element_type(value.type)], properties=properties
        )
    )


def combined(emit: IRBuilder, kind: CombiningKindFlag, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    op_type = _ELEMENTWISE[kind, isinstance(element_type(lhs.type), AnyFloat)]
    return emit.value(op_type(lhs, rhs))
