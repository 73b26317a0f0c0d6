"""The `paddle` dialect: level 0 of a model of Paddle, one op an operator."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.foreign.dialect import ForeignDialect
from stepwell.dialects.paddle.structure import IfOp as IfOp
from stepwell.dialects.paddle.structure import OperatorOp as OperatorOp
from stepwell.dialects.paddle.structure import ReturnOp as ReturnOp
from stepwell.dialects.paddle.structure import WeightOp as WeightOp
from stepwell.dialects.paddle.structure import WhileOp as WhileOp

if TYPE_CHECKING:
    Paddle: Dialect

FOREIGN = ForeignDialect(
    "paddle", Path(__file__).with_name("signatures.txt"), WeightOp, OperatorOp, IfOp, WhileOp, ReturnOp
)
TABLE, op_class = FOREIGN.table, FOREIGN.op_class
"""The operators by name."""
__getattr__ = FOREIGN.lazy(__name__, "Paddle")

__all__ = ["FOREIGN", "TABLE", "Paddle", "IfOp", "OperatorOp", "ReturnOp", "WeightOp", "WhileOp", "op_class"]
