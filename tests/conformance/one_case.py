"""One case: compile its model, run it, compare."""

from __future__ import annotations

import traceback
from time import perf_counter
from typing import Any

import numpy as np
from onnx import ModelProto

from stepwell.backend import prepare
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.tools.onnx_support import BODY, HOST, support_of_model
from tests.conformance.cases import Case
from tests.conformance.judge import difference
from tests.conformance.outcome import Outcome

RANDOM = (
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
)
"""Operators whose values are another engine's own: only element types and shapes are compared."""
TRAINING_DROPOUT = "test_training_dropout"
"""The names of cases that draw a mask begin so: the other cases of the operator drop nothing."""


def kind_of(array: Any) -> Any:
    """An array of zeros of the same type and shape."""
    return np.zeros_like(array)


def run_case(case: Case) -> Outcome:
    """Compile, run and judge. Never raises."""
    start = perf_counter()
    status, reason = _judged(case)
    return Outcome(case.name, status, reason, round(perf_counter() - start, 2))


def _judged(case: Case) -> tuple[str, str]:
    try:
        prepared = prepare(case.model)
        rtol = case.rtol if case.set == "light" else 0.0
        is_random = draws(case)
        for inputs, outputs in case.data:
            found = prepared.run(inputs)
            text = difference(
                [kind_of(o) for o in outputs] if is_random else list(outputs),
                [kind_of(o) for o in found] if is_random else found,
                rtol,
            )
            if text is not None:
                return "wrong", text
        return ("host" if prepared.model.image.main.callees else how_supported(case.model)), ""
    except InternalError as error:
        return "internal", f"{error.code}: {error.message}"
    except StepwellError as error:
        return "error", f"{error.code}: {error.message}"
    except Exception as error:  # whatever it is, it is to be reported
        at = traceback.extract_tb(error.__traceback__)[-1]
        return "internal", f"{type(error).__name__} at {at.name}:{at.lineno}: {error}".replace("\n", " ")[
            :200
        ]


def draws(case: Case) -> bool:
    """Whether the results of a case are random."""
    if case.name.startswith(TRAINING_DROPOUT):
        return "zero_ratio" not in case.name
    return any(node.op_type in RANDOM for node in case.model.graph.node)


def how_supported(model: ModelProto) -> str:
    """The weakest way in which an operator of the model is supported: `host`, `body` or `native`."""
    ways = {how for _, how in support_of_model(model)}
    return "host" if HOST in ways else "body" if BODY in ways else "native"
