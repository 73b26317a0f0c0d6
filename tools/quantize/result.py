"""What quantizing returns: the model, and the report on what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from stepwell.runtime.files.whole_files import write_bytes
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.driver.options import CompileKeywords

if TYPE_CHECKING:
    from onnx import ModelProto

FORMAT, VERSION = "stepwell-quantization", 1


@dataclass(frozen=True)
class Accuracy:
    """The values of a measure in f32 and quantized, and the budget."""

    metric: str
    f32: float
    quantized: float
    budget: float | None = None


@dataclass
class Layer:
    """A node that may be quantized: the decision, its reason, and the measurements behind it."""

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


@dataclass(frozen=True)
class QuantizationReport:
    """The report of a quantization: what was decided layer by layer, and what it costs."""

    scheme: str
    calibration: str
    samples: int
    accuracy: Accuracy
    layers: Sequence[Layer]
    bytes_f32: int
    bytes: int
    seconds_f32: float
    seconds: float
    command: str = ""
    notes: Sequence[str] = field(default_factory=list[str])

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


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
