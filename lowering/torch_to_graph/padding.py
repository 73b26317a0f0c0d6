"""Padding of axes: with a number, by reflection, with the edge, or around."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import graph
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.promotion import number
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _padded(call: Call, pads: Sequence[Dim], mode: str, fill: Value | None = None) -> Value:
    """A value with pads (low and high, the last axis first), as torch lists them."""
    x = call.tensor()
    pairs = [(pads[i], pads[i + 1]) for i in range(0, len(pads), 2)]
    pairs += [(Dim.of(0), Dim.of(0))] * (x.rank - len(pairs))
    pairs.reverse()
    ordered = [low for low, _ in pairs] + [high for _, high in pairs]
    if all(pad == 0 for pad in ordered):
        return x
    if mode in ("edge", "reflect") and any(pad.is_static and pad.value < 0 for pad in ordered):
        # The edges are those of the whole tensor: what negative pads cut away is cut last.
        added = [pad.maximum(Dim.of(0)) for pad in ordered]
        x = call.at.op(graph.PadOp(x.ssa, added, mode, None))
        ordered, mode = [pad.minimum(Dim.of(0)) for pad in ordered], "constant"
        fill = call.at.number(0, call.element)
    return call.at.op(graph.PadOp(x.ssa, ordered, mode, None if fill is None else fill.ssa))


@converts("constant_pad_nd.default")
def constant_pad(call: Call) -> Value:
    """Padding with a number; negative pads cut."""
    return _padded(call, call.sizes("pad"), "constant", number(call, "value", call.element))


@converts("pad.default")
def pad(call: Call) -> Value:
    """Padding of a mode."""
    mode, value = str(call.value("mode")), call.value("value")
    if mode not in _MODES:
        raise call.unsupported(f"padding of mode {mode!r}")
    fill = None if mode != "constant" else call.at.number(0, call.element)
    if fill is not None and value is not None:
        fill = number(call, "value", call.element)
    return _padded(call, call.sizes("pad"), _MODES[mode], fill)


@converts("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def reflection_pad(call: Call) -> Value:
    """Padding by reflection at the edges."""
    return _padded(call, call.sizes("padding"), "reflect")


@converts("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def replication_pad(call: Call) -> Value:
    """Padding with the edges."""
    return _padded(call, call.sizes("padding"), "edge")


@converts("_pad_circular.default")
def circular_pad(call: Call) -> Value:
    """Padding with the opposite side."""
    return _padded(call, call.sizes("pad"), "wrap")
