"""Base classes of passes: xDSL's module pass with an optimization level, numerics class, required passes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import CallableOpInterface

ALL_ANALYSES = ("*",)
"""The analyses that a pass preserves which changes nothing."""


class Numerics(StrEnum):
    """The numerics class of a pass: the changes that it may make to the digits of results."""

    EXACT = "exact"
    """Nothing, but for the sign of zero."""
    ROUNDING = "rounding"
    """Results that real arithmetic would give as well, with no new infinity, NaN or cancellation."""
    QUANTIZED = "quantized"
    """
    As rounding, on integers that stand for numbers: where the model itself rounds to whole steps, a sum in
    another order may come out one step of the result's scale away. On from `--opt-level` 1;
    `--disable-pass` of the pass keeps to the model's own arithmetic.
    """
    APPROXIMATE = "approximate"
    """Anything else, within what the pass states."""

    def or_more(self, *others: Numerics) -> Numerics:
        """The class, of itself and others, that allows the most."""
        return max((self, *others), key=list(Numerics).index)


@dataclass(frozen=True)
class Pass(ModulePass):
    """
    A pass over a module. Options are dataclass fields; the docstring has its preconditions and its result.

    A plain `ModulePass` of xDSL's runs as well: it counts as one of level 0 that requires nothing.
    """

    opt_level: ClassVar[int] = 0
    """The lowest `PassContext.opt_level` at which it runs; at 0 only what keeps results bit-equal."""

    numerics: ClassVar[Numerics] = Numerics.EXACT
    """
    The class of its patterns, which tests check for graph passes; below that level the schedule decides the
    order of sums.
    """

    required: ClassVar[tuple[str, ...]] = ()
    """Names of passes that run directly before this one, wanted or not."""

    preserves: ClassVar[tuple[str, ...]] = ()
    """Names of analyses that hold after it as before; `ALL_ANALYSES` of a pass that changes nothing."""

    def numerics_with_options(self) -> Numerics:
        """The class of the pass with its options, some of which permit more than its patterns need."""
        return self.numerics


@dataclass(frozen=True)
class FunctionPass(Pass):
    """A pass over the functions of a module with a body and without `skip_optimization`, one at a time."""

    @abstractmethod
    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        """Change one function, in place."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            self.apply_to_function(ctx, func)
            agree_with_return(func)


def agree_with_return(func: FuncOp) -> None:
    """Update a function's type to the result types of its `return`, which rewriting makes more precise."""
    last = func.body.blocks[-1].last_op
    if isinstance(last, ReturnOp) and tuple(last.operand_types) != tuple(func.function_type.outputs):
        func.properties["function_type"] = FunctionType.from_lists(
            func.function_type.inputs.data, last.operand_types
        )


def bodies_of(module: ModuleOp) -> list[Operation]:
    """The function ops of all dialects (`llvm.func` too) that have a body and no `skip_optimization`."""
    return [
        op
        for op in module.walk()
        if (op.name == "llvm.func" or op.has_trait(CallableOpInterface))
        and any(region.blocks for region in op.regions)
        and "skip_optimization" not in op.attributes
    ]


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The `func.func` ops that passes work on: with a body and without the attribute `skip_optimization`."""
    found: list[FuncOp] = []
    for op in module.ops:
        if isinstance(op, ModuleOp):
            found += functions_of(op)
        elif isinstance(op, FuncOp) and not op.is_declaration and "skip_optimization" not in op.attributes:
            found.append(op)
    return found
