"""Calls that write outputs into memory of the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Protocol, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, Interface, TensorSpec
from stepwell.runtime.machine.arguments import checked_input
from stepwell.runtime.sessions.states import Targets


class _Model(Protocol):
    """A compiled model, as far as a call needs it."""

    interface: Interface

    def invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]: ...

    def output_shapes(self, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]: ...


def invoke_into(model: _Model, inputs: Sequence[object], buffers: Mapping[str, Array]) -> tuple[Array, ...]:
    """
    The outputs of a call, the named ones in the caller's arrays.

    Raises: StepwellError `bad-option` for a name of no output; `type-mismatch`, `shape-mismatch`, and
    `bad-inputs` for memory that is not contiguous, is read-only, or overlaps an input or another output.
    """
    arrays = [_array(*each) for each in zip(model.interface.inputs, inputs, strict=True)]
    _expect_buffers(model, arrays, buffers)
    return written(model, arrays, buffers, _expect_shape)


def written(
    model: _Model,
    inputs: Sequence[object],
    buffers: Mapping[str, Array],
    expect: Callable[[str, Array, Array], None],
) -> tuple[Array, ...]:
    """
    The outputs of a call, those with a buffer in it.

    Args: `expect(name, output, buffer)` raises where an output does not fit its buffer.
    """
    found = list(model.invoke(inputs, targets_of(model, inputs, buffers) or None))
    for number, spec in enumerate(model.interface.outputs):
        if (buffer := buffers.get(spec.name)) is not None and found[number] is not buffer:
            expect(spec.name, found[number], buffer)
            np.copyto(buffer, found[number])
            found[number] = buffer
    return tuple(found)


def _array(spec: TensorSpec, value: object) -> object:
    """An input as an array; itself for an object, and for an array of a device."""
    return value if spec.is_object or getattr(value, "is_on_device", False) else checked_input(spec, value)


def targets_of(model: _Model, inputs: Sequence[object], buffers: Mapping[str, Array]) -> Targets:
    """The buffers for compiled code to write outputs into; other outputs are copied."""
    targets = Targets()
    interface = model.interface
    arrays = _arrays_among(inputs)
    if interface.states or len(arrays) < len(inputs) or not buffers:
        return targets  # lists, objects and arrays of devices
    shapes = model.output_shapes([array.shape for array in arrays])
    is_known = [not any(d.symbols() & {*interface.published} for d in s.dims) for s in interface.outputs]
    for number, spec in enumerate(interface.outputs):
        buffer = buffers.get(spec.name)
        if buffer is None or not is_known[number] or spec.is_object or not buffer.flags.c_contiguous:
            continue
        fits = buffer.shape == shapes[number] and buffer.dtype == spec.dtype
        if fits and not any(np.may_share_memory(buffer, array) for array in arrays):
            targets[number] = buffer
    return targets


def _arrays_among(inputs: Sequence[object]) -> list[Array]:
    """The inputs that are arrays of numpy."""
    return [cast(Array, value) for value in inputs if isinstance(value, np.ndarray)]


def _expect_buffers(model: _Model, inputs: Sequence[object], buffers: Mapping[str, Array]) -> None:
    """Require arrays that a call can write. Raises: StepwellError as `invoke_into`."""
    specs = {spec.name: spec for spec in model.interface.outputs}
    for name, buffer in buffers.items():
        if (spec := specs.get(name)) is None or spec.is_object:
            known = ", ".join(each.name for each in specs.values() if not each.is_object)
            message = f"the model has no output {name!r} that is an array"
            raise StepwellError("bad-option", None, message, help=f"the outputs are {known}")
        if not isinstance(buffer, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"the memory of output {name!r} must be a numpy array, found {type(buffer).__name__}"
            raise StepwellError("type-mismatch", None, message)
        if buffer.dtype != spec.dtype:
            message = f"output {name!r} is {spec.dtype}, and its memory {buffer.dtype}"
            raise StepwellError("type-mismatch", None, message)
        if not (buffer.flags.c_contiguous and buffer.flags.writeable):
            message = f"the memory of output {name!r} must be contiguous, and writable"
            raise StepwellError("bad-inputs", None, message, help="np.empty makes such an array")
        if any(np.may_share_memory(buffer, array) for array in _arrays_among(inputs)):
            message = f"the memory of output {name!r} is that of an input, which the call would overwrite"
            raise StepwellError("bad-inputs", None, message, help="give it memory of its own")
    for (one, a), (other, b) in combinations(buffers.items(), 2):
        if np.may_share_memory(a, b):
            message = f"the outputs {one!r} and {other!r} have the same memory"
            raise StepwellError("bad-inputs", None, message, help="give each memory of its own")


def _expect_shape(name: str, found: Array, buffer: Array) -> None:
    if found.shape != buffer.shape:
        message = f"output {name!r} has the shape {list(found.shape)}, and its memory {list(buffer.shape)}"
        raise StepwellError("shape-mismatch", None, message)
