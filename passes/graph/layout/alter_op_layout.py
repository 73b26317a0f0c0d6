"""`alter-op-layout`: each convolution gets the layout that suits it on the target."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.dialects import graph
from stepwell.dialects._xdsl import target_of, weights_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.layout.convert_layout import convert_function, layout_from
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMaps
from stepwell.passes.graph.layout.layout_rewrites import conv
from stepwell.runtime.layout import plain_layout
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.packages import entry_points

ENTRY_POINTS = "stepwell.layout_choices"
"""The entry point group of other packages: each point is a `LayoutChoice`, called before ours."""

LayoutChoice: TypeAlias = Callable[[graph.ConvOp, TargetDescription], str | None]
"""A function that returns a layout `DATA:KERNEL` for a convolution, "" to keep it, None for no opinion."""


@dataclass(frozen=True)
class AlterOpLayoutPass(FunctionPass):
    """
    Choose a layout for each convolution by the target, and store feature maps so, as `convert-layout` does.

    By default it blocks the channels by the lanes of a vector. Convolutions with different layouts are
    converted one layout after the other; feature maps between them are transformed. An empty layout keeps an
    op as it is.

    Class: rounding (sums are taken in another order). Runs before `fuse-ops`.
    Source: TVM's AlterOpLayout.
    """

    name = "alter-op-layout"
    opt_level = 2
    numerics = Numerics.ROUNDING

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        target = target_of(ctx)
        convolutions = [op for op in func.body.walk() if isinstance(op, graph.ConvOp)]
        chosen = {op: choose_layout(op, target) for op in convolutions}
        for text in dict.fromkeys(filter(None, chosen.values())):
            wanted = {op for op, choice in chosen.items() if choice == text}

            def stored(op: graph.ConvOp, values: FeatureMaps, wanted: Set[graph.ConvOp] = wanted) -> bool:
                return op in wanted and conv(op, values)

            convert_function(func, layout_from(text), weights_of(ctx), {graph.ConvOp: stored})


def choose_layout(op: graph.ConvOp, target: TargetDescription) -> str:
    """The layout of the first function with an opinion, other packages' before ours; empty for none."""
    choices = (choose(op, target) for choose in (*_other_choices(), blocked_channels))
    return next((choice for choice in choices if choice is not None), "")


def blocked_channels(op: graph.ConvOp, target: TargetDescription) -> str | None:
    """The default choice: channels in blocks of the f32 lanes of a vector, such as `NCHW16c:OIHW16i16o`."""
    lanes, rank = target.f32_lanes, len(op.strides.get_values())
    return f"{plain_layout('NC', rank)}{lanes}c:{plain_layout('OI', rank)}{lanes}i{lanes}o"


@cache
def _other_choices() -> tuple[LayoutChoice, ...]:
    return tuple(point.load() for point in entry_points(ENTRY_POINTS))
