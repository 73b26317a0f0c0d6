"""The `mxnet` dialect: level 0 of a model of MXNet, one op an operator."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.foreign.dialect import ForeignDialect
from stepwell.dialects.mxnet.structure import OperatorOp, WeightOp

if TYPE_CHECKING:
    Mxnet: Dialect

FOREIGN = ForeignDialect("mxnet", Path(__file__).with_name("signatures.txt"), WeightOp, OperatorOp)
TABLE, op_class = FOREIGN.table, FOREIGN.op_class
"""The operators by name."""
__getattr__ = FOREIGN.lazy(__name__, "Mxnet")

__all__ = ["FOREIGN", "TABLE", "Mxnet", "OperatorOp", "WeightOp", "op_class"]
