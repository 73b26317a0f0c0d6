"""The devices of a model in the summary of its compilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from stepwell.runtime.devices.table import PART_BACKENDS
from stepwell.runtime.dims import Dim
from stepwell.runtime.host import DEVICE
from stepwell.runtime.image import ModelImage

_MOST_NODES = 8

Part = Mapping[str, object]


def device_lines(
    image: ModelImage, size_text: Callable[[Dim], str], bytes_text: Callable[[object], str]
) -> list[str]:
    """
    For each device its nodes, and why; for each part what a call copies; then the ops on the host, and why.

    Args: `size_text` and `bytes_text` write a size that may be open, and a number of bytes.
    """
    parts = cast("Sequence[Part]", image.summary.get("parts", ()))
    launches, weights = _of_code(image)
    lines: list[str] = []
    for device in dict.fromkeys(str(part["device"]) for part in parts):
        own = [part for part in parts if part["device"] == device]
        nodes = list(dict.fromkeys(node for part in own for node in cast("Sequence[str]", part["nodes"])))
        note = " (experimental)" if own[0].get("experimental") else ""
        lines.append(f"{device} on {own[0]['on']}{note}: {_named(nodes)}; {own[0]['because']}")
        for part in own:
            name = str(part["part"])
            copied = f"copies per call: {part['copies']} ({size_text(Dim.of(str(part['bytes'])))})"
            kernels = f"{launches[name]} launches, " if name in launches else ""
            lines.append(f"  @{name}: {kernels}{copied}, weights {bytes_text(weights.get(name, 0))}")
    on_host = cast("Sequence[str]", image.summary.get("on the host", ()))
    return [*lines, *(f"host: {line}" for line in on_host)]


def _of_code(image: ModelImage) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The launches and the bytes of weights of parts, by name."""
    callees = [callee for entry in image.functions.values() for callee in entry.callees]
    code = {callee.name: len(callee.code) for callee in callees if callee.kind in PART_BACKENDS}
    if all(callee.kind != DEVICE for callee in callees):
        return {}, code
    from stepwell.runtime.devices.commands import Launch
    from stepwell.runtime.devices.moved import device_parts

    parts = device_parts(image)
    launches = {part.name: sum(isinstance(each, Launch) for each in part.commands) for part in parts}
    return launches, {**code, **{part.name: len(part.weights) for part in parts}}


def _named(nodes: Sequence[str]) -> str:
    """Nodes by name, the first of them."""
    shown = ", ".join(f'"{node}"' for node in nodes[:_MOST_NODES])
    more = f", … ({len(nodes)} in all)" if len(nodes) > _MOST_NODES else ""
    return f"nodes {shown}{more}" if nodes else "no node of the model"
