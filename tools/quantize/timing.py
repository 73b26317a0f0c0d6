"""The time of each layer in f32 and quantized, measured side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.model import CompiledModel
from stepwell.tools.quantize.data import Feed, Samples

_RUNS, _SECONDS = 15, 1.0
_JOINED = 16
GAIN = 0.97
"""The most of its time in f32 that a quantized layer may take: with more it gains nothing."""


class Times(NamedTuple):
    """The seconds of a call, and of the kernels that are a layer's, by layer."""

    total: float
    layers: Mapping[str, float]


def joined_feed(samples: Samples, interface: Interface) -> Feed:
    """The first samples as a single feed where the model takes any number of them; else the first."""
    first = samples.feeds[0]
    if not all(spec.dims and not spec.dims[0].is_static for spec in interface.inputs):
        return first
    feeds = samples.feeds[:_JOINED]
    if any(feed[name].shape[1:] != first[name].shape[1:] for feed in feeds for name in first):
        return first
    return {name: np.concatenate([feed[name] for feed in feeds]) for name in first}


def times_of(models: Sequence[CompiledModel], feed: Feed, layers: Sequence[str]) -> list[Times]:
    """
    The least times of models that record the times of kernels, which take turns.

    A kernel of several layers is the first one's: later ones quantize its result.
    """
    taken: list[list[list[float]]] = [[] for _ in models]
    start = perf_counter()
    for number in range(_RUNS + 1):
        for each, model in zip(taken, models, strict=True):
            each.append(_run(model, feed))
        if number and perf_counter() - start > _SECONDS:
            break
    known = set(layers)
    found: list[Times] = []
    for model, runs in zip(models, taken, strict=True):
        *kernels, total = (float(least) for least in np.min(runs[1:], axis=0))
        of_layer: dict[str, float] = {}
        timed = model.image.main.timed if model.kernel_times is not None else ()
        for call, seconds in zip(timed, kernels, strict=True):
            if (layer := next((node for node in call.nodes if node in known), None)) is not None:
                of_layer[layer] = of_layer.get(layer, 0.0) + seconds
        found.append(Times(total, of_layer))
    return found


def _run(model: CompiledModel, feed: Mapping[str, Array]) -> list[float]:
    """The seconds of each kernel in a call, and of the call."""
    times = model.kernel_times
    if times is not None:
        times.clear()
    begin = perf_counter()
    model.run(feed)
    total = perf_counter() - begin
    return [*([] if times is None else map(float, times.seconds())), total]
