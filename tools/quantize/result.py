"""The parts of a report: accuracy, layers, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Accuracy:
    """The values of a measure in f32 and quantized, and the budget."""

    metric: str
    unit: str
    f32: float
    quantized: float
    budget: float | None = None
    sqnr: float | None = None
    """The ratio of all outputs to their noise, in dB."""


@dataclass(frozen=True)
class Histogram:
    """An activation's numbers in bars from `min` to `max`; codes reach from `lo` to `hi`."""

    min: float
    max: float
    bars: Sequence[int]
    lo: float
    hi: float


@dataclass
class Layer:
    """A node that may be quantized: decision, reason and measurements."""

    name: str
    op: str
    decision: str
    reason: str
    weight_sqnr: float | None = None
    sqnr_alone: float | None = None
    loss_alone: float | None = None
    clipped: float | None = None
    us_f32: float | None = None
    us: float | None = None
    bytes_f32: int = 0
    bytes: int = 0
