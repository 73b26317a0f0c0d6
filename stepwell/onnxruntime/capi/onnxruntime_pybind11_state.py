"""The exceptions of ONNX Runtime, by its names; each is a `StepwellError` too."""

from __future__ import annotations

from typing import ClassVar

from stepwell.onnxruntime.enums import ExecutionMode as ExecutionMode
from stepwell.onnxruntime.enums import ExecutionOrder as ExecutionOrder
from stepwell.onnxruntime.enums import GraphOptimizationLevel as GraphOptimizationLevel
from stepwell.onnxruntime.options import RunOptions as RunOptions
from stepwell.onnxruntime.options import SessionOptions as SessionOptions
from stepwell.onnxruntime.signature import ModelMetadata as ModelMetadata
from stepwell.onnxruntime.signature import NodeArg as NodeArg
from stepwell.runtime.errors import StepwellError


class OrtError(StepwellError):
    """
    An error with a status of ONNX Runtime. Its text begins with number and name of the status.

    Args: `error` has the finding, which is copied.
    """

    status: ClassVar[str] = "1 : FAIL"

    def __init__(self, error: StepwellError):
        super().__init__(
            error.code, error.where, error.message, note=error.notes, help=error.help, excerpt=error.excerpt
        )

    def __str__(self) -> str:
        return f"[ONNXRuntimeError] : {self.status} : {self.render()}"


class Fail(OrtError):
    """An error of no other kind."""


class InvalidArgument(OrtError):
    """An input, an output or an option that the model does not have, or of another type or shape."""

    status = "2 : INVALID_ARGUMENT"


class NoSuchFile(OrtError):
    """A model's file that cannot be read."""

    status = "3 : NO_SUCHFILE"


class NoModel(OrtError):
    """A session without a model; never raised here."""

    status = "4 : NO_MODEL"


class EngineError(OrtError):
    """A failure of an engine; never raised here."""

    status = "5 : ENGINE_ERROR"


class RuntimeException(OrtError):
    """A failure during a call that the inputs' types and shapes did not show."""

    status = "6 : RUNTIME_EXCEPTION"


class InvalidProtobuf(OrtError):
    """Bytes that are no ONNX model."""

    status = "7 : INVALID_PROTOBUF"


class NotImplemented(OrtError):
    """An operator or a feature that is not supported."""

    status = "9 : NOT_IMPLEMENTED"


class InvalidGraph(OrtError):
    """A model that breaks a rule of ONNX."""

    status = "10 : INVALID_GRAPH"


class EPFail(OrtError):
    """A failure of an execution provider; never raised here."""

    status = "11 : EP_FAIL"
