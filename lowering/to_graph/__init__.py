"""The common part of the conversions from several frameworks to `graph`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from stepwell.lowering.to_graph.functions import (
        BINARY,
        UNARY,
        atan2,
        enter_binary,
        enter_unary,
        is_minus_zero,
        pixel_shuffle,
        pixel_unshuffle,
    )
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
    "atan2",
    "bound_sizes",
    "bounds_of",
    "enter_binary",
    "enter_unary",
    "is_minus_zero",
    "pixel_shuffle",
    "pixel_unshuffle",
    "refuse_unknown",
    "same_pad",
    "set_result_types",
    "size_of",
    "wrapped",
]

_FILES = {
    "calls": "Conversions Converted ForeignCall",
    "expressions": "Constants Formula Operand Value",
    "foreign": "ForeignLowering ForeignPatterns ForeignWeightLowering refuse_unknown set_result_types",
    "foreign_pass": "ConvertForeignPass Families",
    "functions": "BINARY UNARY atan2 enter_binary enter_unary is_minus_zero pixel_shuffle pixel_unshuffle",
    "operands": "OperandCall size_of",
    "positions": "bounds_of same_pad wrapped",
    "run_time_sizes": "bound_sizes",
}
"""The names of each file, which is imported when one of them is first used: models in ONNX need one file."""


def __getattr__(name: str) -> object:
    """A function or class of a file of this folder."""
    file = next((file for file, names in _FILES.items() if name in names.split()), None)
    if file is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{file}"), name)
    return value
