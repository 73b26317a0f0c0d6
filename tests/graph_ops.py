"""What tests of single graph ops share: values of a type, and meanings held against type relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.test import TestOp
from xdsl.ir import SSAValue

from stepwell.dialects.graph.base import GraphOp, plain_properties
from stepwell.dialects.types import DimLike, dims_of, element_of, tensor_of, tensor_type
from stepwell.runtime.meaning import Array, evaluate


def value(array: Array, dims: Sequence[DimLike] | None = None) -> SSAValue:
    """A value of an array's type, for building ops; `dims` names its dimensions."""
    shape = array.shape if dims is None else dims
    return TestOp(result_types=[tensor_type(element_of(array.dtype), shape)]).results[0]


def run(op: GraphOp, *operands: Array | None, symbols: Mapping[str, int] | None = None) -> tuple[Array, ...]:
    """Evaluate an op's meaning, and hold the results against its type relation."""
    op.verify_()
    results = evaluate(op.name, operands, plain_properties(op, symbols or {}))
    for array, result in zip(results, op.results, strict=True):
        assert element_of(array.dtype) == tensor_of(result).element_type
        dims = dims_of(result.type)
        assert len(dims) == array.ndim
        for dim, size in zip(dims, array.shape, strict=True):
            assert dim.is_unknown or dim.evaluate(symbols or {}) == size
    return results
