"""Divisions of many vectors by one scalar: one reciprocal, and a product for each vector."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import EXACT_DIVISION
from stepwell.dialects.tensor_ir.pieces import Pieces, broadcast
from stepwell.dialects.tensor_ir.transfers import vector_of


class Reciprocals:
    """
    The reciprocals of scalar divisors that several pieces share, such as the sum of a row in softmax.

    A division takes about ten times as long as a product. The result may differ in its last bit: the
    class is *rounding*.
    """

    def __init__(self, op: Operation, pieces: dict[SSAValue, Pieces], emit: IRBuilder):
        self._shared: set[SSAValue] = set()
        self._made: dict[tuple[SSAValue, int], SSAValue] = {}
        if isinstance(op, arith.DivfOp) and op.rhs in pieces and EXACT_DIVISION not in op.attributes:
            scalars = Counter(_scalar(piece) for piece in pieces[op.rhs].all(emit))
            self._shared = {value for value, uses in scalars.items() if value is not None and uses > 1}

    def factor(self, emit: IRBuilder, divisor: SSAValue) -> SSAValue | None:
        """The reciprocal of a divisor as a vector; None when the divisor is no shared scalar."""
        if not self._shared or (scalar := _scalar(divisor)) not in self._shared or scalar is None:
            return None
        width = vector_of(divisor).get_shape()[0]
        if (scalar, width) not in self._made:
            one = emit.number(1, scalar.type)
            self._made[scalar, width] = broadcast(emit, emit.value(arith.DivfOp(one, scalar)), width)
        return self._made[scalar, width]


def _scalar(piece: SSAValue) -> SSAValue | None:
    """The scalar that a `vector.broadcast` repeats in all lanes; None for other values."""
    owner = piece.owner
    if isinstance(owner, vector.BroadcastOp) and not isinstance(owner.source.type, VectorType):
        return owner.source
    return None
