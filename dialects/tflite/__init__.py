"""The `tflite` dialect: level 0 of a TFLite model, one op a builtin operator, feature maps channels last."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect, Operation

from stepwell.dialects.foreign import OpTable
from stepwell.dialects.tflite.structure import OperatorOp as OperatorOp
from stepwell.dialects.tflite.structure import WeightOp as WeightOp

if TYPE_CHECKING:
    Tflite: Dialect

NAME, QUANTIZED = "tflite.name", "tflite.quantized"
"""Attributes of an op: the name of its first result in the file; for each operand, then each result, the
quantization, or `none`."""
TABLE = OpTable("tflite", Path(__file__).with_name("signatures.txt"))
"""The builtin operators by name (`conv_2d`)."""


def op_class(op_name: str) -> type[Operation] | None:
    """The class of an op by its name in the IR; None for an unknown one."""
    found = next((each for each in (WeightOp, OperatorOp) if each.name == op_name), None)
    return found or TABLE.found(op_name)


def __getattr__(name: str) -> object:
    """The dialect, with all classes, made when it is first used."""
    if name != "Tflite":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = Dialect("tflite", [WeightOp, OperatorOp, *TABLE.op_classes()])
    globals()[name] = value
    return value


__all__ = ["NAME", "QUANTIZED", "TABLE", "OperatorOp", "Tflite", "WeightOp", "op_class"]
