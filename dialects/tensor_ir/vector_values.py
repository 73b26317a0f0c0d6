"""The values of a scalar computation on vectors: one vector for each scalar, op by op."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.arith import SelectOp, vector_form
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.transfers import vector_type


class VectorValues:
    """Maps a body's scalars to vectors of a common shape; scalars without an entry are broadcast."""

    def __init__(self, emit: IRBuilder, shape: tuple[int, ...], known: Mapping[SSAValue, SSAValue]):
        self.emit = emit
        self.shape = shape
        self._known = dict(known)

    def __setitem__(self, scalar: SSAValue, value: SSAValue) -> None:
        self._known[scalar] = value

    def __getitem__(self, scalar: SSAValue) -> SSAValue:
        """The vector of a scalar; a scalar from outside the body is broadcast to all lanes."""
        if scalar not in self._known:
            self._known[scalar] = self.broadcast(scalar)
        return self._known[scalar]

    def broadcast(self, scalar: SSAValue) -> SSAValue:
        """A vector with a scalar in all lanes."""
        type = vector_type(scalar.type, self.shape)
        return self.emit.value(vector.BroadcastOp.create(operands=[scalar], result_types=[type]))

    def compute(self, op: Operation) -> None:
        """Emit an elementwise op of the body on vectors, and record its results."""
        if isinstance(op, arith.ConstantOp):
            self[op.result] = self.broadcast(self.emit.constant(op.value, op.result.type))
            return
        made = vector_form(type(op)).create(
            operands=[self[v] for v in op.operands],
            result_types=[vector_type(r.type, self.shape) for r in op.results],
            properties=op.properties,
            attributes=op.attributes,
        )
        self.emit.insert(made)
        self._known.update(zip(op.results, made.results, strict=True))


# More than this is a program, not a tile: Python and LLVM would take seconds over it.
MAX_ELEMENTS = 2048


MAX_STEPS = 32


def is_number(type: Attribute) -> bool:
    """Whether a type is a float, an integer or `index`."""
    return isinstance(type, AnyFloat | IntegerType | IndexType)


def has_vector_form(op: Operation) -> bool:
    """Whether an op of a body can compute on vectors instead of scalars."""
    return (
        op.name.startswith(("arith.", "math."))
        and not isinstance(op, arith.FloorDivSIOp | arith.CeilDivSIOp | arith.CeilDivUIOp)
        and not op.regions
        and all(is_number(v.type) for v in (*op.operands, *op.results))
    )


def greater(emit: IRBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The greater number in each lane; a NaN in `b` is never chosen, one in `a` always."""
    return emit.value(SelectOp(emit.compare("ogt", b, a), b, a))
