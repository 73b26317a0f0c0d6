"""`stepwell.quantize`: a model with fewer bits, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from xdsl.passes import ModulePass

from stepwell.dialects.graph_ir.node_patterns import matching
from stepwell.dialects.quantization.plan import PlanEntry, write_plan
from stepwell.dialects.quantization.table import CalibrationTable, read_table
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weight_file import write_weights
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.warned import warn
from stepwell.tools.driver.program import Program
from stepwell.tools.quantize.adjusting import Arrays, corrected_biases, gptq_arrays
from stepwell.tools.quantize.calibration import calibrated
from stepwell.tools.quantize.choice import kept_in_floats, ranking
from stepwell.tools.quantize.data import FEW, Data, Samples, made_up_samples, read_labels, read_samples
from stepwell.tools.quantize.layers import ACCURACY, ASKED, NO_GAIN, layer_rows
from stepwell.tools.quantize.metrics import Budget, Function, Metric, Outputs, budget_of, metric_of
from stepwell.tools.quantize.options import QuantizeOptions
from stepwell.tools.quantize.page import histograms_of
from stepwell.tools.quantize.planning import Int8, WeightCodes, int8_plan, weights_plan
from stepwell.tools.quantize.report import QuantizationReport, Quantized
from stepwell.tools.quantize.rescaling import rescaled
from stepwell.tools.quantize.result import Accuracy
from stepwell.tools.quantize.simulation import Simulation, output_ratio, switched_layers
from stepwell.tools.quantize.source import Source, made_pass, operator_of
from stepwell.tools.quantize.timing import GAIN, Times, joined_feed, times_of

if TYPE_CHECKING:
    from onnx import ModelProto


class QuantizeWarning(UserWarning):
    """A doubt about what a quantization is based on."""


def quantized(
    model: str | Path | bytes | ModelProto,
    data: Data | None,
    how: QuantizeOptions,
    *,
    labels: str | Path | Array | None = None,
    metric: str | Function | None = None,
    accuracy_drop: str | float | None = None,
) -> Quantized:
    """
    Quantize a model, and measure it.

    Raises: StepwellError `missing-data`, `already-quantized`, `nothing-to-quantize`, `accuracy-budget`; of
    data and options.
    """
    how = how if data is None else how.with_data()
    work = _Quantization(Source(model, how.about.opset, how.compile), how)
    work.choose_nodes()
    source = work.source
    work.samples = _samples(data, source, how)
    known = None if labels is None else read_labels(labels, len(work.samples.feeds))
    work.f32 = source.compiled(source.level_0(), how.threads, profile=True)
    work.reference = _run_all(work.f32, work.samples)
    outputs = work.f32.interface.outputs
    work.measure = metric_of(metric, known, work.reference, work.samples.feeds, outputs)
    work.budget = budget_of(accuracy_drop, work.measure)
    return work.run()


def _samples(data: Data | None, source: Source, how: QuantizeOptions) -> Samples:
    if data is not None:
        return read_samples(data, source.interface, how.samples)
    if how.needs_table and how.read_calibration is None:
        message = f"{how.scheme} needs samples to find the ranges of activations"
        help = "--data F.npz, or --scheme int8-dynamic, which needs none"
        raise StepwellError("missing-data", source.name, message, help=help)
    if how.needs_channels is not None:
        message = f"{how.needs_channels} needs samples of activations"
        raise StepwellError("missing-data", source.name, message, help="--data F.npz")
    warn("no data: what it costs is measured on random inputs, which says little", QuantizeWarning)
    return made_up_samples(source.interface, how.seed)


def _run_all(model: CompiledModel, samples: Samples) -> list[Outputs]:
    return [dict(model.run(feed)) for feed in samples.feeds]


@dataclass
class _Quantization:
    """A quantization under way."""

    source: Source
    how: QuantizeOptions
    kept: dict[str, str] = field(default_factory=dict[str, str])
    """The layers that stay in f32, with the reason."""
    alone: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    times: Sequence[Times] = ()
    last: float | None = None
    """The measure of the last mixture that missed the budget."""

    def __post_init__(self) -> None:
        self.samples: Samples
        self.f32: CompiledModel
        self.native: tuple[ModelProto, CompiledModel] | None = None
        self.reference: Sequence[Outputs]
        self.measure: Metric
        self.budget: Budget | None = None

    def choose_nodes(self) -> None:
        """Find the nodes to quantize. Raises: StepwellError `bad-option`, `nothing-to-quantize`."""
        self._ask()
        self.layers = self._layers()

    def run(self) -> Quantized:
        """Choose the layers, write the model and measure it."""
        how = self.how
        if how.smooth is not None or how.weight_method == "awq":
            feeds = self.samples.for_calibration
            self.source = rescaled(self.source, how, self._observing_all(), self.layers, feeds)
        self.table = self._table()
        self.arrays = self._arrays()
        simulation = self._simulation()
        if simulation is not None:
            self.kept |= dict.fromkeys(kept_in_floats(simulation, self.budget), ACCURACY)
            self.alone = {layer: simulation.alone(layer) for layer in simulation.layers}
        made = self._written()
        if self._drop_without_gain(made):
            made = self._written()
        timed = made
        made, value = self._within_budget(made, simulation)
        if NO_GAIN in self.kept.values() or made is not timed:
            self._time(made)
        return Quantized(made, self._report(made, value))

    def _ask(self) -> None:
        """Keep the nodes that options name."""
        names = self.source.nodes()
        asked = matching(self.how.keep_f32, names, "--keep-f32")
        if self.how.only:
            asked |= set(names) - matching(self.how.only, names, "--only")
        self.kept = dict.fromkeys(asked, ASKED)

    def _layers(self) -> list[str]:
        """The nodes that may be quantized. Raises: StepwellError `nothing-to-quantize`."""
        nodes = self.source.nodes()
        found = switched_layers(self.source.level_1(self._pass()))
        known = self.how.about.operators
        layers = [name for name in found if name in nodes and operator_of(nodes[name]) in known]
        self.foreign = [name for name in found if name not in layers]
        if not [name for name in layers if name not in self.kept]:
            message = "no node of the model can be quantized"
            help = "convolutions and products with weights in initializers of f32 can"
            raise StepwellError("nothing-to-quantize", self.source.name, message, help=help)
        return layers

    def _annotate(self, **options: object) -> ModulePass:
        """The pass that observes what is quantized now."""
        known = [*self.layers, *self.foreign]
        keep = tuple(escape(name) for name in known if name in self.kept or name in self.foreign)
        return self._pass(**({"keep": keep} | options))

    def _observing_all(self) -> ModulePass:
        """The pass that observes all activations that may be quantized."""
        return self._annotate(scheme="int8", all_results=True, keep=())

    def _arrays(self) -> Arrays:
        """The arrays to encode in place of weights and biases."""
        make = gptq_arrays if self.how.weight_method == "gptq" else corrected_biases
        if make is corrected_biases and not self.how.bias_correction:
            return {}
        entries = self._plan(self.source.level_1(self._annotate()))
        return make(self.source, self.how, self._observing_all(), entries, self.samples)

    def _pass(self, **options: object) -> ModulePass:
        """The pass that observes what the scheme quantizes."""
        how = self.how
        numbers = {"activation_type": how.activation_type, "block": how.block, "symmetric": how.symmetric}
        scheme = how.scheme if how.about.needs_ranges or how.about.has_blocks else "w8"
        return made_pass("annotate-quantization", **({"scheme": scheme} | numbers | options))

    def _table(self) -> CalibrationTable:
        """The statistics of activations: of a file, or collected."""
        how = self.how
        if not how.needs_table:
            return CalibrationTable()
        if how.read_calibration is not None:
            table = read_table(Path(how.read_calibration))
            if table.model != self.source.hash:
                warn(f"{how.read_calibration} is the calibration of another model", QuantizeWarning)
            return table
        annotate = self._observing_all()
        feeds = self.samples.for_calibration
        table = calibrated(self.source, feeds, how.ranges, annotate, how.threads)
        if how.write_calibration is not None:
            table.write(Path(how.write_calibration))
        return table

    def _simulation(self) -> Simulation | None:
        """The simulation, where a budget or a report asks for it."""
        if not self.how.about.is_simulated or (self.budget is None and not self.how.rank):
            return None
        annotate = self._annotate()
        layers = switched_layers(self.source.level_1(annotate))
        with TemporaryDirectory() as folder:
            path, arrays = Path(folder) / "table.json", Path(folder) / "arrays.weights"
            self.table.write(path)
            write_weights(arrays, self.arrays)
            method, percentile, scale = self.how.ranges
            options = {"method": method, "percentile": percentile, "global_scale": scale, "switched": True}
            options |= {"weights": self.how.weight_method, "arrays": str(arrays)}
            apply = made_pass("apply-calibration", table=str(path), **options)
            program = self.source.level_1(annotate, apply)
        model = self.source.compiled(program, self.how.threads)
        return Simulation(model, layers, self.samples, self.measure, self.reference)

    def _written(self) -> ModelProto:
        """The model with what is quantized now."""
        program = self.source.level_1(self._annotate())
        self.entries = self._plan(program)
        with TemporaryDirectory() as folder:
            plan, arrays = Path(folder) / "plan.json", Path(folder) / "arrays.weights"
            write_plan(plan, self.entries)
            write_weights(arrays, self.arrays)
            return self.source.written(plan, arrays)

    def _plan(self, program: Program) -> list[PlanEntry]:
        """The entries for the observers of a program."""
        how = self.how
        if how.about.needs_ranges:
            numbers = Int8(self.table, how.ranges, how.activation_type, 63 if how.reduce_range else 127)
            return int8_plan(self.source, program, numbers)
        if not how.about.has_blocks:
            codes = WeightCodes(how.about.to, how.weight_method, form=how.about.form)
            return weights_plan(self.source, program, codes)
        codes = WeightCodes(how.weight_type, how.weight_method, how.block, how.format)
        return weights_plan(self.source, program, codes)

    def _time(self, made: ModelProto) -> None:
        """Time the model in f32 and quantized."""
        feed = joined_feed(self.samples, self.source.interface)
        self.times = times_of([self.f32, self._compiled(made)], feed, self.layers)

    def _compiled(self, made: ModelProto) -> CompiledModel:
        """The model that was written last, compiled once, to measure and to time it."""
        if self.native is None or self.native[0] is not made:
            self.native = made, self.source.compiled(made, self.how.threads, profile=True)
        return self.native[1]

    def _drop_without_gain(self, made: ModelProto) -> bool:
        """Keep layers in f32 that are no faster; returns whether there are any, and others beside them."""
        slow = set(self.layers).difference(self.kept)
        keeps_size = self.how.keep_size or not self.how.about.needs_ranges
        for _ in range(1 if keeps_size else 2):  # those that are slow twice: others compute, too
            if slow:
                self._time(made)
                slow &= self._without_gain()
        if keeps_size or not slow:
            return False
        if slow | set(self.kept) >= set(self.layers):
            message = "no layer is faster when it is quantized"
            help = "--keep-size quantizes them for the sake of the file's size"
            raise StepwellError("nothing-to-quantize", self.source.name, message, help=help)
        self.kept |= {name: NO_GAIN for name in self.layers if name in slow}
        return True

    def _without_gain(self) -> set[str]:
        """The layers that are no faster by the last times."""
        f32, quantized = (each.layers for each in self.times)
        timed = [name for name in self.layers if name in f32]
        return {name for name in timed if quantized.get(name, 0.0) > GAIN * f32[name]}

    def _within_budget(self, made: ModelProto, simulation: Simulation | None) -> tuple[ModelProto, float]:
        """
        The model, measured; while it misses the budget, the next layer goes back to f32.

        Raises: StepwellError `accuracy-budget` when no layer is left.
        """
        ranked: list[str] = []
        if self.budget is not None:
            ranked = self._by_noise() if simulation is None else ranking(simulation)
        while True:
            if all(name in self.kept for name in self.layers):
                raise self._missed()
            found = _run_all(self._compiled(made), self.samples)
            value = self.measure.function(range(len(found)), found)
            self.ratio = output_ratio(self.reference, found)
            if self.budget is None or self.budget.holds(value):
                return made, value
            self.last = value
            self.kept[next(name for name in ranked if name not in self.kept)] = ACCURACY
            if not all(name in self.kept for name in self.layers):
                made = self._written()

    def _by_noise(self) -> list[str]:
        """The layers, those with the noisiest codes first."""
        measured = self.alone, self.times, self.table
        rows = layer_rows(
            self.source, self.layers, self.kept, self.entries, *measured, scheme=self.how.scheme
        )
        noisy = [row for row in rows if row.name in self.layers]
        return [row.name for row in sorted(noisy, key=lambda row: row.weight_sqnr or 0.0)]

    def _missed(self) -> StepwellError:
        assert self.budget is not None
        message = f"no layer can be quantized within the budget: {self.budget.text} of {self.measure.name}"
        note = f"f32 has {self.measure.shown(self.measure.reference)}"
        if self.last is not None:
            note += f", the last mixture that was measured {self.measure.shown(self.last)}"
        return StepwellError("accuracy-budget", self.source.name, message, note=note)

    def _notes(self) -> list[str]:
        """Doubts about the figures."""
        count = len(self.samples.feeds)
        if self.samples.is_made_up:
            return ["measured on random inputs"]
        return [f"{count} samples calibrate and measure: give {FEW} or more"] if count < FEW else []

    def _report(self, made: ModelProto, value: float) -> QuantizationReport:
        rows = layer_rows(
            self.source,
            self.layers,
            self.kept,
            self.entries,
            self.alone,
            self.times,
            self.table,
            self.how.scheme,
        )
        least = None if self.budget is None else self.budget.least
        return QuantizationReport(
            self.how.scheme,
            self.how.ranges.text if self.how.about.needs_ranges else self.how.weight_method,
            len(self.samples.feeds),
            Accuracy(self.measure.name, self.measure.unit, self.measure.reference, value, least, self.ratio),
            rows,
            sum(tensor.ByteSize() for tensor in self.source.original().graph.initializer),
            sum(tensor.ByteSize() for tensor in made.graph.initializer),
            self.times[0].total,
            self.times[1].total,
            notes=self._notes(),
            model=self.source.name,
            histograms=histograms_of(self.entries, self.table.statistics),
        )
