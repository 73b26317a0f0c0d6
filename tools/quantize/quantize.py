"""`stepwell.quantize`: a model with fewer bits, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from stepwell.dialects.quantization.plan import write_plan
from stepwell.dialects.quantization.ranges import Calibration
from stepwell.dialects.quantization.table import CalibrationTable, read_table
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.quantize.calibration import calibrated
from stepwell.tools.quantize.data import Data, Samples, made_up_samples, read_labels, read_samples
from stepwell.tools.quantize.metrics import Function, Metric, Outputs, budget_of, metric_of
from stepwell.tools.quantize.planning import Int8, int8_plan
from stepwell.tools.quantize.result import Accuracy, QuantizationReport, Quantized
from stepwell.tools.quantize.source import Source

if TYPE_CHECKING:
    from onnx import ModelProto

SCHEMES = ("int8",)
_OPSETS = {"int8": 13}


@dataclass(frozen=True)
class QuantizeOptions:
    """The options of a quantization; the command line has the same names."""

    scheme: str = "int8"
    calibration: Calibration = field(default_factory=Calibration)
    keep_f32: Sequence[str] = ()
    only: Sequence[str] = ()
    samples: int | None = None
    seed: int = 0
    activation_type: str = "u8"
    reduce_range: bool = False
    read_calibration: Path | None = None
    write_calibration: Path | None = None
    threads: int | None = None
    compile: CompileOptions = field(default_factory=CompileOptions)


def quantize(
    model: str | Path | bytes | ModelProto,
    data: Data | None = None,
    options: QuantizeOptions | None = None,
    *,
    labels: str | Path | Array | None = None,
    metric: str | Function | None = None,
    accuracy_drop: str | float | None = None,
) -> Quantized:
    """Quantize a model."""
    how = options or QuantizeOptions()
    source = Source(model, _OPSETS[how.scheme], how.compile)
    samples = _samples(data, source, how)
    known = None if labels is None else read_labels(labels, len(samples.feeds))
    f32 = source.compiled(source.level_0(), how.threads)
    reference = _run_all(f32, samples)
    measure = metric_of(metric, known, reference, samples.feeds, f32.interface.outputs)
    budget = budget_of(accuracy_drop, measure)
    table = _table(source, samples, how)
    made = _written(source, table, how)
    quantized = source.compiled(made, how.threads)
    found = measure.function(range(len(samples.feeds)), _run_all(quantized, samples))
    if budget is not None and not budget.holds(found):
        message = f"{measure.name} is {measure.shown(found)}, below what the budget allows"
        raise StepwellError("accuracy-budget", source.name, message)
    report = _report(source, how, samples, measure, found, None if budget is None else budget.least)
    return Quantized(made, report)


def _samples(data: Data | None, source: Source, how: QuantizeOptions) -> Samples:
    if data is not None:
        return read_samples(data, source.interface, how.samples)
    if how.scheme == "int8" and how.calibration.needs_data and how.read_calibration is None:
        message = "int8 needs samples to find the ranges of activations"
        help = "--data F.npz, or --scheme int8-dynamic, which needs none"
        raise StepwellError("missing-data", source.name, message, help=help)
    return made_up_samples(source.interface, how.seed)


def _run_all(model: CompiledModel, samples: Samples) -> list[Outputs]:
    return [dict(model.run(feed)) for feed in samples.feeds]


def _table(source: Source, samples: Samples, how: QuantizeOptions) -> CalibrationTable:
    if not how.calibration.needs_data:
        return CalibrationTable()
    if how.read_calibration is not None:
        return read_table(how.read_calibration)
    annotate = f"annotate-quantization{{activation-type={how.activation_type} all-results=true}}"
    table = calibrated(source, samples.for_calibration, how.calibration, annotate, how.threads)
    if how.write_calibration is not None:
        table.write(how.write_calibration)
    return table


def _written(source: Source, table: CalibrationTable, how: QuantizeOptions) -> ModelProto:
    program = source.level_1(f"annotate-quantization{{activation-type={how.activation_type}}}")
    numbers = Int8(table, how.calibration, how.activation_type, 63 if how.reduce_range else 127)
    entries = int8_plan(source, program, numbers)
    if not any(entry.role == "weight" for entry in entries):
        raise StepwellError("nothing-to-quantize", source.name, "no node of the model can be quantized")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        write_plan(path, entries)
        return source.written(path)


def _report(
    source: Source, how: QuantizeOptions, samples: Samples, measure: Metric, found: float, least: float | None
) -> QuantizationReport:
    accuracy = Accuracy(measure.name, measure.reference, found, least)
    return QuantizationReport(
        how.scheme, how.calibration.method, len(samples.feeds), accuracy, [], 0, 0, 0, 0
    )
