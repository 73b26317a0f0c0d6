"""
`--check`: compare a model's results with ONNX's reference evaluator, and find the first node that differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def check_against_reference(path: Path, feeds: Mapping[str, object], outputs: Mapping[str, Array]) -> int:
    """
    Compare the outputs, print a line for each, and return the exit status: 1 when an output differs.

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
        from stepwell.tools.check.first_difference import first_difference

        print(first_difference(path, feeds))
    return status


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
