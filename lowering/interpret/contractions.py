"""Structured ops that sum products of two operands, computed as matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.lowering.interpret.grids import Array

_WIDENINGS = ("arith.extf", "arith.extsi", "arith.sitofp", "arith.extui", "arith.uitofp")


@dataclass(frozen=True)
class Contraction:
    """The inputs that are the factors in the body `acc + lhs * rhs` of a structured op."""

    lhs: int
    rhs: int
    unsigned: tuple[bool, bool]
    """Whether a factor's bits are read as an unsigned number when it is widened."""

    @staticmethod
    def of(op: LinalgStructuredOperation) -> Contraction | None:
        """The contraction that an op computes; None when its body is another."""
        block = op.body.block
        if len(op.outputs) != 1 or len(block.args) != len(op.inputs) + 1 or block.last_op is None:
            return None
        acc = block.args[-1]
        terms = _operands_of(block.last_op.operands[0], "arith.addf", "arith.addi")
        if not acc.has_one_use() or acc not in terms:
            return None
        product = next(term for term in terms if term is not acc)
        factors = [_factor(value, block) for value in _operands_of(product, "arith.mulf", "arith.muli")]
        if not factors or any(f is None or f[0] >= len(op.inputs) for f in factors):
            return None
        (lhs, lhs_unsigned), (rhs, rhs_unsigned) = [f for f in factors if f is not None]
        return Contraction(lhs, rhs, (lhs_unsigned, rhs_unsigned))


def _operands_of(value: SSAValue, *names: str) -> Sequence[SSAValue]:
    """The operands of a value's op if the op has one of the names, else none."""
    op = value.owner
    return op.operands if isinstance(op, Operation) and op.name in names else ()


def _factor(value: SSAValue, block: Block) -> tuple[int, bool] | None:
    """The index of the input that a factor is, and whether it is widened as unsigned; None for others."""
    unsigned = False
    if isinstance(value.owner, Operation) and value.owner.name in _WIDENINGS:
        unsigned = value.owner.name in ("arith.extui", "arith.uitofp")
        value = value.owner.operands[0]
    return (value.index, unsigned) if isinstance(value, BlockArgument) and value.owner is block else None


def contract(
    contraction: Contraction, operands: Sequence[Any], maps: Sequence[AffineMap], reductions: Sequence[int]
) -> Array:
    """
    Add the sum of products to the output, the last operand, as a batch of matrix products.

    Args: `operands` have one dimension per loop. Sums of floats are computed in f64 and rounded once.
    """
    output = operands[-1]
    rank = output.ndim
    exact = np.dtype(np.float64 if output.dtype.kind not in "iub" or output.itemsize < 8 else np.int64)
    if output.dtype.kind == "i" and max(operands[k].itemsize for k in (contraction.lhs, contraction.rhs)) > 2:
        exact = np.dtype(np.int64)  # products of wide integers do not fit in f64
    lhs, rhs = (
        _as_number(operands[k], exact, unsigned)
        for k, unsigned in zip((contraction.lhs, contraction.rhs), contraction.unsigned, strict=True)
    )
    in_lhs, in_rhs = (maps[k].used_dims() for k in (contraction.lhs, contraction.rhs))
    alone = [d for d in reductions if (d in in_lhs) != (d in in_rhs)]
    lhs = lhs.sum(axis=tuple(d for d in alone if d in in_lhs), keepdims=True)
    rhs = rhs.sum(axis=tuple(d for d in alone if d in in_rhs), keepdims=True)
    summed = [d for d in reductions if d in in_lhs and d in in_rhs]
    kept = [d for d in range(rank) if d not in reductions]
    batch = [d for d in kept if d in in_lhs and d in in_rhs]
    rows = [d for d in kept if d in in_lhs and d not in in_rhs]
    columns = [d for d in kept if d not in in_lhs]
    product = np.matmul(_matrix(lhs, batch, rows, summed), _matrix(rhs, batch, summed, columns))
    order = [*batch, *rows, *columns]
    shape = [np.broadcast_shapes(lhs.shape, rhs.shape)[d] for d in order]
    spread = product.reshape([*shape, *[1] * (rank - len(order))])
    rest = [d for d in range(rank) if d not in order]
    spread = spread.transpose(np.argsort([*order, *rest]))
    return (output.astype(exact) + spread).astype(output.dtype)


def _as_number(operand: Array, exact: np.dtype[Any], unsigned: bool) -> Array:
    """An operand converted to the dtype of the exact sum, its bits read as unsigned if so."""
    if unsigned:
        bits = np.dtype(np.uint8) if operand.dtype.kind == "b" else np.dtype(f"u{operand.itemsize}")
        return np.ascontiguousarray(operand).view(bits).astype(exact)
    return operand.astype(exact)


def _matrix(array: Array, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]) -> Array:
    """A batch of matrices from the named dimensions; the others have extent 1."""
    used = [*batch, *rows, *columns]
    rest = [d for d in range(array.ndim) if d not in used]
    shape = array.shape
    moved = array.transpose([*used, *rest])
    return moved.reshape([*(shape[d] for d in batch), _size(shape, rows), _size(shape, columns)])


def _size(shape: Sequence[int], dims: Sequence[int]) -> int:
    return int(np.prod([shape[d] for d in dims], dtype=np.int64))
