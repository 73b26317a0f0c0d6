"""`convert-torch-to-graph`: each overload of a PyTorch program to `graph` ops of the same meaning."""

from __future__ import annotations

from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects import torch
from stepwell.dialects._xdsl import decompose_of, weights_of
from stepwell.lowering.to_graph import refuse_unknown, set_result_types
from stepwell.lowering.torch_to_graph.by_torch import runs_in_torch
from stepwell.lowering.torch_to_graph.pattern import TorchPatterns
from stepwell.lowering.torch_to_graph.support import CONVERSIONS
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.errors import describe_location

__all__ = ["FAMILIES", "ConvertTorchToGraphPass", "converted_overloads", "family_of"]

FAMILIES = (
    "attention",
    "backward",
    "binary",
    "contraction",
    "creation",
    "indexing",
    "movement",
    "norm",
    "padding",
    "pieces",
    "recurrent",
    "reduction",
    "resize",
    "scatter",
    "selection",
    "unary",
    "window",
)
"""The files of conversions, one family of ops each."""
_HELP = (
    "`program.run_decompositions()` before saving writes many operators as simpler ones; "
    "or replace them before exporting"
)


class ConvertTorchToGraphPass(ModulePass):
    """
    Lower `torch` to `graph`: leaves functions of `graph` ops whose types are those of the exported program.

    A call whose arguments its conversion refuses is decomposed by torch's rules, where the program was read
    from memory. With `torch.unsupported = "torch"` of the module, torch runs operators without a conversion,
    and those whose arguments their conversion refuses, by host calls. Otherwise an operator without a
    conversion is an error, which lists all of them with the modules and lines of their calls. The type of
    each converted value is compared with the program's own record of it.
    """

    name = "convert-torch-to-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Refuse operators without a conversion, then convert the others."""
        _load_families()
        if not runs_in_torch(op):
            refuse_unknown(op, CONVERSIONS, _place, _HELP)
        convert(op, TorchPatterns(weights_of(ctx), decompose_of(ctx)), illegal=["torch"])
        set_result_types(op)


def converted_overloads() -> set[str]:
    """The overloads that have a conversion (`aten.add.Tensor`)."""
    _load_families()
    return set(CONVERSIONS)


def family_of(overload: str) -> str:
    """The file of an overload's conversion."""
    _load_families()
    return CONVERSIONS.family(overload)


def _load_families() -> None:
    """Import the files of all families, which enter their conversions."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")


def _place(op: Operation) -> str:
    """The location of a call, with its module."""
    module = op.attributes.get(torch.MODULE)
    inside = f" in {module.data}" if isinstance(module, StringAttr) else ""
    return describe_location(op) + inside
