"""Making and reading `vector.transfer_read` and `vector.transfer_write`: never masked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    TensorType,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.dialects.types import Tensor

DimOf: TypeAlias = tuple[int | None, ...]
"""The dimension of the tensor for each dimension of a vector; None where the vector repeats itself."""

Vector: TypeAlias = VectorType[Attribute]


@lru_cache(maxsize=1024)
def vector_type(element: Attribute, shape: tuple[int, ...]) -> Vector:
    """A vector type (interned)."""
    return VectorType(element, shape)


@lru_cache(maxsize=1024)
def _properties(rank: int, dim_of: DimOf, segments: tuple[int, ...], in_bounds: bool) -> dict[str, Attribute]:
    exprs = [AffineConstantExpr(0) if d is None else AffineDimExpr(d) for d in dim_of]
    return {
        "permutation_map": AffineMapAttr(AffineMap(rank, 0, tuple(exprs))),
        "in_bounds": ArrayAttr([BoolAttr.from_bool(in_bounds)] * len(dim_of)),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, segments),
    }


def vector_of(value: SSAValue) -> Vector:
    """The vector type of a value."""
    type = value.type
    assert isinstance(type, VectorType)
    return cast(Vector, type)


def element_type(type: Attribute) -> Attribute:
    """The type of the elements of a tensor or vector; a scalar is its own element."""
    return cast("Vector | Tensor", type).element_type if isinstance(type, VectorType | TensorType) else type


def read(
    emit: IRBuilder,
    source: SSAValue,
    start: Sequence[SSAValue],
    type: Vector,
    dim_of: DimOf,
    beyond: SSAValue | None = None,
) -> SSAValue:
    """A vector of the elements of a tensor from `start` on; lanes after its end are `beyond`, if given."""
    rank = len(start)
    op = vector.TransferReadOp.create(
        operands=[source, *start, emit.number(0, type.element_type) if beyond is None else beyond],
        result_types=[type],
        properties=_properties(rank, dim_of, (1, rank, 1, 0), beyond is None),
    )
    return emit.value(op)


def write(
    emit: IRBuilder,
    value: SSAValue,
    into: SSAValue,
    start: Sequence[SSAValue],
    dim_of: DimOf,
    *,
    in_bounds: bool = True,
) -> SSAValue:
    """The tensor with a vector written at `start`; lanes after its end are dropped unless `in_bounds`."""
    rank = len(start)
    op = vector.TransferWriteOp.create(
        operands=[value, into, *start],
        result_types=[into.type],
        properties=_properties(rank, dim_of, (1, 1, rank, 0), in_bounds),
    )
    return emit.value(op)


def dim_of(op: vector.TransferReadOp | vector.TransferWriteOp) -> DimOf:
    """The dimension of the tensor for each dimension of the vector."""
    exprs = op.permutation_map.data.results
    return tuple(e.position if isinstance(e, AffineDimExpr) else None for e in exprs)


def is_in_bounds(op: vector.TransferReadOp | vector.TransferWriteOp) -> bool:
    """Whether a transfer is marked as having no lane outside of the tensor."""
    return all([flag.value.data for flag in op.in_bounds.data])


def covers_tensor(op: vector.TransferReadOp | vector.TransferWriteOp) -> bool:
    """Whether a transfer covers the whole tensor, each element once or, when reading, repeatedly."""
    if op.mask is not None or any(constant_index(i) != 0 for i in op.indices):
        return False
    shape = vector_of(op.result if isinstance(op, vector.TransferReadOp) else op.vector).get_shape()
    reached = {d: n for d, n in zip(dim_of(op), shape, strict=True) if d is not None}
    return all(reached.get(d, 1) == n for d, n in enumerate(tensor_shape(op.source)))
