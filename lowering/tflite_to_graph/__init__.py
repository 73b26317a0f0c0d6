"""`convert-tflite-to-graph`: each operator of a TFLite model to `graph` ops of the same meaning."""

from __future__ import annotations

from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import weights_of
from stepwell.lowering.tflite_to_graph.pattern import TfliteLowering, WeightLowering
from stepwell.lowering.tflite_to_graph.support import CONVERSIONS
from stepwell.lowering.to_graph import ForeignPatterns, refuse_unknown, set_result_types
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.errors import describe_location

__all__ = ["FAMILIES", "ConvertTfliteToGraphPass", "converted_operators", "family_of"]

FAMILIES = (
    "binary",
    "contraction",
    "indexing",
    "movement",
    "norm",
    "recurrent",
    "reduction",
    "resize",
    "sizes",
    "unary",
    "window",
)
"""The files of conversions, one family of ops each."""
_HELP = (
    "convert the model without Flex operators and delegates, or export the program it was made from to ONNX"
)


class ConvertTfliteToGraphPass(ModulePass):
    """
    Lower `tflite` to `graph`: leaves functions of `graph` ops whose types are those of the model.

    Quantized tensors are `graph.dequantize`, the operator on numbers, and `graph.quantize`, which `fold-qdq`
    and its like compute on integers. The type of each converted value is compared with the model's own
    record. Fails, and lists all such operators, when an operator has no conversion.
    """

    name = "convert-tflite-to-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Refuse operators without a conversion, then convert the others."""
        _load_families()
        refuse_unknown(op, CONVERSIONS, describe_location, _HELP)
        convert(op, ForeignPatterns(TfliteLowering(weights_of(ctx)), WeightLowering()), illegal=["tflite"])
        set_result_types(op)


def converted_operators() -> set[str]:
    """The operators that have a conversion (`conv_2d`)."""
    _load_families()
    return set(CONVERSIONS)


def family_of(operator: str) -> str:
    """The file of an operator's conversion."""
    _load_families()
    return CONVERSIONS.family(operator)


def _load_families() -> None:
    """Import the files of all families, which enter their conversions."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")
