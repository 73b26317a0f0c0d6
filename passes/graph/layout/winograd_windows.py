"""The convolutions that Winograd's algorithm computes, in any layout."""

from __future__ import annotations

from xdsl.dialects.builtin import f32

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import parse_layout
from stepwell.runtime.winograd import FILTER

# Longer sums have larger errors: 4.2e-6 of the output's range at 512 channels, tiles of 4; the bound is 1e-5.
MAX_CHANNELS = {2: 8192, 4: 2048}


def not_for_winograd(op: graph.ConvOp) -> str | None:
    """The reason why Winograd's algorithm cannot compute a convolution: its window, steps, groups or type."""
    layout, filters = _filters(op)
    points = [filters[letter] for letter in layout]
    if points != [FILTER] * 2:
        return f"a window of {'x'.join(map(str, points))}, Winograd's are 3x3"
    if {*op.strides.get_values(), *op.dilations.get_values()} != {1}:
        return f"strides {list(op.strides.get_values())}, dilations {list(op.dilations.get_values())}"
    if op.groups.value.data > 1:
        return f"{op.groups.value.data} groups"
    if element_of_value(op.x) != f32:
        return f"elements of {element_of_value(op.x)}, Winograd's are f32"
    return None


def rounds_too_much(op: graph.ConvOp, tile: int) -> str | None:
    """The reason why tiles of a size have too large errors for a convolution."""
    channels = _filters(op)[1]["I"]
    if channels.is_static and channels.value > MAX_CHANNELS[tile]:
        return f"sums of {channels} channels round too much, at most {MAX_CHANNELS[tile]}"
    return None


def _filters(op: graph.ConvOp) -> tuple[tuple[str, ...], dict[str, Dim]]:
    """The spatial axes of the filters, and the size of each axis."""
    layout = parse_layout(op.kernel_layout.data)
    return layout.spatial, layout.logical(dims_of(op.w.type))
