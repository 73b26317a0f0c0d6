"""The numpy meaning of layout changes."""

from __future__ import annotations

from stepwell.runtime.layout import parse_layout, to_layout
from stepwell.runtime.meaning import Array, meaning


@meaning("graph.layout_transform")
def layout_transform(x: Array, **layouts: str) -> Array:
    """The array in the layout `to` instead of `from`; new blocks are padded with zeros."""
    return to_layout(x, parse_layout(layouts["from"]), parse_layout(layouts["to"]))
