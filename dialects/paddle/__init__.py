"""The `paddle` dialect: level 0 of a model of Paddle, one op an operator."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.foreign.dialect import ForeignDialect
from stepwell.dialects.paddle.structure import OperatorOp, WeightOp

if TYPE_CHECKING:
    Paddle: Dialect

FOREIGN = ForeignDialect("paddle", Path(__file__).with_name("signatures.txt"), WeightOp, OperatorOp)
TABLE, op_class = FOREIGN.table, FOREIGN.op_class
"""The operators by name."""
__getattr__ = FOREIGN.lazy(__name__, "Paddle")

__all__ = ["FOREIGN", "TABLE", "Paddle", "OperatorOp", "WeightOp", "op_class"]
