"""Values of tensors, tuples and data: made up by type, moved by their floats, and their cotangents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute

from stepwell.dialects import adt
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.passes.analysis.tangents import Tangents
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.values.data import Data

F64: TypeAlias = npt.NDArray[np.float64]
DEPTH = 4
"""The constructors within each other of made-up data, before it ends as soon as it can."""
_OPEN_SIZE = 3
_FEWEST = -16


def made_up(type: Attribute, tangents: Tangents, rng: np.random.Generator, depth: int = DEPTH) -> Any:
    """
    A random value of a type: floats of both signs, small integers; data is some constructors deep.

    Raises: StepwellError `bad-inputs` for functions and cells, and data that has no finite value.
    """
    if isinstance(type, TensorType):
        tensor = cast(Tensor, type)
        shape = [dim.value if dim.is_static else _OPEN_SIZE for dim in dims_of(tensor)]
        dtype = dtype_of(tensor.element_type)
        if dtype.kind == "f":
            return np.asarray(rng.standard_normal(shape)).astype(dtype)
        return np.asarray(rng.integers(0, 2 if dtype.kind == "b" else 4, shape)).astype(dtype)
    if isinstance(type, TupleType):
        return tuple(made_up(part, tangents, rng, depth) for part in type.types)
    if not isinstance(type, adt.DataType) or depth < _FEWEST:
        message = f"no value of type {type} can be made up"
        raise StepwellError("bad-inputs", None, message, help="check a function that takes none")
    fields = {each: tangents.fields(each, type) for each in tangents.constructors(type)}
    if not fields:
        raise StepwellError("bad-inputs", None, f"{type} has no values")
    choose = max if depth > 0 else min
    name = choose(fields, key=lambda each: sum(isinstance(part, adt.DataType) for part in fields[each]))
    return Data(name, [made_up(part, tangents, rng, depth - 1) for part in fields[name]])


def floats_in(value: Any) -> Iterator[F64]:
    """The tensors of floats in a value, in the order of its fields."""
    if isinstance(value, Data | tuple):
        for part in value.fields if isinstance(value, Data) else cast("tuple[Any, ...]", value):
            yield from floats_in(part)
    elif np.asarray(value).dtype.kind == "f":
        yield np.asarray(value, np.float64)


def with_floats(value: Any, floats: Iterator[F64]) -> Any:
    """A value with other tensors of floats, in the order of its fields."""
    if isinstance(value, Data):
        return Data(value.constructor, [with_floats(part, floats) for part in value.fields])
    if isinstance(value, tuple):
        return tuple(with_floats(part, floats) for part in cast("tuple[Any, ...]", value))
    return next(floats) if np.asarray(value).dtype.kind == "f" else value


def cotangent_of(value: Any, type: Attribute, tangents: Tangents, number: Callable[[F64], F64]) -> Any:
    """A cotangent of a value: `number` of each tensor of floats, `()` for what has none."""
    if tangents.of(type) is None:
        return ()
    if isinstance(value, Data):
        fields = tangents.fields(value.constructor, cast(adt.DataType, type))
        return Data(value.constructor, _cotangents(value.fields, fields, tangents, number))
    if isinstance(type, TupleType):
        return tuple(_cotangents(value, type.types, tangents, number))
    return number(np.asarray(value, np.float64))


def _cotangents(
    values: Iterable[Any], types: Iterable[Attribute], tangents: Tangents, number: Callable[[F64], F64]
) -> list[Any]:
    pairs = zip(values, types, strict=True)
    return [cotangent_of(value, type, tangents, number) for value, type in pairs]
