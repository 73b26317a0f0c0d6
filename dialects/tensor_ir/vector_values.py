"""The values of a scalar computation on vectors: one vector for each scalar, op by op."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.arith import vector_form
from stepwell.dialects.tensor_ir.emit import Emitter
from stepwell.dialects.tensor_ir.transfers import vector_type


class VectorValues:
    """What is known of a body's scalars, as vectors of one shape; all else is the same in all lanes."""

    def __init__(self, emit: Emitter, shape: tuple[int, ...], known: Mapping[SSAValue, SSAValue]):
        self.emit = emit
        self.shape = shape
        self._known = dict(known)

    def __setitem__(self, scalar: SSAValue, value: SSAValue) -> None:
        self._known[scalar] = value

    def __getitem__(self, scalar: SSAValue) -> SSAValue:
        """The vector of a value of the body; one from outside is the same in all lanes."""
        if scalar not in self._known:
            self._known[scalar] = self.broadcast(scalar)
        return self._known[scalar]

    def broadcast(self, scalar: SSAValue) -> SSAValue:
        """A vector of one number."""
        type = vector_type(scalar.type, self.shape)
        return self.emit.value(vector.BroadcastOp.create(operands=[scalar], result_types=[type]))

    def compute(self, op: Operation) -> None:
        """An elementwise op of the body on vectors."""
        if isinstance(op, arith.ConstantOp):
            self[op.result] = self.broadcast(self.emit.constants.of(op.value, op.result.type))
            return
        made = vector_form(type(op)).create(
            operands=[self[v] for v in op.operands],
            result_types=[vector_type(r.type, self.shape) for r in op.results],
            properties=op.properties.copy(),
            attributes=op.attributes.copy(),
        )
        self.emit.add(made)
        self._known.update(zip(op.results, made.results, strict=True))


# More than this is a program, not a tile: Python and LLVM would take seconds over it.
MAX_ELEMENTS = 2048


MAX_STEPS = 32


def is_number(type: Attribute) -> bool:
    return isinstance(type, AnyFloat | IntegerType | IndexType)


def has_vector_form(op: Operation) -> bool:
    """Whether an op of a body can compute on vectors instead of scalars."""
    return (
        op.name.startswith(("arith.", "math."))
        and not isinstance(op, arith.FloorDivSIOp | arith.CeilDivSIOp | arith.CeilDivUIOp)
        and not op.regions
        and all(is_number(v.type) for v in (*op.operands, *op.results))
    )
