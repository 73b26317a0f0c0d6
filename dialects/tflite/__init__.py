"""The `tflite` dialect: level 0 of a TFLite model, one op a builtin operator, feature maps channels last."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.foreign.dialect import ForeignDialect
from stepwell.dialects.tflite.structure import OperatorOp as OperatorOp
from stepwell.dialects.tflite.structure import WeightOp as WeightOp

if TYPE_CHECKING:
    Tflite: Dialect

NAME, QUANTIZED = "tflite.name", "tflite.quantized"
"""Attributes of an op: the name of its first result in the file; for each operand, then each result, the
quantization, or `none`."""
FOREIGN = ForeignDialect("tflite", Path(__file__).with_name("signatures.txt"), WeightOp, OperatorOp)
TABLE = FOREIGN.table
"""The builtin operators by name (`conv_2d`)."""
op_class, __getattr__ = FOREIGN.op_class, FOREIGN.lazy(__name__, "Tflite")

__all__ = ["NAME", "QUANTIZED", "TABLE", "OperatorOp", "Tflite", "WeightOp", "op_class"]
