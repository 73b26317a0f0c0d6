"""
`--check`: compare a model's results with ONNX's reference evaluator, and find the first node that differs.

The reference of a model of another kind is its graph, computed op by op in numpy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stepwell.frontend.formats import is_model_path, model_suffixes
from stepwell.runtime.devices.table import PART_BACKENDS
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import allowed_of_model, relative_difference

if TYPE_CHECKING:
    from onnx import ModelProto

_QUANTIZED = re.compile("Quantize|QLinear|Integer")


def is_quantizing(operators: Iterable[str]) -> bool:
    """Whether one of some ONNX operators, by type, computes on integers that stand for numbers."""
    return any(map(_QUANTIZED.search, operators))


def is_requantized(image: ModelImage) -> bool:
    """Whether an accelerator computes the scales of layers of a model in integers."""
    return any(callee.kind in PART_BACKENDS for entry in image.functions.values() for callee in entry.callees)


def expect_reference(path: Path) -> None:
    """Require a file of a model, which has a reference. Raises: StepwellError `no-reference`."""
    if not is_model_path(path):
        raise StepwellError(
            "no-reference",
            str(path),
            f"--check needs a model to compare with: a file that ends in {' or '.join(model_suffixes())}",
            help="give it the model that this was compiled from",
        )


class OutputDifference(NamedTuple):
    """The `relative_difference` of an output from the reference's; printed, a line."""

    name: str
    difference: float
    allowed: float
    unit: str

    @property
    def ok(self) -> bool:
        """Whether rounding explains the difference."""
        return self.difference <= self.allowed

    def __str__(self) -> str:
        verdict = "ok" if self.ok else "DIFFERS"
        return f"{self.name}: {verdict}, largest difference {self.difference:.2g} {self.unit}"


def differences_from_reference(
    path: Path,
    feeds: Mapping[str, object],
    outputs: Mapping[str, Array],
    *,
    requantized: bool = False,
    narrow: bool = False,
) -> list[OutputDifference]:
    """
    Each output compared with that of the reference evaluator, or of the graph in numpy.

    Args: `requantized` is whether an accelerator computed scales in integers (`is_requantized`);
    `narrow` is whether products took operands of 16 bits.
    Raises: StepwellError `no-reference` when `path` is a model that the reference evaluator cannot run.
    """
    if path.suffix == ".onnx":
        model = _loaded(path)
        quantized = is_quantizing(node.op_type for node in model.graph.node)
        references = reference_outputs(path, feeds, model)
    else:
        references, quantized = _graph_outputs(path, feeds)
    found: list[OutputDifference] = []
    for (name, array), reference in zip(outputs.items(), references, strict=True):
        wanted = np.asarray(reference)
        allowed = allowed_of_model(wanted.dtype, quantized=quantized, requantized=requantized, narrow=narrow)
        unit = "steps" if wanted.dtype.kind in "biu" else "of the range"
        found.append(OutputDifference(name, relative_difference(array, wanted), allowed, unit))
    return found


def _graph_outputs(path: Path, feeds: Mapping[str, object]) -> tuple[list[Array], bool]:
    """The outputs of a model by the meanings of its graph's ops, and whether one of these quantizes."""
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.dialects.foreign.model_dialect import model_dialect
    from stepwell.frontend.formats import read_model
    from stepwell.lowering.interpret import Program
    from stepwell.passes import run_pipeline
    from stepwell.passes.pipelines import FROM_MODELS

    ctx = StepwellContext()
    module = read_model(path, ctx)
    if (dialect := model_dialect(module)) is not None:
        run_pipeline(module, FROM_MODELS[dialect], ctx)
    program = Program(module, ctx, quick=True)
    quantized = any(op.name == "graph.quantize" for op in module.walk())
    results = program([np.asarray(each) for each in feeds.values()])
    return [np.asarray(each) for each in results], quantized


def _loaded(path: Path) -> ModelProto:
    import onnx

    return onnx.load(str(path))  # pyright: ignore[reportUnknownMemberType]


def reference_outputs(
    path: Path, feeds: Mapping[str, object], model: ModelProto | None = None
) -> list[Array]:
    """
    The outputs of a model by ONNX's reference evaluator.

    Args: `model` is the file's model, if it has been read already.
    Raises: StepwellError `no-reference` when it cannot run the model.
    """
    import onnx

    from stepwell.tools.check.reference import reference_evaluator

    try:
        evaluator: Any = reference_evaluator(_loaded(path) if model is None else model)
        with np.errstate(all="ignore"):  # infinities are compared below, no warning is needed
            return evaluator.run(None, dict(feeds))
    except Exception as error:  # for a missing or wrong operator the evaluator raises any exception
        raise StepwellError(
            "no-reference",
            path.name,
            f"ONNX's reference evaluator cannot run this model: {error}",
            note=f"onnx {onnx.__version__}",
            help="the plugin of an operator may bring its numpy meaning, `@onnx_op(…, reference=f)`; "
            "`stepwell bench` reports the largest difference from ONNX Runtime",
        ) from error
