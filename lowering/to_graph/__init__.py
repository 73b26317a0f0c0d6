"""What the conversions from several frameworks to `graph` share."""

from stepwell.lowering.to_graph.calls import Conversions, Converted, ForeignCall
from stepwell.lowering.to_graph.expressions import Constants, Formula, Operand, Value
from stepwell.lowering.to_graph.foreign import (
    ForeignLowering,
    ForeignPatterns,
    ForeignWeightLowering,
    refuse_unknown,
    set_result_types,
)
from stepwell.lowering.to_graph.operands import OperandCall, size_of

__all__ = [
    "Constants",
    "Conversions",
    "Converted",
    "ForeignCall",
    "ForeignLowering",
    "ForeignPatterns",
    "ForeignWeightLowering",
    "Formula",
    "Operand",
    "OperandCall",
    "Value",
    "refuse_unknown",
    "set_result_types",
    "size_of",
]
