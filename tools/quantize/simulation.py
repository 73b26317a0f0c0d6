"""The simulation: a compiled model with a switch for each layer, to measure the costs of layers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from stepwell.dialects.graph.observers import layers_of
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.program import Program
from stepwell.tools.quantize.data import Samples
from stepwell.tools.quantize.metrics import Metric, Outputs, decibels

SWITCHES = "quantized_layers"
MEASURED, RANKED = 64, 16
"""The most samples of a measurement, and of one that ranks a layer."""


def switched_layers(annotated: Program) -> list[str]:
    """The layers of an annotated program, in the order of the switches."""
    return layers_of(main_of(annotated.module))


class Simulation:
    """
    A model whose layers are quantized where they are switched on, in floats.

    Args: `model` takes the switches as its last input; `layers` are their names in order.
    """

    def __init__(
        self,
        model: CompiledModel,
        layers: Sequence[str],
        samples: Samples,
        measure: Metric,
        reference: Sequence[Outputs],
    ):
        self.layers, self._model, self._samples = list(layers), model, samples
        self._measure, self._reference = measure, reference
        self._values: dict[tuple[frozenset[str], int], tuple[float, float]] = {}

    def value(self, quantized: Collection[str]) -> float:
        """The measure with some layers quantized: that of f32 over all samples, less the loss over some."""
        loss = self._run([], MEASURED)[0] - self._run(quantized, MEASURED)[0]
        return self._measure.reference - loss

    def alone(self, layer: str) -> tuple[float, float]:
        """The loss of the measure when a layer alone is quantized, and the ratio of outputs to noise."""
        value, ratio = self._run([layer], RANKED)
        return self._run([], RANKED)[0] - value, ratio

    def _run(self, quantized: Collection[str], count: int) -> tuple[float, float]:
        """The measure and the ratio in dB with some layers quantized, over so many samples."""
        key = frozenset(quantized), count
        if key not in self._values:
            numbers = self._samples.some(count)
            switches = np.array([layer in quantized for layer in self.layers])
            found = [dict(self._model.run({**self._samples.feeds[i], SWITCHES: switches})) for i in numbers]
            ratio = output_ratio([self._reference[i] for i in numbers], found)
            self._values[key] = self._measure.function(numbers, found), ratio
        return self._values[key]


def output_ratio(reference: Sequence[Outputs], found: Sequence[Outputs]) -> float:
    """The ratio of signal to noise in dB over the outputs of floats."""
    signal = noise = 0.0
    for wanted, got in zip(reference, found, strict=True):
        for name, array in wanted.items():
            if array.dtype.kind == "f":
                numbers = array.astype(np.float64)
                signal += float(np.sum(numbers**2))
                noise += float(np.sum((numbers - got[name].astype(np.float64)) ** 2))
    return decibels(signal, noise)
