"""A view of structured ops for scheduling and tiling: loops, extents, and index maps of operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr, DenseArrayBase, TensorType, i32
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from stepwell.dialects.sched import Schedule
from stepwell.dialects.types import Tensor, element_bytes, tensor_of


@dataclass(frozen=True)
class Linear:
    """An index `constant + sum(coefficient * loop)`."""

    terms: tuple[tuple[int, int], ...]
    """(loop, coefficient) by ascending loop, no coefficient is 0."""
    constant: int

    @property
    def dims(self) -> tuple[int, ...]:
        """The loops that move the index."""
        return tuple(d for d, _ in self.terms)


@lru_cache(maxsize=4096)
def linear(expr: AffineExpr) -> Linear | None:
    """An index expression as a linear sum of loops; None for divisions and remainders."""
    match expr:
        case AffineDimExpr():
            return Linear(((expr.position, 1),), 0)
        case AffineConstantExpr():
            return Linear((), expr.value)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            lhs, rhs = linear(expr.lhs), linear(expr.rhs)
            if lhs is None or rhs is None:
                return None
            return _sum(lhs, rhs)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
            lhs, rhs = linear(expr.lhs), linear(expr.rhs)
            if lhs is None or rhs is None or (lhs.terms and rhs.terms):
                return None
            factor, scaled = (lhs, rhs) if rhs.terms else (rhs, lhs)
            return _sum(Linear((), 0), scaled, factor.constant)
        case _:
            return None


def _sum(lhs: Linear, rhs: Linear, factor: int = 1) -> Linear:
    terms = dict(lhs.terms)
    for dim, coefficient in rhs.terms:
        terms[dim] = terms.get(dim, 0) + coefficient * factor
    return Linear(tuple(sorted((d, c) for d, c in terms.items() if c)), lhs.constant + rhs.constant * factor)


def single_dim(expr: AffineExpr) -> int | None:
    """The loop of an index expression that is a single loop; None for any other expression."""
    return expr.position if isinstance(expr, AffineDimExpr) else None


def projection(rank: int, loops: Sequence[int]) -> AffineMap:
    """The index map of an operand that is indexed by some of the loops."""
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(loop) for loop in loops))


def map_dims(map: AffineMap) -> set[int]:
    """The loops that move an operand."""
    return set[int]().union(*dims_by_result(map))


def dims_by_result(map: AffineMap) -> list[set[int]]:
    """The loops in each index expression."""
    return [{e.position} if isinstance(e, AffineDimExpr) else e.used_dims() for e in map.results]


def projected_permutation(map: AffineMap) -> tuple[int, ...] | None:
    """The loop of each dimension of an operand, if each is indexed by a single, distinct loop; else None."""
    dims = tuple(single_dim(e) for e in map.results)
    if None in dims or len(set(dims)) != len(dims):
        return None
    return cast(tuple[int, ...], dims)


@dataclass(frozen=True, eq=False)
class Structured:
    """
    A `linalg.generic` or `linalg.fill` on tensors: loops, and a map from them to the indices of each operand.

    A fill is seen as a generic with one parallel loop for each dimension.
    """

    op: linalg.GenericOp | linalg.FillOp
    maps: tuple[AffineMap, ...]
    """One for each operand, inputs first."""
    parallel: tuple[bool, ...]
    """One for each loop: whether its iterations are independent."""

    @staticmethod
    def of(op: Operation) -> Structured | None:
        """The view of an op; None when it is no structured op on tensors."""
        if isinstance(op, linalg.GenericOp):
            if not op.results or any(m.data.num_symbols for m in op.indexing_maps):
                return None
            kinds = tuple(t.data == IteratorType.PARALLEL for t in op.iterator_types)
            return Structured(op, tuple(m.data for m in op.indexing_maps), kinds)
        if isinstance(op, linalg.FillOp) and op.res:
            rank = len(tensor_shape(op.res[0]))
            return Structured(op, (AffineMap(rank, 0, ()), AffineMap.identity(rank)), (True,) * rank)
        return None

    @property
    def rank(self) -> int:
        """The number of loops."""
        return len(self.parallel)

    @property
    def inputs(self) -> Sequence[SSAValue]:
        """The operands that are read only."""
        return self.op.inputs

    @property
    def inits(self) -> Sequence[SSAValue]:
        """The operands that the results start from."""
        return self.op.outputs

    @property
    def init_maps(self) -> tuple[AffineMap, ...]:
        """The maps of the inits, which are those of the results."""
        return self.maps[len(self.op.inputs) :]

    @property
    def body(self) -> Block:
        """The scalar computation: one argument for each operand."""
        return self.op.body.block

    @cached_property
    def extents(self) -> tuple[int | None, ...]:
        """The trip count of each loop; None when it is known at run time only."""
        return tuple(
            None if source is None else _static(tensor_shape(source[0])[source[1]]) for source in self.sources
        )

    @cached_property
    def sources(self) -> tuple[tuple[SSAValue, int] | None, ...]:
        """Maps each loop to an (operand, dimension) pair of its extent; static dimensions are preferred."""
        found: list[tuple[SSAValue, int] | None] = [None] * self.rank
        static: set[int] = set()
        # Results first: their sizes are operands of a `tensor.empty`.
        operands = [*zip(self.inits, self.init_maps, strict=True), *zip(self.inputs, self.maps, strict=False)]
        for value, map in operands:
            shape = tensor_shape(value)
            for position, expr in enumerate(map.results):
                dim = single_dim(expr)
                if dim is None or dim in static:
                    continue
                if shape[position] != DYNAMIC_INDEX:
                    static.add(dim)
                elif found[dim] is not None:
                    continue
                found[dim] = (value, position)
        return tuple(found)

    def can_slice(self, dims: set[int]) -> bool:
        """Whether blocks of these loops, of known size, reach slices of operands: one stride a dimension."""
        for map in self.maps:
            for expr in map.results:
                if not dims & expr.used_dims():
                    continue
                index = linear(expr)
                if index is None or any(c < 0 for _, c in index.terms):
                    return False
                open_dims = [d for d in index.dims if self.extents[d] is None and d not in dims]
                if len(index.terms) > 1 and open_dims:
                    return False
        return True

    def stride_bytes(self, operand: int, loop: int | None) -> int:
        """The stride of an operand along a loop, in bytes; 0 where it is not known."""
        value = self.op.operands[operand]
        shape, stride = tensor_shape(value), 0
        if loop is None or not shape or DYNAMIC_INDEX in shape[1:]:
            return 0
        for position, index in enumerate(self.maps[operand].results):
            step = dict(terms.terms).get(loop, 0) if (terms := linear(index)) is not None else 0
            stride += step * prod(shape[position + 1 :])
        return stride * element_bytes(tensor_element(value))

    def can_tile(self, schedule: Schedule) -> bool:
        """Whether the tiles of a schedule reach slices, also inside of parallel loops alone."""
        outside: set[int] = set()
        for level in schedule.levels():
            if not self.can_slice({*outside, *level.parallel}):
                return False
            outside |= set(level.loops())
        return self.can_slice(outside)


def generic(
    inputs: Sequence[SSAValue],
    inits: Sequence[SSAValue],
    body: Region,
    maps: Sequence[AffineMap],
    iterator_types: Sequence[Attribute],
) -> linalg.GenericOp:
    """A `linalg.generic` on tensors; faster than its constructor, which matters where tiles are cloned."""
    return linalg.GenericOp.create(
        operands=[*inputs, *inits],
        result_types=[init.type for init in inits],
        properties={
            "indexing_maps": ArrayAttr([AffineMapAttr(m) for m in maps]),
            "iterator_types": ArrayAttr(iterator_types),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(inputs), len(inits)]),
        },
        regions=[body],
    )


def fill_with(
    number: SSAValue, init: SSAValue, attributes: Mapping[str, Attribute] | None = None
) -> linalg.FillOp:
    """A `linalg.fill` of a tensor; faster than its constructor, which asks hints of types."""
    block = Block(arg_types=[number.type, tensor_element(init)])
    block.add_op(linalg.YieldOp.create(operands=[block.args[0]]))
    return linalg.FillOp.create(
        operands=[number, init],
        result_types=[init.type],
        properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 1])},
        attributes=attributes or {},
        regions=[Region(block)],
    )


def tensor_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor, `DYNAMIC_INDEX` where it is known at run time only. A scalar has none."""
    type: Attribute = value.type
    return cast(Tensor, type).get_shape() if isinstance(type, TensorType) else ()


def _static(extent: int) -> int | None:
    return None if extent == DYNAMIC_INDEX else extent


def tensor_element(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    return tensor_of(value).element_type
