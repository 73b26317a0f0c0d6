"""Ranges of activations from their statistics, and scales and zero points from ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

BINS = 2048
"""The bins of a histogram."""
_LEAST_SCALE = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Statistics:
    """The statistics of a value over all samples: its range, its mean, and a histogram over the range."""

    min: float
    max: float
    mean: float = 0.0
    counts: tuple[int, ...] = ()

    def edges(self) -> Doubles:
        """The edges of the bins of the histogram."""
        return np.linspace(self.min, self.max, len(self.counts) + 1)

    def centres(self) -> Doubles:
        """The middles of the bins of the histogram."""
        edges = self.edges()
        return (edges[1:] + edges[:-1]) / 2


class Range(NamedTuple):
    """The least and the greatest number that codes stand for."""

    lo: float
    hi: float


class Calibration(NamedTuple):
    """The method by which a range is made of statistics, with its numbers."""

    method: str = "minmax"
    percentile: float = 99.99
    global_scale: float = 8.0

    @property
    def needs_histogram(self) -> bool:
        """Whether ranges depend on how often numbers occur, so that data runs twice."""
        return self.method in ("percentile", "entropy", "mse")

    @property
    def needs_data(self) -> bool:
        """Whether ranges depend on data at all."""
        return self.method != "global"

    @property
    def text(self) -> str:
        """The method with its number."""
        numbers = {"percentile": f" {self.percentile:g}", "global": f" {self.global_scale:g}"}
        return self.method + numbers.get(self.method, "")

    def range_of(self, statistics: Statistics, *, is_unsigned: bool = True) -> Range:
        """The range of an activation."""
        return _METHODS[self.method](statistics, self, is_unsigned)

    def scale_of(
        self, statistics: Statistics, *, is_unsigned: bool = True
    ) -> tuple[np.float32, np.integer[Any]]:
        """The scale and zero point of an activation."""
        found = self.range_of(statistics, is_unsigned=is_unsigned)
        return activation_scale(found, is_unsigned=is_unsigned, symmetric=self.method == "global")

    def check(self) -> None:
        """Require a method that there is, and numbers in their ranges. Raises: StepwellError `bad-option`."""
        if self.method not in _METHODS:
            message = f"there is no calibration {self.method!r}"
            raise StepwellError("bad-option", None, message, help=f"there is {', '.join(_METHODS)}")
        if not 50 < self.percentile <= 100:
            message = f"a percentile is above 50 and at most 100, found {self.percentile:g}"
            raise StepwellError("bad-option", None, message)
        if not 0 < self.global_scale < float("inf"):
            message = f"a global scale is a positive number, found {self.global_scale:g}"
            raise StepwellError("bad-option", None, message)


def _minmax(statistics: Statistics, calibration: Calibration, is_unsigned: bool) -> Range:
    """All numbers that occurred."""
    return Range(statistics.min, statistics.max)


def _percentile(statistics: Statistics, calibration: Calibration, is_unsigned: bool) -> Range:
    """The range without half of the rest at each tail, linear inside a bin."""
    counts = np.asarray(statistics.counts, np.float64)
    total = np.cumsum(counts)
    if not len(counts) or not total[-1]:
        return Range(statistics.min, statistics.max)
    rest = (100 - calibration.percentile) / 200 * total[-1]
    positions = np.concatenate([[0.0], total])
    lo, hi = np.interp([rest, total[-1] - rest], positions, statistics.edges())
    return Range(float(lo), float(hi))


def _global(statistics: Statistics, calibration: Calibration, is_unsigned: bool) -> Range:
    """The same range for all activations."""
    return Range(-calibration.global_scale, calibration.global_scale)


def _mse(statistics: Statistics, calibration: Calibration, is_unsigned: bool) -> Range:
    """The fraction of the range whose codes have the least squared error."""
    counts, centres = np.asarray(statistics.counts, np.float64), statistics.centres()
    best, least = Range(statistics.min, statistics.max), np.inf
    for fraction in np.linspace(1, 0.3, 100) if len(counts) else ():
        tried = Range(statistics.min * float(fraction), statistics.max * float(fraction))
        scale, zero = activation_scale(tried, is_unsigned=is_unsigned)
        error = float(
            np.sum(counts * (centres - _rounded(centres, float(scale), int(zero), is_unsigned)) ** 2)
        )
        if error < least:
            best, least = tried, error
    return best


def _rounded(numbers: Doubles, scale: float, zero: int, is_unsigned: bool) -> Doubles:
    """Numbers quantized and dequantized."""
    lo, hi = (0, 255) if is_unsigned else (-128, 127)
    return (np.clip(np.rint(numbers / scale) + zero, lo, hi) - zero) * scale


_LEVELS = 128
_SMOOTHED = 1e-4


def _entropy(statistics: Statistics, calibration: Calibration, is_unsigned: bool) -> Range:
    """
    The symmetric range whose clipped histogram loses least when it has 128 levels.

    Source: Migacz 2017, "8-bit Inference with TensorRT".
    """
    counts, centres = np.asarray(statistics.counts, np.float64), statistics.centres()
    most = max(abs(statistics.min), abs(statistics.max))
    if not len(counts) or not most:
        return Range(statistics.min, statistics.max)
    width = most / BINS
    of_bin = np.minimum((np.abs(centres) / width).astype(np.int64), BINS - 1)
    magnitudes = np.bincount(of_bin, weights=counts, minlength=BINS).astype(np.float64)
    losses = [_divergence(magnitudes, bins) for bins in range(_LEVELS, BINS + 1)]
    threshold = (int(np.argmin(losses)) + _LEVELS) * width
    return Range(max(-threshold, statistics.min), min(threshold, statistics.max))


def _divergence(counts: Doubles, bins: int) -> float:
    """The Kullback-Leibler divergence of the first bins, the rest added to the last, from 128 levels."""
    clipped = counts[:bins].copy()
    clipped[-1] += counts[bins:].sum()
    level = np.minimum(np.arange(bins) * _LEVELS // bins, _LEVELS - 1)
    occurs = counts[:bins] > 0
    sums = np.bincount(level, weights=counts[:bins], minlength=_LEVELS)
    filled = np.bincount(level, weights=occurs, minlength=_LEVELS)
    spread = np.where(occurs, sums[level] / np.maximum(filled[level], 1), 0.0)
    p, q = _smoothed(clipped), _smoothed(spread)
    return float(np.sum(p * np.log(p / q)))


def _smoothed(counts: Doubles) -> Doubles:
    """A distribution without zeros."""
    shares = counts / max(counts.sum(), 1)
    shares = np.where(shares > 0, shares, _SMOOTHED)
    return shares / shares.sum()


_Method: TypeAlias = Callable[[Statistics, Calibration, bool], Range]
_METHODS: Mapping[str, _Method] = {
    "minmax": _minmax,
    "percentile": _percentile,
    "entropy": _entropy,
    "mse": _mse,
    "global": _global,
}
METHODS = tuple(_METHODS)


def activation_scale(
    range: Range, *, is_unsigned: bool = True, symmetric: bool = False
) -> tuple[np.float32, np.integer[Any]]:
    """
    The scale and zero point of an activation, whose range has 0.

    Args: `symmetric` puts the zero point in the middle, as `global` has it.
    """
    lo, hi = min(0.0, range.lo), max(0.0, range.hi)
    if not is_unsigned:
        most = max(-lo, hi)
        return _scale(most / 127), np.int8(0)
    if symmetric:
        return _scale(max(-lo, hi) / 128), np.uint8(128)
    scale = _scale((hi - lo) / 255)
    if hi == lo:
        return scale, np.uint8(0)
    return scale, np.uint8(np.clip(np.rint(-lo / float(scale)), 0, 255))


def _scale(number: float) -> np.float32:
    """A scale that is no zero and no denormal: 1 for a tensor of zeros."""
    if number == 0:
        return np.float32(1)
    return np.float32(max(number, _LEAST_SCALE))
