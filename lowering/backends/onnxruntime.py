"""ONNX Runtime as a backend: its partitions are ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepwell.lowering.backends.base import Arrays, Backend, Constants
from stepwell.runtime.backends import fill
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation

    from stepwell.runtime.machine.target import TargetDescription


class OnnxruntimeBackend(Backend):
    """
    Computes every op that `convert-graph-to-onnx` can export and ONNX Runtime has a kernel for.

    Ops with another result in ONNX Runtime than their meaning (`departs`) are left out.
    """

    name = "onnxruntime"

    def __init__(self) -> None:
        self._taken: dict[Hashable, bool] = {}

    def require(self) -> None:
        """Import ONNX Runtime."""
        _engine()

    def supports(self, op: Operation) -> bool:
        """Whether ONNX Runtime makes a session of a model of this op alone; asked once for equal ops."""
        from stepwell.lowering.backends.single_op import computing_ops, departs, key_of, model_of

        if (inner := computing_ops(op)) != [op]:
            return all(self.supports(part) for part in inner)
        if departs(op):
            return False
        key = key_of(op)
        if key not in self._taken:
            model = model_of(op)
            self._taken[key] = model is not None and _is_runnable(model)
        return self._taken[key]

    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """The partition as an ONNX model of opset 21."""
        from stepwell.lowering.backends.single_op import onnx_model

        return onnx_model(func, constants.weights)

    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """A function that runs an ONNX Runtime session on the model."""
        session = _session(code)
        inputs = [value.name for value in session.get_inputs()]

        def call(arrays: Arrays, outputs: list[Array]) -> None:
            fill(outputs, session.run(None, dict(zip(inputs, arrays, strict=True))))

        return call


def _engine() -> Any:
    """The module `onnxruntime`. Raises: StepwellError `missing-package`."""
    try:
        return import_module("onnxruntime")
    except ImportError:
        raise StepwellError(
            "missing-package",
            None,
            "the backend 'onnxruntime' needs the package onnxruntime, which is not installed",
            help="pip install 'stepwell[onnxruntime]'",
        ) from None


def _session(model: bytes) -> Any:
    """An ONNX Runtime session on the CPU for a serialized model."""
    engine = _engine()
    options = engine.SessionOptions()
    options.log_severity_level = 4  # its messages come as exceptions
    # Spinning threads use the cores that our kernels and other sessions need: with 60 sessions on 2 cores,
    # the creation of one took 45 ms, and 0.5 ms without spinning.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _is_runnable(model: bytes) -> bool:
    """Whether ONNX Runtime makes a session of a model."""
    try:
        _session(model)
    except StepwellError:
        raise
    except Exception:  # the engine's own types of exceptions
        return False
    return True
