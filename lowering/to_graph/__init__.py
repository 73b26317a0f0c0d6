"""The common part of the conversions from several frameworks to `graph`."""

from stepwell.lowering.to_graph.calls import Conversions, Converted, ForeignCall
from stepwell.lowering.to_graph.expressions import Constants, Formula, Operand, Value
from stepwell.lowering.to_graph.foreign import (
    ForeignLowering,
    ForeignPatterns,
    ForeignWeightLowering,
    refuse_unknown,
    set_result_types,
)
from stepwell.lowering.to_graph.foreign_pass import ConvertForeignPass, Families
from stepwell.lowering.to_graph.functions import BINARY, UNARY, enter_binary, enter_unary
from stepwell.lowering.to_graph.operands import OperandCall, size_of
from stepwell.lowering.to_graph.positions import bounds_of, same_pad, wrapped
from stepwell.lowering.to_graph.run_time_sizes import bound_sizes

__all__ = [
    "BINARY",
    "UNARY",
    "Constants",
    "Conversions",
    "ConvertForeignPass",
    "Converted",
    "Families",
    "ForeignCall",
    "ForeignLowering",
    "ForeignPatterns",
    "ForeignWeightLowering",
    "Formula",
    "Operand",
    "OperandCall",
    "Value",
    "bound_sizes",
    "bounds_of",
    "enter_binary",
    "enter_unary",
    "refuse_unknown",
    "same_pad",
    "set_result_types",
    "size_of",
    "wrapped",
]
