"""The `tflite` dialect: level 0 of a TFLite model, one op a builtin operator, feature maps channels last."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.foreign.dialect import ForeignDialect
from stepwell.dialects.tflite.structure import IfOp as IfOp
from stepwell.dialects.tflite.structure import OperatorOp as OperatorOp
from stepwell.dialects.tflite.structure import ReturnOp as ReturnOp
from stepwell.dialects.tflite.structure import WeightOp as WeightOp
from stepwell.dialects.tflite.structure import WhileOp as WhileOp

if TYPE_CHECKING:
    Tflite: Dialect

NAME, QUANTIZED = "tflite.name", "tflite.quantized"
"""Attributes of an op: the name of its first result in the file; for each operand, then each result, the
quantization, or `none`."""
RECURRENT = frozenset(
    (
        "rnn unidirectional_sequence_rnn bidirectional_sequence_rnn lstm unidirectional_sequence_lstm "
        "bidirectional_sequence_lstm svdf"
    ).split()
)
"""Operators that write the variables among their operands; the new values are their last results."""
CONTROL = (
    "assign_variable",
    "call",
    "call_once",
    "if",
    "read_variable",
    "stablehlo_composite",
    "var_handle",
    "while",
)
"""Operators that the reader makes regions, states, or the operators of another graph of."""
FOREIGN = ForeignDialect(
    "tflite", Path(__file__).with_name("signatures.txt"), WeightOp, OperatorOp, IfOp, WhileOp, ReturnOp
)
TABLE = FOREIGN.table
"""The builtin operators by name (`conv_2d`)."""
op_class, __getattr__ = FOREIGN.op_class, FOREIGN.lazy(__name__, "Tflite")

__all__ = [
    "CONTROL",
    "NAME",
    "QUANTIZED",
    "RECURRENT",
    "TABLE",
    "IfOp",
    "OperatorOp",
    "ReturnOp",
    "Tflite",
    "WeightOp",
    "WhileOp",
    "op_class",
]
