"""`--check`: a model's results against ONNX's reference evaluator, and the first node that departs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

TOLERANCE = 1e-4
"""Largest difference, relative to the range of the output, that rounding may explain."""


def relative_difference(found: Array, expected: Array) -> float:
    """
    The largest difference, relative to the range of the expected values.

    Infinite where shapes differ, or NaN or infinity stand in different places.
    """
    if found.shape != expected.shape:
        return float("inf")
    if not expected.size:
        return 0.0
    a, b = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.ptp(b[finite])) or float(np.abs(b[finite]).max()) or 1.0
    return float(np.abs(a[finite] - b[finite]).max()) / scale


def expect_reference(path: Path) -> None:
    """Require an ONNX model, which alone has a reference. Raises: StepwellError `no-reference`."""
    if path.suffix != ".onnx":
        raise StepwellError(
            "no-reference",
            str(path),
            "--check needs an .onnx model to compare with",
            help="give it the model that this was compiled from",
        )


def check_against_reference(path: Path, feeds: Mapping[str, object], outputs: Mapping[str, Array]) -> int:
    """
    Compare, print a line an output, and return the exit status: 1 when one departs.

    Raises: StepwellError `no-reference` when `path` is a model that the reference evaluator cannot run.
    """
    expected = _reference_outputs(path, feeds)
    status = 0
    for (name, found), wanted in zip(outputs.items(), expected, strict=True):
        difference = relative_difference(found, np.asarray(wanted))
        good = difference <= TOLERANCE
        status |= not good
        print(f"{name}: {'ok' if good else 'DIFFERS'}, largest difference {difference:.2g} of the range")
    if status:
        from stepwell.tools.first_difference import first_difference

        print(first_difference(path, feeds))
    return status


def _reference_outputs(path: Path, feeds: Mapping[str, object]) -> list[Array]:
    import onnx

    from stepwell.tools.reference import reference_evaluator

    model: onnx.ModelProto = onnx.load(str(path))  # pyright: ignore[reportUnknownMemberType]
    try:
        evaluator: Any = reference_evaluator(model)
        with np.errstate(all="ignore"):  # infinities are compared, they are no news
            return evaluator.run(None, dict(feeds))
    except Exception as error:  # an operator that it lacks, or gets wrong: it fails in ways of its own
        raise StepwellError(
            "no-reference",
            path.name,
            f"ONNX's reference evaluator cannot run this model: {error}",
            note=f"onnx {onnx.__version__}",
            help="`stepwell bench` tells the largest difference from ONNX Runtime",
        ) from error
