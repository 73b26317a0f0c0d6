"""The report on what quantizing a model costs, and the model with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from stepwell.runtime.files.whole_files import make_folder, write_bytes, write_text
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.driver.options import CompileKeywords
from stepwell.tools.quantize.page import page_of
from stepwell.tools.quantize.result import Accuracy, Histogram, Layer

if TYPE_CHECKING:
    from onnx import ModelProto

FORMAT, VERSION = "stepwell-quantization", 1


@dataclass(frozen=True)
class QuantizationReport:
    """The report of a quantization: the decisions layer by layer, and the costs."""

    scheme: str
    calibration: str
    samples: int
    accuracy: Accuracy
    layers: Sequence[Layer]
    bytes_f32: int
    bytes: int
    seconds_f32: float = 0.0
    seconds: float = 0.0
    command: str = ""
    notes: Sequence[str] = field(default_factory=list[str])
    model: str = ""
    histograms: Mapping[str, Histogram] = field(default_factory=dict[str, Histogram])
    """By layer, of its first operand; on the page alone."""

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        facts = {key: value for key, value in asdict(self).items() if key != "histograms"}
        return {"format": FORMAT, "version": VERSION, **facts}

    def write(self, folder: str | Path) -> None:
        """Write `report.json` and a page, `index.html`. Raises: StepwellError `cannot-write`."""
        place = Path(folder)
        make_folder(place)
        text = json.dumps(self.to_json(), indent=1, allow_nan=False)
        write_text(place / "report.json", f"{text}\n")
        page = page_of(self.model, summary_lines(self), self.layers, self.histograms)
        write_text(place / "index.html", page)


@dataclass(frozen=True)
class Quantized:
    """A quantized model with its report."""

    model: ModelProto
    report: QuantizationReport

    def save(self, path: str | Path) -> None:
        """Write the model's file, whole or not at all. Raises: StepwellError `cannot-write`."""
        write_bytes(path, self.model.SerializeToString())

    def compile(self, **options: Unpack[CompileKeywords]) -> CompiledModel:
        """The model compiled; `options` as those of `stepwell.compile`."""
        return compile_model(self.model, **options)


def summary_lines(report: QuantizationReport, written: str = "") -> list[str]:
    """The report in a few lines."""
    model = report.model + (f" -> {written}" if written else "")
    accuracy, percent = report.accuracy, report.accuracy.unit == "%"

    def shown(value: float) -> str:
        return f"{100 * value:.1f} %" if percent else f"{value:.4g} {accuracy.unit}".strip()

    what = "agreement with f32" if accuracy.metric == "agreement" else accuracy.metric
    budget = f"  (budget: at least {shown(accuracy.budget)})" if accuracy.budget is not None else ""
    quality = f"{what} {shown(accuracy.f32)} -> {shown(accuracy.quantized)}{budget}"
    if accuracy.metric == "sqnr":
        quality = f"signal to noise {shown(accuracy.quantized)}{budget}"
    done = sum(layer.decision != "f32" for layer in report.layers)
    lines = [
        f"{model}   {report.scheme}, {report.calibration}, {report.samples} samples",
        f"{quality}    time {_time(report.seconds_f32)} -> {_time(report.seconds)}    "
        f"weights {_bytes(report.bytes_f32)} -> {_bytes(report.bytes)}",
    ]
    kept = [layer for layer in report.layers if layer.decision == "f32"]
    names = ", ".join(f'"{layer.name}" ({_why(layer, shown)})' for layer in kept[:4])
    more = f", and {len(kept) - 4} more" if len(kept) > 4 else ""
    tail = f"; kept f32: {names}{more}" if kept else ""
    lines.append(f"{done} of {len(report.layers)} layers {report.scheme}{tail}")
    return [*lines, *(f"note: {note}" for note in report.notes)]


def _why(layer: Layer, shown: Callable[[float], str]) -> str:
    """The reason for which a layer stays in f32."""
    reason = layer.reason.removeprefix("kept: ")
    if reason == "accuracy" and layer.loss_alone is not None:
        return f"{reason}: alone it costs {shown(layer.loss_alone)}"
    return reason


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
    return ""


def _bytes(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 1e6 else f"{count / 1e3:.3g} kB"
