"""
Zero padding of feature maps: the steps of a sum that read only padding are left out.

A part of `tile-and-fuse`, which calls `steps_inside` for the bounds of the loop of a sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, TypeAlias

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.costs.schedules import PRODUCTS
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.combiners import combiner_of
from stepwell.dialects.tensor_ir.groups import is_empty
from stepwell.dialects.tensor_ir.memory import slice_offsets
from stepwell.dialects.tensor_ir.structured import Structured, linear, tensor_shape

Inside: TypeAlias = Mapping[int, tuple[int, int]]
"""Maps each zero-padded dimension of a tensor to the begin and end of the unpadded indices."""


@dataclass(frozen=True)
class PaddedTensors:
    """The zero-padded tensors of a kernel, also their expanded views, with the extent of their contents."""

    name: ClassVar[str] = "padded-tensors"

    inside: Mapping[SSAValue, Inside]

    @classmethod
    def of(cls, op: Operation) -> PaddedTensors:
        """The padded tensors of a function; an op of another class has none."""
        return cls(_padded_tensors(op) if isinstance(op, FuncOp) else {})


def _padded_tensors(func: FuncOp) -> Mapping[SSAValue, Inside]:
    found: dict[SSAValue, Inside] = {}
    for op in func.body.block.ops:
        if isinstance(op, tensor.InsertSliceOp) and _is_zero_around(op):
            block = zip(op.static_offsets.get_values(), op.static_sizes.get_values(), strict=True)
            found[op.result] = {
                d: (start, start + size)
                for d, ((start, size), whole) in enumerate(zip(block, tensor_shape(op.result), strict=True))
                if DYNAMIC_INDEX not in (start, size, whole) and size < whole
            }
        elif isinstance(op, tensor.ExpandShapeOp) and op.src in found:
            groups = [[i.value.data for i in group] for group in op.reassociation]
            found[op.result] = {
                groups[d][0]: (start // step, end // step)
                for d, (start, end) in found[op.src].items()
                if (step := _step(op.result, groups[d])) and start % step == end % step == 0
            }
    return found


def _step(value: SSAValue, group: Sequence[int]) -> int:
    """The stride, in elements of the merged dimension, of the first of a group; 0 when it is not static."""
    inner = [tensor_shape(value)[d] for d in group[1:]]
    return 0 if DYNAMIC_INDEX in inner else prod(inner)


def _is_zero_around(op: tensor.InsertSliceOp) -> bool:
    """Whether an insertion goes into a tensor that, as far as it is written, is zeros."""
    dest = op.dest
    while True:
        match dest.owner:
            case tensor.InsertSliceOp() as part if _is_zeros(part.source):
                dest = part.dest
            case tensor.CollapseShapeOp() | tensor.ExpandShapeOp() as view:
                dest = view.src
            case _:
                break
    is_whole = len(tensor_shape(op.source)) == len(tensor_shape(op.dest))
    return (is_empty(dest) or _is_zeros(dest)) and is_whole and set(op.static_strides.get_values()) == {1}


def _is_zeros(value: SSAValue) -> bool:
    if not isinstance(fill := value.owner, linalg.FillOp):
        return False
    number = fill.inputs[0].owner
    attr = number.value if isinstance(number, arith.ConstantOp) else None
    return isinstance(attr, FloatAttr | IntegerAttr) and attr.value.data == 0


def steps_inside(
    emit: IRBuilder, view: Structured, dim: int, padded: Mapping[SSAValue, Inside]
) -> tuple[Index, Index] | None:
    """
    The bounds (first, end) of a summed loop without steps that read only padding; None where none may be.

    They are the same for the whole op, such as a tile of the pixels of a row: for the first row of a feature
    map, the first row of a filter reads zeros only, which add nothing to a sum of products. Columns of a
    filter do so where a tile is narrower than the padding.
    """
    for operand in _factors(view):
        value = view.inputs[operand]
        if not isinstance(cut := value.owner, tensor.ExtractSliceOp) or cut.source not in padded:
            continue
        for position, (begin, end) in padded[cut.source].items():
            index = linear(view.maps[operand].results[position])
            if index is None or (extent := view.extents[dim]) is None:
                continue
            factor, stride = dict(index.terms).get(dim, 0), cut.static_strides.get_values()[position]
            reach = _reach(view, [term for term in index.terms if term[0] != dim])
            after = tensor_shape(cut.source)[position] - end
            # Padding narrower than a tile is not worth bounds that are computed at run time.
            if factor <= 0 or reach is None or max(begin, after) <= reach * stride:
                continue
            start = emit.plus(slice_offsets(cut)[position], index.constant * stride)
            step = factor * stride
            return _first_from(emit, start, begin - reach * stride, step), emit.least(
                extent, _first_from(emit, start, end, step)
            )
    return None


def share_inside(view: Structured, operand: int, row: int, inside: Inside) -> float:
    """The share of the reads of a short row loop, over all steps of its window, that are not padding."""
    for position, (begin, end) in inside.items():
        index = linear(view.maps[operand].results[position])
        terms = dict(index.terms) if index is not None else {}
        points = [d for d in terms if not view.parallel[d]]
        rows = view.extents[row]
        if index is None or row not in terms or len(points) != 1 or rows is None:
            continue
        if rows > PRODUCTS.padded_rows:
            continue
        step, count = terms[points[0]], view.extents[points[0]] or 1
        seen = [
            index.constant + terms[row] * at + step * point for at in range(rows) for point in range(count)
        ]
        return sum(begin <= index < end for index in seen) / len(seen)
    return 1


def _reach(view: Structured, terms: Sequence[tuple[int, int]]) -> int | None:
    """The range by which some loops move an index; None for negative coefficients or unknown extents."""
    extents = [view.extents[d] for d, _ in terms]
    if any(factor < 0 for _, factor in terms) or None in extents:
        return None
    return sum((n - 1) * factor for n, (_, factor) in zip(extents, terms, strict=True) if n is not None)


def _first_from(emit: IRBuilder, start: Index, bound: int, step: int) -> Index:
    """The smallest n >= 0 with `start + n * step >= bound`."""
    return emit.quotient(emit.plus(emit.most(emit.minus(bound, start), 0), step - 1), step)


def _factors(view: Structured) -> list[int]:
    """The numbers of the inputs that are direct factors of the product that an op sums up."""
    combiner = combiner_of(view.body) if len(view.inits) == 1 else None
    if combiner is None or combiner.kind is not CombiningKindFlag.ADD:
        return []
    product = combiner.value.owner
    if not isinstance(product, arith.MulfOp | arith.MuliOp):
        return []
    args: list[SSAValue] = list(view.body.args[: len(view.inputs)])
    return [args.index(v) for v in product.operands if v in args]
