"""`stepwell.quantize`: a model with fewer bits, within a budget of accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from stepwell.tools.quantize.options import QuantizeKeywords, quantize_options

if TYPE_CHECKING:
    from onnx import ModelProto

    from stepwell.runtime.interface import Array
    from stepwell.tools.quantize.data import Data
    from stepwell.tools.quantize.metrics import Function
    from stepwell.tools.quantize.report import Quantized


def quantize(
    model: str | Path | bytes | ModelProto,
    data: Data | None = None,
    scheme: str = "int8",
    *,
    labels: str | Path | Array | None = None,
    metric: str | Function | None = None,
    accuracy_drop: str | float | None = None,
    **options: Unpack[QuantizeKeywords],
) -> Quantized:
    """
    Quantize a model of ONNX, and measure what it costs.

    Args: `data` is a path of an .npz file or of a folder of those, arrays by input, or an iterable of feeds;
    `labels` are whole numbers, one a sample; `metric` is `top1`, `agreement`, `sqnr` or a function of outputs
    and feeds; `accuracy_drop` is the budget: `"0.5%"` of the value in f32, `0.005`, or `"30dB"` at least;
    `options` are those of the command `stepwell quantize`.
    Returns: the model (`.model`, `.save(path)`, `.compile()`) with a report (`.report`).
    Raises: StepwellError `missing-data`, `bad-data`, `bad-option`, `already-quantized`,
    `nothing-to-quantize`, `accuracy-budget`.
    """
    from stepwell.tools.quantize.quantize import quantized

    how = quantize_options(scheme, options)
    return quantized(model, data, how, labels=labels, metric=metric, accuracy_drop=accuracy_drop)
