"""`convert-stablehlo-to-graph`: each operation of a StableHLO program to `graph` ops of the same meaning."""

from __future__ import annotations

from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import weights_of
from stepwell.lowering.stablehlo_to_graph.pattern import StablehloLowering, WeightLowering
from stepwell.lowering.stablehlo_to_graph.support import CONVERSIONS
from stepwell.lowering.to_graph import ForeignPatterns, refuse_unknown, set_result_types
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.errors import describe_location

__all__ = ["FAMILIES", "ConvertStablehloToGraphPass", "converted_operations", "family_of"]

FAMILIES = (
    "calls",
    "contraction",
    "elementwise",
    "indexing",
    "linear_algebra",
    "movement",
    "reduction",
    "window",
)
"""The files of conversions, one family of ops each."""
_HELP = "export the program without it, or with the `lax` function that it comes from replaced"


class ConvertStablehloToGraphPass(ModulePass):
    """
    Lower `stablehlo` to `graph`: leaves functions of `graph` ops whose types are those of the program.

    The type of each converted value is compared with the program's own record. Fails, and lists all such
    operations, when one has no conversion.
    """

    name = "convert-stablehlo-to-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Refuse operations without a conversion, then convert the others."""
        _load_families()
        refuse_unknown(op, CONVERSIONS, describe_location, _HELP)
        convert(
            op, ForeignPatterns(StablehloLowering(weights_of(ctx)), WeightLowering()), illegal=["stablehlo"]
        )
        set_result_types(op)


def converted_operations() -> set[str]:
    """The operations that have a conversion (`dot_general`)."""
    _load_families()
    return set(CONVERSIONS)


def family_of(operation: str) -> str:
    """The file of an operation's conversion."""
    _load_families()
    return CONVERSIONS.family(operation)


def _load_families() -> None:
    """Import the files of all families, which enter their conversions."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")
