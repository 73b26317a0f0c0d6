"""The `coreml` dialect: level 0 of a model of Core ML, one op an operation of an ML program."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.coreml.structure import IfOp as IfOp
from stepwell.dialects.coreml.structure import OperatorOp as OperatorOp
from stepwell.dialects.coreml.structure import ReturnOp as ReturnOp
from stepwell.dialects.coreml.structure import WeightOp as WeightOp
from stepwell.dialects.coreml.structure import WhileOp as WhileOp
from stepwell.dialects.foreign.dialect import ForeignDialect

if TYPE_CHECKING:
    Coreml: Dialect

FOREIGN = ForeignDialect(
    "coreml", Path(__file__).with_name("signatures.txt"), WeightOp, OperatorOp, IfOp, WhileOp, ReturnOp
)
TABLE, op_class = FOREIGN.table, FOREIGN.op_class
"""The operators by name."""
__getattr__ = FOREIGN.lazy(__name__, "Coreml")

__all__ = ["FOREIGN", "TABLE", "Coreml", "IfOp", "OperatorOp", "ReturnOp", "WeightOp", "WhileOp", "op_class"]
