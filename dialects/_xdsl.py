"""
Everything of ours that leans on xDSL's private parts, in one place: the compilation context and rewriter
hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import getclosurevars
from typing import cast

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect, Operation
from xdsl.pattern_rewriter import RewritePattern

from stepwell.runtime.target import TargetDescription, host_target
from stepwell.runtime.weights import WeightStore

# Dialects of ours, and those of xDSL's that we extend: name -> "module:attribute", imported when first used.
DIALECTS: dict[str, str] = {
    "graph": "stepwell.dialects.graph:Graph",
    "onnx": "stepwell.dialects.onnx:Onnx",
    "arith": "stepwell.dialects.arith:Arith",
    "sched": "stepwell.dialects.sched:Sched",
    "llvm": "stepwell.dialects.llvm:LLVM",
    "vector": "stepwell.dialects.vector:Vector",
}


class StepwellContext(Context):
    """
    One compilation's xDSL context: all dialects, registered lazily, the weights that the IR names, and the
    target to compile for (this machine, unless set).
    """

    def __init__(self, *, allow_unregistered: bool = False):
        super().__init__(allow_unregistered=allow_unregistered)
        self.weights = WeightStore()
        self.target: TargetDescription = host_target()
        for name, factory in get_all_dialects().items():
            if name not in DIALECTS:
                self.register_dialect(name, factory)
        for name, place in DIALECTS.items():
            self.register_dialect(name, _loader(place))


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

    xDSL's decorator keeps them in the closure of the method only.
    Raises: TypeError for a pattern that is not written with the decorator.
    """
    function = getattr(type(pattern), "match_and_rewrite")  # noqa: B009
    types = cast(Iterable[type[Operation]] | None, getclosurevars(function).nonlocals.get("expected_types"))
    expected = getclosurevars(function).nonlocals.get("expected_type")
    if types is None and expected is None:
        raise TypeError(f"{type(pattern).__name__}.match_and_rewrite needs @op_type_rewrite_pattern")
    if types is not None:
        return tuple(types)
    return (cast(type[Operation], expected),) if isinstance(expected, type) else tuple(expected.__args__)  # noqa: B009
