"""The arguments of a call: checked against the interface of a model, and converted where nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import NARROW_TYPES, Array, TensorSpec


def checked_input(spec: TensorSpec, value: object) -> Array:
    """
    An argument of a call as a C-contiguous, native-endian array of the spec's element type.

    Copies only when layout or byte order require it; Python numbers and lists are converted, and an object
    with DLPack is used without a copy.
    Raises: StepwellError `type-mismatch` for another element type: nothing is narrowed or widened silently.
    """
    if isinstance(value, np.ndarray):
        array = cast(Array, value)
    elif hasattr(value, "__dlpack__"):
        array = _shared(spec, value)
    else:
        array = _from_python(spec, value)
    if array.dtype != spec.dtype:
        if array.dtype.newbyteorder("=") != spec.dtype:
            raise StepwellError(
                "type-mismatch",
                None,
                f"input {spec.name!r} must be {spec.dtype.name}, found {array.dtype.name}",
                help=f"convert it first: x.astype({spec.dtype.name!r})",
            )
        array = array.astype(spec.dtype)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def checked_object(spec: TensorSpec, value: object) -> object:
    """
    An argument of a call that is a Python object: strings as an array of objects, lists and maps as given.

    Raises: StepwellError `type-mismatch`.
    """
    if not spec.type:
        return np.asarray(value, np.dtype(object))
    kinds: Mapping[str, type[object]] = {"seq": list, "map": dict}
    wanted = kinds.get(spec.type.partition("(")[0])
    if wanted is not None and not issubclass(type(value), wanted):
        raise StepwellError(
            "type-mismatch",
            None,
            f"input {spec.name!r} must be {spec.type}, a {wanted.__name__}; found {type(value).__name__}",
        )
    return value


def _shared(spec: TensorSpec, value: object) -> Array:
    """The memory of an object with DLPack. Raises: StepwellError `type-mismatch` for what numpy lacks."""
    try:
        return cast(Array, np.from_dlpack(value))  # pyright: ignore[reportArgumentType]
    except (RuntimeError, BufferError, TypeError, ValueError) as error:
        if (narrow := _narrow_tensor(spec, value)) is not None:
            return narrow
        message = f"input {spec.name!r}: numpy cannot share the memory of this {type(value).__name__}"
        help = "give an array of numpy, for tensors that need gradients: x.detach()"
        raise StepwellError("type-mismatch", None, message, note=str(error), help=help) from None


def _narrow_tensor(spec: TensorSpec, value: object) -> Array | None:
    """
    The memory of a tensor of PyTorch whose element type numpy lacks, taken as integers; None for others.

    These are bf16 and floats of 8 bits; the types of `ml_dtypes` have the same names.
    """
    torch: Any = sys.modules.get("torch")
    if spec.dtype.name not in NARROW_TYPES or torch is None or not isinstance(value, torch.Tensor):
        return None
    tensor = cast(Any, value)
    if str(tensor.dtype) != f"torch.{spec.dtype.name}" or tensor.requires_grad:
        return None
    bits = torch.int16 if spec.dtype.itemsize > 1 else torch.uint8
    return np.from_dlpack(tensor.contiguous().view(bits)).view(spec.dtype)


def _from_python(spec: TensorSpec, value: object) -> Array:
    """
    A number or nested list, which has no element type, as an array of the spec's type; refuses lossy
    conversions.
    """
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufc":
            kind = type(value).__name__
            by_name = ": a dictionary goes to `model.run`" if kind == "dict" else ""
            raise TypeError(f"{kind} is no array of numbers{by_name}")
        converted = array.astype(spec.dtype)
    except (TypeError, ValueError) as error:
        raise StepwellError(
            "type-mismatch",
            None,
            f"input {spec.name!r} must be an array of {spec.dtype.name}",
            note=str(error),
        ) from None
    if array.dtype.kind in "fc" and spec.dtype.kind in "biu":
        raise StepwellError(
            "type-mismatch",
            None,
            f"input {spec.name!r} must be {spec.dtype.name}, found floating-point numbers",
        )
    return converted


def checked_value(spec: TensorSpec, value: object, objects: list[object]) -> Array:
    """Check an input; a Python object is appended to `objects`, and an empty array is returned for it."""
    if not spec.is_object:
        return checked_input(spec, value)
    checked = checked_object(spec, value)
    objects.append(checked)
    return cast(Array, checked) if not spec.type else _NO_ARRAY


_NO_ARRAY: Array = np.empty((), np.uint8)
"""The placeholder for an input that is no array, and for an output that the call makes."""
