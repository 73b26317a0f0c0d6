"""The pass `convert-loops-to-emitc`: its patterns, and cleanup of values without uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.emitc import EmitC_CallOpaqueOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import is_side_effect_free

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.lowering.loops_to_emitc import (
    affine_maps,
    arithmetic,
    casts,
    control_flow,
    functions,
    math_functions,
    memory,
    runtime_calls,
    views,
)
from stepwell.lowering.loops_to_emitc.pattern import LoopsToEmitCPattern, State, block_argument_type
from stepwell.patterns.driver.conversion import convert
from stepwell.patterns.driver.pattern_set import patterns_in

_PATTERNS: list[type[LoopsToEmitCPattern]] = patterns_in(
    LoopsToEmitCPattern,
    functions,
    control_flow,
    affine_maps,
    arithmetic,
    casts,
    math_functions,
    memory,
    views,
    runtime_calls,
)
_ILLEGAL = (
    *("func", "arith", "math", "cf", "scf", "affine", "memref", "vector", "linalg", "tensor", "sched", "amx"),
)


@dataclass(frozen=True)
class ConvertLoopsToEmitcPass(ModulePass):
    """
    Lower `func`, `arith`, `math`, `scf`, `affine` and `memref` to `emitc`, a program in C99.

    Needs scalars alone (`scalarize-vectors`) and functions written out (`expand-math`). Kernels become
    functions that return nothing; `@main` becomes `model_main`, which returns a status and gets the caller's
    struct. Loops that were parallel become plain ones. Fails, and lists them all, when other ops are left.
    """

    name: ClassVar[str] = "convert-loops-to-emitc"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert in program order, then erase unused values."""
        kernels = frozenset(f.sym_name.data for f in op.ops if isinstance(f, func.FuncOp) and is_kernel(f))
        weights = [each.sym_name.data for each in op.ops if isinstance(each, memref.GlobalOp)]
        state = State(kernels, {name: index for index, name in enumerate(weights)})
        patterns: list[RewritePattern] = [pattern(state) for pattern in _PATTERNS]
        convert(op, patterns, _ILLEGAL, type_converter=block_argument_type, convert_new_ops=True)
        for function in op.ops:
            if isinstance(function, emitc.FuncOp):
                _erase_unused(function)


def _erase_unused(function: Operation) -> None:
    """Erase expressions without uses, the last ones first."""
    for inner in list(function.walk()):
        if isinstance(inner, emitc.VariableOp):
            _erase_unread(inner)
    for inner in reversed(list(function.walk())):
        if inner is not function and inner.results and all(r.first_use is None for r in inner.results):
            pure = is_side_effect_free(inner) or isinstance(inner, emitc.LoadOp | EmitC_CallOpaqueOp)
            if pure or isinstance(inner, emitc.VariableOp):
                inner.detach()
                inner.erase()


def _erase_unread(variable: emitc.VariableOp) -> None:
    """Erase the assignments of a variable, or to elements of an array, that nothing reads."""
    places = [variable.result]
    for use in variable.result.uses:
        if isinstance(use.operation, expressions.SubscriptOp) and use.index == 0:
            places.append(use.operation.result)
        elif not isinstance(use.operation, emitc.AssignOp):
            return
    uses = [use for place in places for use in place.uses]
    stores = [use.operation for use in uses if isinstance(use.operation, emitc.AssignOp)]
    subscripts = [use.operation for use in uses if isinstance(use.operation, expressions.SubscriptOp)]
    if len(stores) + len(subscripts) == len(uses):
        for op in (*stores, *subscripts):
            op.detach()
            op.erase()
