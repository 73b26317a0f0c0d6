"""Copies of operands without the elements that a product skips."""

from __future__ import annotations

from itertools import groupby

from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.reshapes import collapse, expand
from stepwell.dialects.tensor_ir.structured import Structured, generic, linear, tensor_element
from stepwell.dialects.tensor_ir.tiles import dim_size


def gapless_copy(view: Structured, operand: int, emit: IRBuilder) -> tuple[SSAValue, AffineMap] | None:
    """
    A copy of the elements that are read of an operand with gaps in two neighbouring dimensions, and its map.

    `collapse-loops` can merge these dimensions in readers of the copy: it is reshaped to the merged shape and
    back, since its own loops stay separate. None for operands without such gaps, or with windows.
    """
    value, map = view.inputs[operand], view.maps[operand]
    terms = [term for index in map.results if (term := _single_term(view, index)) is not None]
    loops = [loop for loop, _ in terms]
    if len(terms) < len(map.results) or len(set(loops)) < len(loops):
        return None
    merged: list[list[int]] = []
    for has_gaps, group in groupby(range(len(terms)), lambda at: terms[at][1] > 1):
        members = list(group)
        merged += [members] if has_gaps else [[at] for at in members]
    if len(merged) == len(terms) or any(view.extents[d] is None for d, factor in terms if factor > 1):
        return None
    # An elementwise op that reads with gaps and writes without.
    extents = enumerate(view.extents[loop] for loop in loops)
    sizes = [dim_size(emit, value, at) if n is None else n for at, n in extents]
    element, rank = tensor_element(value), len(terms)
    block = Block(arg_types=[element, element])
    block.add_op(linalg.YieldOp(block.args[0]))
    read = AffineMap(rank, 0, tuple(_scaled(at, factor) for at, (_, factor) in enumerate(terms)))
    maps, iterators = [read, AffineMap.identity(rank)], [IteratorTypeAttr.parallel()] * rank
    copy = emit.value(generic([value], [emit.empty(element, sizes)], Region(block), maps, iterators))
    reshaped = expand(emit, collapse(emit, copy, merged), copy, merged)
    return reshaped, AffineMap(map.num_dims, 0, tuple(AffineExpr.dimension(loop) for loop in loops))


def _scaled(dim: int, factor: int) -> AffineExpr:
    index = AffineExpr.dimension(dim)
    return index * factor if factor > 1 else index


def _single_term(view: Structured, index: AffineExpr) -> tuple[int, int] | None:
    """The only loop of several iterations that moves an index, and its coefficient; None without one."""
    terms = linear(index)
    if terms is None or terms.constant or not terms.terms:
        return None
    long = [term for term in terms.terms if view.extents[term[0]] != 1]
    if len(long) > 1:
        return None
    return long[0] if long else (terms.terms[0][0], 1)
