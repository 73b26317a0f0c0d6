"""The `stablehlo` dialect: level 0 of JAX's programs, and of all that emits StableHLO."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.foreign.dialect import ForeignDialect
from stepwell.dialects.stablehlo.structure import CaseOp as CaseOp
from stepwell.dialects.stablehlo.structure import IfOp as IfOp
from stepwell.dialects.stablehlo.structure import OperatorOp as OperatorOp
from stepwell.dialects.stablehlo.structure import ReturnOp as ReturnOp
from stepwell.dialects.stablehlo.structure import WeightOp as WeightOp
from stepwell.dialects.stablehlo.structure import WhileOp as WhileOp

if TYPE_CHECKING:
    Stablehlo: Dialect

FOREIGN = ForeignDialect(
    "stablehlo",
    Path(__file__).with_name("signatures.txt"),
    WeightOp,
    OperatorOp,
    WhileOp,
    IfOp,
    CaseOp,
    ReturnOp,
)
TABLE = FOREIGN.table
"""The operations by name (`dot_general`)."""
op_class, __getattr__ = FOREIGN.op_class, FOREIGN.lazy(__name__, "Stablehlo")

__all__ = [
    "TABLE",
    "CaseOp",
    "IfOp",
    "OperatorOp",
    "ReturnOp",
    "Stablehlo",
    "WeightOp",
    "WhileOp",
    "op_class",
]
