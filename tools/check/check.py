"""
`--check`: compare a model's results with ONNX's reference evaluator, and find the first node that differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import TOLERANCE, relative_difference


def expect_reference(path: Path) -> None:
    """Require an ONNX model, which alone has a reference. Raises: StepwellError `no-reference`."""
    if path.suffix != ".onnx":
        raise StepwellError(
            "no-reference",
            str(path),
            "--check needs an .onnx model to compare with",
            help="give it the model that this was compiled from",
        )


class OutputDifference(NamedTuple):
    """The largest difference of an output from the reference's, relative to its range; printed, a line."""

    name: str
    difference: float
    ok: bool

    def __str__(self) -> str:
        verdict = "ok" if self.ok else "DIFFERS"
        return f"{self.name}: {verdict}, largest difference {self.difference:.2g} of the range"


def differences_from_reference(
    path: Path, feeds: Mapping[str, object], outputs: Mapping[str, Array]
) -> list[OutputDifference]:
    """
    Each output compared with that of the reference evaluator.

    Raises: StepwellError `no-reference` when `path` is a model that the reference evaluator cannot run.
    """
    expected = _reference_outputs(path, feeds)
    found: list[OutputDifference] = []
    for (name, array), wanted in zip(outputs.items(), expected, strict=True):
        difference = relative_difference(array, np.asarray(wanted))
        found.append(OutputDifference(name, difference, difference <= TOLERANCE))
    return found


def _reference_outputs(path: Path, feeds: Mapping[str, object]) -> list[Array]:
    import onnx

    from stepwell.tools.check.reference import reference_evaluator

    model: onnx.ModelProto = onnx.load(str(path))  # pyright: ignore[reportUnknownMemberType]
    try:
        evaluator: Any = reference_evaluator(model)
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
