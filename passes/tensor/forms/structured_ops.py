"""Structured ops inside the loops of forms: from maps and bodies, with schedules of their own later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.structured import generic, projection, tensor_element

Read: TypeAlias = tuple[SSAValue, AffineMap]
"""An operand of a structured op and its index map: from loops to its dimensions."""
Body: TypeAlias = Callable[[IRBuilder, Sequence[SSAValue]], SSAValue]
"""Emits a structured op's body: from an element of each operand and the init's old one to the new one."""
_PARALLEL, _REDUCTION = IteratorTypeAttr.parallel(), IteratorTypeAttr.reduction()


def computed(emit: IRBuilder, reads: Sequence[Read], write: Read, body: Body, sums: int = 0) -> SSAValue:
    """A `linalg.generic` whose last `sums` loops are reductions."""
    operands = [*reads, write]
    block = Block(arg_types=[tensor_element(value) for value, _ in operands])
    inside = IRBuilder.at_end(block)
    inside.insert(YieldOp(body(inside, block.args)))
    maps = [map for _, map in operands]
    loops = [*[_PARALLEL] * (maps[-1].num_dims - sums), *[_REDUCTION] * sums]
    return emit.value(generic([value for value, _ in reads], [write[0]], Region(block), maps, loops))


def plus_product(emit: IRBuilder, scalars: Sequence[SSAValue]) -> SSAValue:
    """A sum plus the product of two factors, of (factor, factor, sum)."""
    return plus(emit, scalars[2], times(emit, scalars[0], scalars[1]))


def sum_of_products(
    emit: IRBuilder,
    reads: tuple[Read, Read],
    element: Attribute,
    sizes: Sequence[Index],
    sums: int,
    body: Body = plus_product,
) -> SSAValue:
    """Sums of products of floats over the last `sums` loops, in a tensor indexed by the other ones."""
    rank = len(sizes)
    init = filled(emit, emit.empty(element, sizes), 0)
    return computed(emit, reads, (init, projection(rank + sums, range(rank))), body, sums)


def filled(emit: IRBuilder, tensor: SSAValue, number: float) -> SSAValue:
    """A tensor with a number everywhere, which overwrites `tensor`."""
    return emit.value(FillOp([emit.number(number, tensor_element(tensor))], [tensor]))


def plus(emit: IRBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The sum of two floats."""
    return emit.value(arith.AddfOp(a, b))


def times(emit: IRBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The product of two floats."""
    return emit.value(arith.MulfOp(a, b))
