"""Errors of Stepwell as those that programs for ONNX Runtime catch."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from stepwell.onnxruntime.capi import onnxruntime_pybind11_state as state
from stepwell.runtime.errors import InternalError, StepwellError


class MissingInputs(StepwellError, ValueError):
    """A call without an input that the model needs: ONNX Runtime raises a ValueError."""


class BindingError(StepwellError, RuntimeError):
    """A binding that does not fit the model, or a value: ONNX Runtime raises a RuntimeError."""


class MissingName(StepwellError, AttributeError):
    """A name of ONNX Runtime that is not here."""


_LOADING: Mapping[str, type[state.OrtError]] = {
    "bad-option": state.InvalidArgument,
    "cycle": state.InvalidGraph,
    "extra-input": state.InvalidArgument,
    "external-data": state.Fail,
    "invalid-model": state.InvalidGraph,
    "no-file": state.NoSuchFile,
    "shape-mismatch": state.InvalidGraph,
    "type-mismatch": state.InvalidGraph,
    "undefined-value": state.InvalidGraph,
    "unknown-opset": state.InvalidGraph,
    "unsupported": state.NotImplemented,
    "unsupported-dynamic-rank": state.NotImplemented,
    "unsupported-op": state.NotImplemented,
}
"""The class for an error while a session is made, by its code; else `Fail`."""
_RUNNING: Mapping[str, type[state.OrtError]] = {
    "bad-inputs": state.InvalidArgument,
    "bad-option": state.InvalidArgument,
    "extra-input": state.InvalidArgument,
    "index-out-of-range": state.InvalidArgument,
    "shape-mismatch": state.InvalidArgument,
    "type-mismatch": state.InvalidArgument,
}
"""The class for an error of a call, by its code; else `RuntimeException`."""


@contextmanager
def while_parsing() -> Generator[None]:
    """Translate the errors of reading a file. Raises: NoSuchFile, InvalidProtobuf, Fail."""
    try:
        yield
    except StepwellError as error:
        kinds = {"no-file": state.NoSuchFile, "invalid-model": state.InvalidProtobuf}
        raise kinds.get(error.code, state.Fail)(error) from error


@contextmanager
def while_loading() -> Generator[None]:
    """Translate the errors of a compilation. Raises: as `_LOADING` says, Fail."""
    with _translated(_LOADING, state.Fail):
        yield


@contextmanager
def while_running() -> Generator[None]:
    """Translate the errors of a call. Raises: as `_RUNNING` says, RuntimeException."""
    with _translated(_RUNNING, state.RuntimeException):
        yield


@contextmanager
def _translated(
    classes: Mapping[str, type[state.OrtError]], default: type[state.OrtError]
) -> Generator[None]:
    try:
        yield
    except (InternalError, MissingInputs, BindingError, state.OrtError):
        raise  # has its class already
    except StepwellError as error:
        raise classes.get(error.code, default)(error) from error


def not_implemented(message: str, help: str | None = None) -> state.NotImplemented:
    """The error for a feature of ONNX Runtime that is not here."""
    return state.NotImplemented(StepwellError("unsupported", None, message, help=help))
