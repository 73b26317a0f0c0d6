"""
The cases once more, written by `to-onnx` and judged by another engine:
`python -m tests.conformance --written`.

The model of a case becomes level 1, and that a model of opset 21. ONNX's checker accepts it, and ONNX
Runtime, without optimizations, computes the expected outputs. Where that has no kernel, it is our
interpreter, which reads the file again. `python -m tests.conformance.written` reads names of cases and writes
outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.lowering.interpret import interpret
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.tools.api.module import Module
from stepwell.tools.api.onnx_model import written_model
from stepwell.tools.driver.program import Program
from tests.conformance.cases import Case
from tests.conformance.judge import difference
from tests.conformance.one_case import draws, kind_of
from tests.conformance.outcome import FOREIGN, OWN, Outcome
from tests.conformance.process import serve
from tests.support.onnx_runtime import reference_session

_OF_NUMPY = frozenset([*range(TensorProto.FLOAT16 + 1), *range(TensorProto.DOUBLE, TensorProto.UINT64 + 1)])
"""The element types that ONNX Runtime takes as arrays of numpy; 0 is that of other values than tensors."""
_NOT_HERE = ("NOT_IMPLEMENTED", "string_normalizer.cc")
"""What errors say where a kernel is missing, or the locale that `StringNormalizer` wants."""


def run_written(case: Case) -> Outcome:
    """Write the model of a case, check it, run it and judge. Never raises."""
    start = perf_counter()
    status, reason = _judged(case)
    return Outcome(case.name, status, reason.replace("\n", " ")[:200], round(perf_counter() - start, 2))


def _judged(case: Case) -> tuple[str, str]:
    try:
        written = _written(case.model)
        onnx.checker.check_model(written, full_check=True)
        session, is_random, status = _session(written), draws(case), OWN
        for inputs, outputs in case.data:
            status, found = _results(session, written, inputs)
            text = difference(
                [kind_of(each) for each in outputs] if is_random else list(outputs),
                [kind_of(each) for each in found] if is_random else list(found),
                case.rtol if case.set == "light" else 0.0,
            )
            if text is not None:
                return "wrong", f"{status}: {text}"
        return status, ""
    except InternalError as error:
        return "internal", f"{error.code}: {error.message}"
    except StepwellError as error:
        return "error", f"{error.code}: {error.message}"
    except Exception as error:  # whatever it is, it is to be reported
        return "internal", f"{type(error).__name__}: {error}"


def _written(model: ModelProto) -> ModelProto:
    ctx = StepwellContext()
    return written_model(Program(import_onnx(model, ctx), ctx), operators=True)


def _session(model: ModelProto) -> Any | None:
    """A session of ONNX Runtime; None where it lacks a kernel, or numpy the type of an input."""
    ends = (*model.graph.input, *model.graph.output)
    if any(value.type.tensor_type.elem_type not in _OF_NUMPY for value in ends):
        return None
    try:
        return reference_session(model, optimized=False)
    except Exception as error:  # the engine's own types of exceptions
        if any(text in str(error) for text in _NOT_HERE):
            return None
        raise


def _results(session: Any | None, model: ModelProto, inputs: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The engine and the outputs: ONNX Runtime, or our interpreter without a session or a kernel."""
    if session is None:
        return OWN, _own_results(model, inputs)
    names = [value.name for value in session.get_inputs()]
    try:
        return FOREIGN, session.run(None, dict(zip(names, inputs, strict=False)))
    except Exception as error:  # the engine's own types of exceptions
        if "not supported now" in str(error):
            return OWN, _own_results(model, inputs)
        raise


def _own_results(model: ModelProto, inputs: Sequence[Any]) -> Sequence[Any]:
    """The outputs by our interpreter, which reads the written file."""
    module = Module(import_onnx(model, ctx := StepwellContext()), context=ctx).to("graph")
    given = [np.asarray(each) if isinstance(each, np.generic) else each for each in inputs]
    return list(interpret(module.op, ctx, "main", given))


if __name__ == "__main__":
    serve(run_written)
