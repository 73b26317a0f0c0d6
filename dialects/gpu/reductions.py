"""The ops that join two values of a reduction over the threads of a warp or of a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.gpu.collectives import AllReduceOp, SubgroupReduceOp
from stepwell.runtime.errors import StepwellError

_REDUCTIONS: Mapping[str, Callable[[SSAValue, SSAValue], Operation]] = {
    "add": arith.AddfOp,
    "mul": arith.MulfOp,
    "minimumf": arith.MinimumfOp,
    "maximumf": arith.MaximumfOp,
    "minnumf": arith.MinnumfOp,
    "maxnumf": arith.MaxnumfOp,
}
_INTEGER_REDUCTIONS: Mapping[str, Callable[[SSAValue, SSAValue], Operation]] = {
    "add": arith.AddiOp,
    "mul": arith.MuliOp,
    "minsi": arith.MinSIOp,
    "maxsi": arith.MaxSIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
}


def reduction(op: SubgroupReduceOp | AllReduceOp) -> Callable[[SSAValue, SSAValue], Operation]:
    """The op that joins two values. Raises: StepwellError `unsupported`."""
    type: Attribute = op.value.type
    table = _INTEGER_REDUCTIONS if isinstance(type, IntegerType) else _REDUCTIONS
    if (kind := table.get(op.op.data)) is None:
        raise StepwellError("unsupported", op, f"{op.op.data} of {op.value.type}")
    return kind
