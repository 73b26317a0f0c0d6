"""Models as functions of other languages: `f(*inputs, *outputs)`, without copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.ffi import tvm_ffi
from stepwell.runtime.interface import Array, Interface, TensorSpec
from stepwell.runtime.sessions.states import Targets

_CLASSES: dict[str, type[Exception]] = {"type-mismatch": TypeError, "index-out-of-range": IndexError}
"""The exceptions that arrive in other languages; all other errors are ValueError."""


class _Model(Protocol):
    """The part of a compiled model that is called."""

    interface: Interface

    def output_shapes(self, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]: ...

    def invoke_into(self, values: Sequence[object], targets: Targets) -> None: ...


def function_of(model: _Model, *, has_states: bool) -> Any:
    """
    A model as a `tvm_ffi.Function` of its inputs and the memory of its outputs.

    Raises: StepwellError `unsupported-interface` for states, for objects, and for outputs whose size depends
    on data; `missing-package`.
    """
    interface = model.interface
    specs = (*interface.inputs, *interface.outputs)
    if interface.published or has_states or any(spec.is_object for spec in specs):
        message = "states, strings, and outputs whose size depends on data have no memory of the caller's"
        raise StepwellError("unsupported-interface", None, message)
    inputs = len(interface.inputs)

    def call(*arrays: Any) -> None:
        if len(arrays) != len(specs):
            wanted = f"{inputs} inputs and {len(specs) - inputs} outputs"
            raise TypeError(f"expected {wanted}, found {len(arrays)} arrays")
        try:
            _call(model, [np.from_dlpack(array) for array in arrays])
        except StepwellError as error:
            raise _CLASSES.get(error.code, ValueError)(error.render()) from None

    return tvm_ffi().convert(call)


def _call(model: _Model, arrays: Sequence[Array]) -> None:
    """Call a model on arrays of its inputs and outputs. Raises: StepwellError, TypeError, ValueError."""
    inputs, outputs = arrays[: len(model.interface.inputs)], arrays[len(model.interface.inputs) :]
    for spec, array in zip(model.interface.inputs, inputs, strict=True):
        _expect_type(spec, array)
    shapes = model.output_shapes([array.shape for array in inputs])
    for spec, array, shape in zip(model.interface.outputs, outputs, shapes, strict=True):
        _expect_type(spec, array)
        if array.shape != shape:
            raise ValueError(f"output {spec.name!r} must have shape {list(shape)}, found {list(array.shape)}")
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise ValueError(f"output {spec.name!r} must be contiguous, and writeable")
    model.invoke_into(inputs, Targets(enumerate(outputs)))


def _expect_type(spec: TensorSpec, array: Array) -> None:
    if array.dtype != spec.dtype:
        raise TypeError(f"{spec.name!r} must be of {spec.dtype}, found {array.dtype}")
