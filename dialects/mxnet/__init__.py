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


def __getattr__(name: str) -> object:
    """The dialect, with all classes, made when it is first used."""
    if name != "Mxnet":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return FOREIGN.dialect


__all__ = ["FOREIGN", "TABLE", "Mxnet", "OperatorOp", "WeightOp", "op_class"]
