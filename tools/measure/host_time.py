"""The time that a call of a model spends outside of compiled code, by node of the model."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.runtime.model import CompiledModel

_MOST_NAMED = 3


def milliseconds_on_host(model: CompiledModel) -> Mapping[str, float]:
    """The time of each host call in the last call of a model, by function and node, the longest first."""
    named = [f"{callee.name.removeprefix('host.')} at {callee.where}" for callee in model.image.main.callees]
    times: dict[str, float] = {}
    for name, seconds in zip(named, model.host_seconds, strict=False):
        times[name] = times.get(name, 0.0) + 1e3 * seconds
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def described(on_host: Mapping[str, float], milliseconds: float) -> str:
    """`52.1 ms on the host of 58.1: string_split at m.onnx: node "a" 52.1`, at most three by name."""
    parts = [f"{name} {time:.1f}" for name, time in list(on_host.items())[:_MOST_NAMED]]
    if more := len(on_host) - len(parts):
        parts.append(f"and {more} more")
    return f"{of_total(sum(on_host.values()) / 1e3, milliseconds / 1e3)}: {', '.join(parts)}"


def of_total(on_host: float, total: float) -> str:
    """`52.1 ms on the host of 58.1`, from seconds."""
    return f"{1e3 * on_host:.1f} ms on the host of {1e3 * total:.1f}"
