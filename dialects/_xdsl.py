"""
Everything of ours that leans on xDSL's private parts, in one place: the compilation context and rewriter
hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import getclosurevars, unwrap
from types import UnionType
from typing import cast

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect, Operation
from xdsl.pattern_rewriter import RewritePattern

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.machine.target import TargetDescription, host_target

# Dialects of ours, and those of xDSL's that we extend: name -> "module:attribute", imported when first used.
DIALECTS: dict[str, str] = {
    "amx": "stepwell.dialects.amx:AMX",
    "graph": "stepwell.dialects.graph:Graph",
    "onnx": "stepwell.dialects.onnx:Onnx",
    "pattern": "stepwell.dialects.pattern:Pattern",
    "arith": "stepwell.dialects.arith:Arith",
    "sched": "stepwell.dialects.sched:Sched",
    "llvm": "stepwell.dialects.llvm:LLVM",
    "vector": "stepwell.dialects.vector:Vector",
}

DIALECT_ENTRY_POINTS = "stepwell.dialects"
"""The entry point group by which other packages add dialects: the dialect's name = `module:attribute`."""


class StepwellContext(Context):
    """
    The xDSL context of a compilation: all dialects, registered lazily, the weights that the IR names, and the
    target to compile for (this machine, unless set).
    """

    def __init__(self, *, allow_unregistered: bool = False):
        super().__init__(allow_unregistered=allow_unregistered)
        self.weights = WeightStore()
        self.target: TargetDescription = host_target()
        for name, factory in all_dialects().items():
            self.register_dialect(name, factory)


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """The loaders of all dialects: xDSL's, those that installed packages offer, plugins', and ours."""
    ours = {name: _loader(place) for name, place in DIALECTS.items()}
    return get_all_dialects() | _outside_dialects() | _PLUGGED_IN | ours


def plug_in_dialect(dialect: Dialect) -> None:
    """
    Add a plugin's dialect to every context made from now on in this process.

    Raises: StepwellError `name-taken` for a name that another dialect has.
    """
    known = all_dialects().get(dialect.name)
    if known is not None and known() is not dialect:
        raise StepwellError("name-taken", None, f"there is a dialect named {dialect.name!r} already")
    _PLUGGED_IN[dialect.name] = lambda: dialect


_PLUGGED_IN: dict[str, Callable[[], Dialect]] = {}


@cache
def _outside_dialects() -> dict[str, Callable[[], Dialect]]:
    return {point.name: _loader(point.value) for point in entry_points(group=DIALECT_ENTRY_POINTS)}


def _loader(place: str) -> Callable[[], Dialect]:
    module, attribute = place.split(":")
    return lambda: cast(Dialect, getattr(import_module(module), attribute))


def weights_of(ctx: Context) -> WeightStore:
    """The weight store of a compilation. Raises: TypeError for a context that is not Stepwell's."""
    if not isinstance(ctx, StepwellContext):
        raise TypeError("weights need a StepwellContext: create the context with StepwellContext()")
    return ctx.weights


def target_of(ctx: Context) -> TargetDescription:
    """The target of a compilation; this machine for a context that is not Stepwell's."""
    return ctx.target if isinstance(ctx, StepwellContext) else host_target()


def matched_op_types(pattern: RewritePattern) -> tuple[type[Operation], ...]:
    """
    The operation classes that a pattern written with `@op_type_rewrite_pattern` matches.

    A pattern that goes by a table names them in `takes`; xDSL's decorator keeps the others in the closure of
    the method only.
    Raises: TypeError for a pattern that is not written with the decorator.
    """
    if declared := cast("tuple[type[Operation], ...]", getattr(pattern, "takes", ())):
        return declared
    captured = getclosurevars(unwrap(type(pattern).match_and_rewrite)).nonlocals
    if "expected_type" not in captured:
        raise TypeError(f"{type(pattern).__name__}.match_and_rewrite needs @op_type_rewrite_pattern")
    expected = cast("type[Operation] | UnionType", captured["expected_type"])
    return (expected,) if isinstance(expected, type) else expected.__args__
