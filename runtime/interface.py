"""
The interface of a compiled model: names, element types and symbolic shapes of inputs and outputs, and checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

Array = npt.NDArray[np.generic]

LONG_RULE = 40  # characters; a longer equation of sizes is a note, after a message without it
MAX_TENSOR_BYTES = 1 << 46  # what 48-bit pointers can address, with room: larger sizes are a mistake


def dtype_from_name(name: str) -> np.dtype[np.generic]:
    """A numpy dtype by name, ml_dtypes' included. Raises: ValueError for an unknown one."""
    try:
        return np.dtype(name)
    except TypeError:
        kind = getattr(ml_dtypes, name, None)
        if kind is None:
            raise ValueError(f"unknown element type {name!r}") from None
        return np.dtype(kind)


@dataclass(frozen=True)
class TensorSpec:
    """
    An input or output: its name in the model, element type and dimensions (numbers, symbols, expressions).
    """

    name: str
    dtype: np.dtype[np.generic]
    dims: tuple[Dim, ...]
    type: str = ""
    """The type of a value that is no tensor, such as `seq(f32)`; its element type is then `object`."""

    @property
    def is_object(self) -> bool:
        """Whether the value is a Python object for compiled code: no tensor, or a tensor of strings."""
        return self.dtype == np.dtype(object)

    def __str__(self) -> str:
        element = "string" if self.is_object else self.dtype.name
        return self.type or f"{element}[{', '.join(map(str, self.dims))}]"

    def to_json(self) -> dict[str, object]:
        """The spec as plain JSON values."""
        dims = [str(d) for d in self.dims]
        return {"name": self.name, "dtype": self.dtype.name, "dims": dims, "type": self.type}

    @staticmethod
    def from_json(data: Mapping[str, object]) -> TensorSpec:
        """The spec that `to_json` wrote. Raises: ValueError, KeyError or TypeError when it is not one."""
        dims = tuple(Dim.of(str(d)) for d in cast(Sequence[str], data["dims"]))
        return TensorSpec(str(data["name"]), dtype_from_name(str(data["dtype"])), dims, str(data["type"]))


@dataclass(frozen=True)
class ShapeCheck:
    """An assumption of the compiled code: two dimension expressions that must be equal at every call."""

    left: Dim
    right: Dim
    where: str
    """The ONNX node that makes the assumption."""


@dataclass(frozen=True)
class Binding:
    """The sizes of a call, given its input shapes: symbol values in order, output shapes, arena bytes."""

    symbols: tuple[int, ...]
    output_shapes: tuple[tuple[int, ...] | None, ...]
    """None for an output whose shape depends on data, and for one that is no array."""
    arena_bytes: int
    values: Mapping[str, int] = field(default_factory=dict[str, int])
    """The symbols of the inputs by name."""
    largest_output_bytes: int = 0
    """The largest size of an output whose shape is known before the call."""

    @cached_property
    def array_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The output shapes, `()` for shapes that are not known before the call."""
        return tuple(() if shape is None else shape for shape in self.output_shapes)


@dataclass(frozen=True)
class Interface:
    """The signature of a compiled model; binds the shapes of a call to symbol values."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    symbols: tuple[str, ...]
    arena_bytes: Dim
    checks: tuple[ShapeCheck, ...] = field(default=())
    published: tuple[str, ...] = ()
    """Symbols that compiled code computes and reports, because output shapes depend on them."""

    def bind(self, shapes: Sequence[tuple[int, ...]]) -> Binding:
        """
        Symbol values, output shapes and arena size for the input shapes of a call.

        Raises: StepwellError `shape-mismatch` that names the input or node and both sizes.
        """
        values: dict[str, int] = {}
        for spec, shape in zip(self.inputs, shapes, strict=True):
            self._bind_input(spec, shape, values)
        self._check_inputs(shapes, values)
        self._check_assumptions(values)
        outputs = tuple(self._output_shape(spec, values, shapes) for spec in self.outputs)
        symbols = tuple(values[s] for s in self.symbols)
        sizes = [prod(o) * spec.dtype.itemsize for spec, o in zip(self.outputs, outputs, strict=True) if o]
        return Binding(symbols, outputs, self.arena_bytes.evaluate(values), values, max(sizes, default=0))

    def _output_shape(
        self, spec: TensorSpec, values: Mapping[str, int], shapes: Sequence[tuple[int, ...]]
    ) -> tuple[int, ...] | None:
        if spec.is_object or any(d.symbols() & set(self.published) for d in spec.dims):
            return None
        shape = tuple(d.evaluate(values) for d in spec.dims)
        if any(n < 0 for n in shape):
            raise StepwellError(
                "shape-mismatch",
                None,
                f"output {spec.name!r} would have shape {list(shape)} for inputs {list(shapes)}",
            )
        return shape

    def _bind_input(self, spec: TensorSpec, shape: tuple[int, ...], values: dict[str, int]) -> None:
        if len(shape) != len(spec.dims):
            raise StepwellError(
                "shape-mismatch",
                None,
                f"input {spec.name!r} must have {len(spec.dims)} dimensions, found {len(shape)}",
                note=f"expected {spec}, found shape {list(shape)}",
            )
        for dim, size in zip(spec.dims, shape, strict=True):
            text = str(dim)
            if not dim.is_static and text in dim.symbols():
                values.setdefault(text, size)

    def _check_inputs(self, shapes: Sequence[tuple[int, ...]], values: Mapping[str, int]) -> None:
        for spec, shape in zip(self.inputs, shapes, strict=True):
            for axis, (dim, size) in enumerate(zip(spec.dims, shape, strict=True)):
                expected = dim.evaluate(values)
                if expected != size:
                    named = "" if dim.is_static else f" (that is {dim}, from another dimension of the inputs)"
                    raise StepwellError(
                        "shape-mismatch",
                        None,
                        f"input {spec.name!r}: dimension {axis} must be {expected}{named}, found {size}",
                        note=f"expected {spec}, found shape {list(shape)}",
                        help=None
                        if not dim.is_static
                        else "compile again for this size where --input-shape fixed the dimension; where the "
                        "model's file fixes it, export the model with a dynamic one",
                    )

    def _check_assumptions(self, values: Mapping[str, int]) -> None:
        for check in self.checks:
            left, right = check.left.evaluate(values), check.right.evaluate(values)
            if left != right:
                sizes = ", ".join(f"{name} = {value}" for name, value in values.items())
                rule, notes = f"{check.left} must equal {check.right}", [f"with {sizes}"]
                message = f"{rule}, found {left} and {right}"
                if check.where and len(rule) > LONG_RULE:  # the check's text says the same without symbols
                    message = f"a size must be {right}, found {left}"
                    notes.append(rule)
                raise StepwellError("shape-mismatch", check.where, message, note=notes)

    def to_json(self) -> dict[str, object]:
        """The interface as plain JSON values."""
        return {
            "inputs": [spec.to_json() for spec in self.inputs],
            "outputs": [spec.to_json() for spec in self.outputs],
            "symbols": list(self.symbols),
            "arena_bytes": str(self.arena_bytes),
            "checks": [[str(c.left), str(c.right), c.where] for c in self.checks],
            "published": list(self.published),
        }

    @staticmethod
    def from_json(data: Mapping[str, object]) -> Interface:
        """
        The interface that `to_json` wrote. Raises: ValueError, KeyError or TypeError when it is not one.
        """
        specs = cast(Mapping[str, Sequence[Mapping[str, object]]], data)
        checks = cast(Sequence[tuple[str, str, str]], data["checks"])
        return Interface(
            tuple(TensorSpec.from_json(s) for s in specs["inputs"]),
            tuple(TensorSpec.from_json(s) for s in specs["outputs"]),
            tuple(str(s) for s in cast(Sequence[str], data["symbols"])),
            Dim.of(str(data["arena_bytes"])),
            tuple(ShapeCheck(Dim.of(left), Dim.of(right), where) for left, right, where in checks),
            tuple(str(s) for s in cast(Sequence[str], data["published"])),
        )


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
        array = cast(Array, np.from_dlpack(value))  # pyright: ignore[reportArgumentType]
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
