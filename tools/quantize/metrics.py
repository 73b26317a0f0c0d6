"""Measures of a quantized model's results, larger being better, and budgets on what they may lose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, TensorSpec
from stepwell.tools.quantize.data import Feed

Outputs: TypeAlias = Mapping[str, Array]
Function: TypeAlias = Callable[[Sequence[Outputs], Sequence[Feed]], float]
Doubles = npt.NDArray[np.float64]

DECIBELS = "dB"
_BEST = 200.0
"""The signal-to-noise ratio of equal results, in dB."""


@dataclass(frozen=True)
class Metric:
    """A measure by name: its unit, its value of f32's own results, and the function of outputs and feeds."""

    name: str
    function: Callable[[Sequence[int], Sequence[Outputs]], float]
    """Of the numbers of samples and their outputs."""
    unit: str = "%"
    reference: float = 1.0
    """The value of the model in f32."""

    def shown(self, value: float) -> str:
        """A value of the measure as text."""
        if self.unit == "%":
            return f"{100 * value:.1f} %"
        return f"{value:.1f} {self.unit}".rstrip()


@dataclass(frozen=True)
class Budget:
    """The least value of a measure that is accepted, and the text that says so."""

    least: float
    text: str

    def holds(self, value: float) -> bool:
        """Whether a value is within the budget."""
        return value >= self.least - 1e-12


def metric_of(
    wanted: str | Function | None,
    labels: npt.NDArray[np.int64] | None,
    reference: Sequence[Outputs],
    feeds: Sequence[Feed],
    outputs: Sequence[TensorSpec],
) -> Metric:
    """
    The measure that is asked for, or that fits labels and outputs.

    Raises: StepwellError `bad-option` for one that does not fit, `bad-data` for labels out of range.
    """
    name = _first_float(outputs)
    if callable(wanted):
        function = wanted

        def of_user(numbers: Sequence[int], found: Sequence[Outputs]) -> float:
            return float(function(found, [feeds[i] for i in numbers]))

        value = of_user(range(len(feeds)), reference)
        return Metric(getattr(wanted, "__name__", "metric"), of_user, "", value)
    shape: tuple[int, ...] = np.shape(reference[0][name])
    classes = shape[-1] if shape else 0
    has_classes = classes >= 2
    kind = wanted or ("top1" if labels is not None else "agreement" if has_classes else "sqnr")
    match kind:
        case "top1" if labels is not None and has_classes:
            return _top1(labels, name, reference, classes)
        case "agreement" if has_classes:
            return Metric(kind, partial(_agreement, name, reference))
        case "sqnr":
            return Metric(
                kind, lambda numbers, found: _sqnr(name, reference, numbers, found), DECIBELS, _BEST
            )
        case _:
            message = f"the metric {kind!r} does not fit the model and its data"
            help = "top1 (with labels), agreement (of two classes or more), sqnr, or FILE.py:FUNCTION"
            raise StepwellError("bad-option", None, message, help=help)


def _first_float(outputs: Sequence[TensorSpec]) -> str:
    found = [spec.name for spec in outputs if spec.dtype.kind == "f"]
    if not found:
        raise StepwellError("bad-option", None, "the model has no output of floats to measure")
    return found[0]


def _top1(labels: npt.NDArray[np.int64], name: str, reference: Sequence[Outputs], classes: int) -> Metric:
    """The share of rows whose greatest number is at the label."""
    if labels.min(initial=0) < 0 or labels.max(initial=0) >= classes:
        message = f"labels are from 0 to {classes - 1}, found {labels.min()} to {labels.max()}"
        raise StepwellError("bad-data", None, message)

    def share(numbers: Sequence[int], found: Sequence[Outputs]) -> float:
        right = [
            np.ravel(_greatest(each[name]) == np.ravel(labels[i]))
            for i, each in zip(numbers, found, strict=True)
        ]
        return float(np.mean(np.concatenate(right)))

    return Metric("top1", share, reference=share(range(len(reference)), reference))


def _greatest(array: Array) -> npt.NDArray[np.int64]:
    """The position of the greatest number along the last axis, row by row."""
    return np.ravel(np.asarray(np.argmax(array, axis=-1), np.int64))


def _agreement(
    name: str, reference: Sequence[Outputs], numbers: Sequence[int], found: Sequence[Outputs]
) -> float:
    """The share of rows whose greatest number is where f32 has it."""
    same = [
        _greatest(each[name]) == _greatest(reference[i][name]) for i, each in zip(numbers, found, strict=True)
    ]
    return float(np.mean(np.concatenate(same)))


def _sqnr(name: str, reference: Sequence[Outputs], numbers: Sequence[int], found: Sequence[Outputs]) -> float:
    """The ratio of signal to noise over all samples, in dB."""
    signal = noise = 0.0
    for i, each in zip(numbers, found, strict=True):
        wanted: Doubles = reference[i][name].astype(np.float64)
        signal += float(np.sum(wanted**2))
        noise += float(np.sum((wanted - each[name].astype(np.float64)) ** 2))
    return decibels(signal, noise)


def decibels(signal: float, noise: float) -> float:
    """A ratio of powers in dB, at most `_BEST`."""
    if noise <= 0 or signal <= 0:
        return _BEST if noise <= 0 else -_BEST
    return min(_BEST, 10 * float(np.log10(signal / noise)))


def budget_of(drop: str | float | None, metric: Metric) -> Budget | None:
    """
    The budget of a drop: `0.5%` of the value in f32, `0.005` absolute, `30dB` a least ratio.

    Raises: StepwellError `bad-option` for a drop below 0, or of another unit than the measure.
    """
    if drop is None:
        return None
    text = str(drop).strip()
    is_ratio = text.lower().endswith(DECIBELS.lower())
    number = text.rstrip("%").removesuffix("dB").removesuffix("db").strip()
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not value >= 0 or is_ratio != (metric.unit == DECIBELS):
        unit = "a least ratio such as 30dB" if metric.unit == DECIBELS else "such as 0.5% or 0.005, from 0 on"
        message = f"the drop {text!r} is none of {metric.name}"
        raise StepwellError("bad-option", None, message, help=f"it is {unit}")
    if is_ratio:
        return Budget(value, f"at least {value:g} dB")
    loss = metric.reference * value / 100 if text.endswith("%") else value
    return Budget(metric.reference - loss, f"budget {text}")


def function_of(text: str) -> Function:
    """
    The function of a file, as `FILE.py:FUNCTION`. Runs the file.

    Raises: StepwellError `bad-option` when there is none.
    """
    path, _, name = text.rpartition(":")
    if not Path(path).is_file():
        raise StepwellError("bad-option", None, f"there is no file {path!r} of a metric")
    found = run_path(path).get(name)
    if not callable(found):
        raise StepwellError("bad-option", path, f"the file has no function {name!r}")
    return cast(Function, found)
