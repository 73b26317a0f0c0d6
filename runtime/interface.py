"""The interface of a compiled model: names, element types and symbolic shapes of inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.integers.summands import json_of
from stepwell.runtime.json_values import as_dim, as_list, as_mapping, as_size, as_text, as_texts
from stepwell.runtime.packages import needed

Array = npt.NDArray[np.generic]

LONG_EQUATION = 40  # characters; a longer equation of sizes is a note, after a message without it
NARROW_TYPES = frozenset(
    "bfloat16 int2 int4 uint2 uint4 float4_e2m1fn float6_e2m3fn float6_e3m2fn "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()
)
"""The element types that numpy lacks: `ml_dtypes` is imported where a model has one of them."""
MAX_TENSOR_BYTES = 1 << 46  # what 48-bit pointers can address, with room: larger sizes are a mistake


def dtype_from_name(name: str) -> np.dtype[np.generic]:
    """
    A numpy dtype by name, or a narrow one of ml_dtypes.

    Raises: ValueError for an unknown name; StepwellError `missing-package` for a narrow type without
    ml_dtypes.
    """
    if name in NARROW_TYPES:
        with needed(f"the element type {name}"):
            import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))
    try:
        dtype = np.dtype(name) if name.isidentifier() else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in "biufcO":
        raise ValueError(f"unknown element type {name!r}")
    return dtype


def float_info(dtype: np.dtype[np.generic]) -> Any:
    """The limits of a floating-point type, as by `np.finfo`, also for narrow ones."""
    if dtype.name not in NARROW_TYPES:
        return np.finfo(cast("np.dtype[np.floating]", dtype))
    import ml_dtypes  # a model has one of them

    finfo: Any = ml_dtypes.finfo
    return finfo(dtype)


class TensorSpec(NamedTuple):
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
        dims = tuple(Dim.of(text) for text in as_texts(data["dims"]))
        name, dtype, type = (as_text(data[key]) for key in ("name", "dtype", "type"))
        return TensorSpec(name, dtype_from_name(dtype), dims, type)


class ShapeCheck(NamedTuple):
    """An assumption of the compiled code: two dimension expressions that must be equal at every call."""

    left: Dim
    right: Dim
    where: str
    """The ONNX node that makes the assumption."""


class StateSpec(NamedTuple):
    """A value that lives between calls: an input of compiled code, and the output with its next value."""

    name: str
    input: int
    """The number of the input."""
    output: int | None
    """The number of the output; None for a state that calls only read."""
    initial: int | None = None
    """The number of the weight with the initial value; None for zeros."""
    is_in_place: bool = False
    """Whether compiled code overwrites the value by the next one."""
    axis: int | None = None
    """The axis along which calls append to it."""
    adds: Dim | None = None
    """For the length of growing states: the number of positions that a call adds to it."""

    def to_json(self) -> list[object]:
        """The state as plain JSON values."""
        found: list[object] = [self.name, self.input, self.output, self.initial, int(self.is_in_place)]
        if self.axis is None and self.adds is None:
            return found
        return [*found, self.axis, None if self.adds is None else str(self.adds)]

    @staticmethod
    def from_json(data: object) -> StateSpec:
        """The state that `to_json` wrote. Raises: ValueError or TypeError when it is not one."""
        row = as_list(data)
        name, input, *numbers, in_place, axis, adds = row if len(row) > 5 else [*row, None, None]
        output, initial, axis = (None if n is None else as_size(n) for n in (*numbers, axis))
        new = None if adds is None else Dim.of(as_text(adds))
        return StateSpec(as_text(name), as_size(input), output, initial, bool(as_size(in_place)), axis, new)


class Binding(NamedTuple):
    """The sizes of a call, given its input shapes: symbol values in order, output shapes, arena bytes."""

    symbols: tuple[int, ...]
    output_shapes: tuple[tuple[int, ...] | None, ...]
    """The shape of each output; None if it depends on data, or if the output is no array."""
    array_shapes: tuple[tuple[int, ...], ...]
    """The same, with `()` for a shape that is not known before the call."""
    arena_bytes: int
    values: Mapping[str, int]
    """The symbols of the inputs by name."""
    largest_output_bytes: int
    """The largest size of an output whose shape is known before the call."""


class Interface(NamedTuple):
    """The signature of a compiled model; binds the shapes of a call to symbol values."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    symbols: tuple[str, ...]
    arena_bytes: Dim
    checks: tuple[ShapeCheck, ...] = ()
    published: tuple[str, ...] = ()
    """Symbols that compiled code computes and reports, because output shapes depend on them."""
    states: tuple[StateSpec, ...] = ()
    """The inputs and outputs that the runtime keeps between calls."""

    @property
    def public(self) -> Interface:
        """The interface as callers see it, without states."""
        if not self.states:
            return self
        kept, written = {state.input for state in self.states}, {state.output for state in self.states}
        return self._replace(
            inputs=tuple(spec for i, spec in enumerate(self.inputs) if i not in kept),
            outputs=tuple(spec for i, spec in enumerate(self.outputs) if i not in written),
            states=(),
        )

    def bind(self, shapes: Sequence[tuple[int, ...]]) -> Binding:
        """
        Symbol values, output shapes and arena size for the input shapes of a call.

        Raises: StepwellError `shape-mismatch` that names the input or node and both sizes; `too-large`.
        """
        try:
            return self._bound(shapes)
        except ZeroDivisionError:
            message = f"a size would be divided by 0 for inputs {list(shapes)}"
            raise StepwellError("shape-mismatch", None, message) from None

    def _bound(self, shapes: Sequence[tuple[int, ...]]) -> Binding:
        values: dict[str, int] = {}
        for spec, shape in zip(self.inputs, shapes, strict=True):
            self._bind_input(spec, shape, values)
        if max(values.values(), default=0) > MAX_TENSOR_BYTES:  # possible beside a size of 0
            raise StepwellError("too-large", None, f"a dimension is too long in {list(shapes)}")
        self._check_inputs(shapes, values)
        self._check_assumptions(values)
        outputs = tuple(self._output_shape(spec, values, shapes) for spec in self.outputs)
        symbols = tuple(values[s] for s in self.symbols)
        sizes = [prod(o) * spec.dtype.itemsize for spec, o in zip(self.outputs, outputs, strict=True) if o]
        arrays = tuple(() if shape is None else shape for shape in outputs)
        arena_bytes = self.arena_bytes.evaluate(values)
        names = [spec.name for spec, shape in zip(self.outputs, outputs, strict=True) if shape]
        for name, size in [*zip(names, sizes, strict=True), ("the arena", arena_bytes)]:
            if not 0 <= size <= MAX_TENSOR_BYTES:
                message = f"{name} would take {size} bytes for inputs {list(shapes)}"
                raise StepwellError("too-large", None, message)
        return Binding(symbols, outputs, arrays, arena_bytes, values, max(sizes, default=0))

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
                        else "give that size, or compile for this one: input_shapes in Python, --input-shape",
                    )

    def _check_assumptions(self, values: Mapping[str, int]) -> None:
        for check in self.checks:
            left, right = check.left.evaluate(values), check.right.evaluate(values)
            if left != right:
                sizes = ", ".join(f"{name} = {value}" for name, value in values.items())
                equation, notes = f"{check.left} must equal {check.right}", [f"with {sizes}"]
                message = f"{equation}, found {left} and {right}"
                if (
                    check.where and len(equation) > LONG_EQUATION
                ):  # the check's text says the same without symbols
                    message = f"a size must be {right}, found {left}"
                    notes.append(equation)
                raise StepwellError("shape-mismatch", check.where, message, note=notes)

    def to_json(self) -> dict[str, object]:
        """The interface as plain JSON values."""
        return {
            "inputs": [spec.to_json() for spec in self.inputs],
            "outputs": [spec.to_json() for spec in self.outputs],
            "symbols": list(self.symbols),
            "arena_bytes": json_of(self.arena_bytes),
            "checks": [[str(c.left), str(c.right), c.where] for c in self.checks],
            "published": list(self.published),
            **({"states": [state.to_json() for state in self.states]} if self.states else {}),
        }

    @staticmethod
    def from_json(data: Mapping[str, object]) -> Interface:
        """
        The interface that `to_json` wrote. Raises: ValueError, KeyError or TypeError when it is not one.
        """
        inputs, outputs = (
            tuple(TensorSpec.from_json(as_mapping(spec)) for spec in as_list(data[side]))
            for side in ("inputs", "outputs")
        )
        checks = [map(as_text, as_list(check, 3)) for check in as_list(data["checks"])]
        found = Interface(
            inputs,
            outputs,
            as_texts(data["symbols"]),
            as_dim(data["arena_bytes"]),
            tuple(ShapeCheck(Dim.of(left), Dim.of(right), where) for left, right, where in checks),
            as_texts(data["published"]),
            tuple(map(StateSpec.from_json, as_list(data.get("states", ())))),
        )
        found.expect_bound()
        found.expect_states()
        return found

    def expect_states(self) -> None:
        """Raises: ValueError for states that are no inputs and outputs, or these twice."""
        read = [state.input for state in self.states]
        written = [state.output for state in self.states if state.output is not None]
        for numbers, specs in ((read, self.inputs), (written, self.outputs)):
            if len(set(numbers)) < len(numbers) or max(numbers, default=-1) >= len(specs):
                raise ValueError("a state names no input or output, or another one's")
        growing = [(self.inputs[state.input], state.axis) for state in self.states if state.axis is not None]
        if any(axis >= len(spec.dims) for spec, axis in growing):
            raise ValueError("a state grows along an axis that it does not have")
        if sum(state.adds is not None for state in self.states) != bool(growing):
            raise ValueError("growing states have one length, which is a state too")

    def expect_bound(self) -> None:
        """Raises: ValueError for a symbol that neither an input nor a call gives a value."""
        bound = {str(dim) for spec in self.inputs for dim in spec.dims if str(dim) in dim.symbols()}
        sizes = [self.arena_bytes, *(dim for spec in self.inputs for dim in spec.dims)]
        sizes += [dim for check in self.checks for dim in (check.left, check.right)]
        # An output that is an object has sizes of its own, which nothing publishes.
        sizes += [dim for spec in self.outputs if not spec.is_object for dim in spec.dims]
        unbound = {*self.symbols, *_symbols(sizes)} - bound - {*self.published}
        if unbound:
            raise ValueError(f"nothing gives {', '.join(sorted(unbound))} a value")


def _symbols(dims: Sequence[Dim]) -> set[str]:
    return {name for dim in dims for name in dim.symbols()}
