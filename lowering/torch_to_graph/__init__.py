"""`convert-torch-to-graph`: each overload of a PyTorch program to `graph` ops of the same meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects import torch
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.foreign import ForeignOp
from stepwell.lowering.torch_to_graph.by_torch import runs_in_torch
from stepwell.lowering.torch_to_graph.pattern import TorchPatterns
from stepwell.lowering.torch_to_graph.support import CONVERSIONS
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.errors import StepwellError, describe_location

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


class ConvertTorchToGraphPass(ModulePass):
    """
    Lower `torch` to `graph`: leaves functions of `graph` ops whose types are those of the exported program.

    With `torch.unsupported = "torch"` of the module, torch runs operators without a conversion, and those
    whose arguments their conversion refuses, by host calls. Otherwise an operator without a conversion is an
    error, which lists all of them with the modules and lines of their calls. The type of each converted value
    is compared with the program's own record of it.
    """

    name = "convert-torch-to-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Refuse operators without a conversion, then convert the others."""
        _load_families()
        _refuse_unknown(op)
        convert(op, TorchPatterns(weights_of(ctx)), illegal=["torch"])
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _set_result_types(function)


def converted_overloads() -> set[str]:
    """The overloads that have a conversion (`aten.add.Tensor`)."""
    _load_families()
    return set(CONVERSIONS)


def family_of(overload: str) -> str:
    """The file of an overload's conversion."""
    _load_families()
    function = CONVERSIONS[overload]
    while isinstance(function, partial):
        function = function.func
    return function.__module__.rpartition(".")[2]


def _load_families() -> None:
    """Import the files of all families, which enter their conversions."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")


def _refuse_unknown(module: ModuleOp) -> None:
    """Raises: StepwellError `unsupported-op` that lists all operators without a conversion."""
    unknown = list(_unknown(module))
    if not unknown or runs_in_torch(module):
        return
    counts = Counter(title for title, _ in unknown)
    first = {title: op for title, op in reversed(unknown)}
    lines = [
        f"{title} ({count} use{'s' * (count > 1)}): {_place(first[title])}" for title, count in counts.items()
    ]
    raise StepwellError(
        "unsupported-op",
        unknown[0][1],
        f"no conversion for {', '.join(sorted(counts))}",
        note=lines,
        help="`program.run_decompositions()` before saving writes many operators as simpler ones; "
        "or replace them before exporting",
    )


def _unknown(module: ModuleOp) -> Iterator[tuple[str, Operation]]:
    for op in module.walk():
        if isinstance(op, torch.OperatorOp):
            yield op.target.data, op
        elif isinstance(op, ForeignOp) and op.SIGNATURE.name not in CONVERSIONS:
            yield op.SIGNATURE.name, op


def _place(op: Operation) -> str:
    """The location of a call, with its module."""
    module = op.attributes.get(torch.MODULE)
    inside = f" in {module.data}" if isinstance(module, StringAttr) else ""
    return describe_location(op) + inside


def _set_result_types(function: FuncOp) -> None:
    """Set the result types of a function to the types of the returned values."""
    last = function.body.block.last_op
    assert last is not None
    function.properties["function_type"] = FunctionType.from_lists(
        list(function.body.block.arg_types), list(last.operand_types)
    )
