"""Inputs of programs: of JSON, and made up by their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.values.data import Data
from stepwell.runtime.values.program import ProgramModel
from stepwell.runtime.vm.program import DATA, ELEMENT, TENSOR, TUPLE, DataType, Type

_Item = tuple[str, object]
MADE_UP_DEPTH = 3
"""The constructors within each other of made-up data, before it ends as soon as it can."""


def made_up_values(program: ProgramModel, types: Mapping[str, Type], seed: int) -> dict[str, object]:
    """
    Random values of types; open sizes are 1, data is some constructors deep.

    Raises: StepwellError `bad-inputs` for a type of which no value can be made up.
    """
    rng = np.random.default_rng(seed)
    maker = _Maker({data.name: data for data in program.machine.program.data}, rng)
    return {name: maker.value(type, MADE_UP_DEPTH, name) for name, type in types.items()}


class _Maker:
    """Random values by type."""

    def __init__(self, data: Mapping[str, DataType], rng: np.random.Generator):
        self._data, self._rng = data, rng

    def value(self, type: Type, depth: int, name: str) -> object:
        """A value. Raises: StepwellError `bad-inputs`."""
        if type.kind == TENSOR:
            return self._array(type)
        if type.kind == TUPLE:
            return tuple(self.value(part, depth, name) for part in type.parts)
        if type.kind == ELEMENT:
            return self._rng.integers(0, 4)
        if type.kind != DATA or depth < -MADE_UP_DEPTH:
            message = f"no value can be made up for input {name!r} of type {type}"
            raise StepwellError("bad-inputs", None, message, help="give one: --inputs-json F.json")
        return self._made(type, depth, name)

    def _array(self, type: Type) -> Array:
        shape = [int(dim) if dim.isdecimal() else 1 for dim in type.dims]
        dtype = dtype_from_name(type.name)
        if dtype.kind == "f":
            return np.asarray(self._rng.standard_normal(shape)).astype(dtype)
        return self._rng.integers(0, 2 if dtype.kind == "b" else 4, shape).astype(dtype)

    def _made(self, type: Type, depth: int, name: str) -> object:
        """A value of the constructor that goes on, or, at the end of the depth, of the smallest one."""
        data = self._data[type.name]
        fields = [data.fields(tag, type.parts) for tag in range(len(data.constructors))]
        if not fields:
            raise StepwellError("bad-inputs", None, f"input {name!r}: {type} has no values")
        sizes = [sum(part.kind == DATA for part in each) for each in fields]
        tag = sizes.index(max(sizes) if depth > 0 else min(sizes))
        parts = [self.value(part, depth - 1, name) for part in fields[tag]]
        return _as_python(type, data.constructors[tag].name, parts)


def _as_python(type: Type, constructor: str, parts: Sequence[object]) -> object:
    """A value of the prelude's lists and options as Python has it, other data as `Data`."""
    match type.name, constructor:
        case "List", "Cons":
            return [parts[0], *cast("list[object]", parts[1])]
        case "List", "Nil":
            return []
        case "Option", "Some":
            return parts[0]
        case "Option", "None":
            return None
        case _:
            return Data(constructor, parts)


def value_of_json(program: ProgramModel, value: Any, type: Type, name: str) -> object:
    """
    A value of JSON as a program takes it: nested numbers for tensors, lists for lists and tuples, null or a
    value for options, `{"Rose": [..]}` for other data.

    Raises: StepwellError `bad-inputs` for what is of no such form; the program checks the rest.
    """
    if type.kind == TENSOR:
        try:
            return np.array(value, dtype_from_name(type.name))
        except (ValueError, TypeError, OverflowError) as error:
            raise StepwellError("bad-inputs", None, f"input {name!r}: {error}") from None
    known = {data.name: data for data in program.machine.program.data}
    if type.kind == TUPLE and isinstance(value, list):
        pairs = zip(cast("list[object]", value), type.parts, strict=False)
        return tuple(
            value_of_json(program, each, part, f"{name}.{n}") for n, (each, part) in enumerate(pairs)
        )
    if type.kind != DATA or type.name not in known:
        return value
    if type.name == "List" and isinstance(value, list):
        items = cast("list[object]", value)
        return [value_of_json(program, each, type.parts[0], f"{name}[{n}]") for n, each in enumerate(items)]
    items = list(cast("dict[str, object]", value).items()) if isinstance(value, dict) else []
    if type.name == "Option" and not items:
        return None if value is None else value_of_json(program, value, type.parts[0], name)
    return _data_of_json(program, items, type, known[type.name], name)


def _data_of_json(
    program: ProgramModel, items: Sequence[_Item], type: Type, data: DataType, name: str
) -> object:
    """The only item of `{"Rose": [..]}` as data. Raises: StepwellError `bad-inputs`."""
    names = [constructor.name for constructor in data.constructors]
    if len(items) != 1 or items[0][0] not in names or not isinstance(items[0][1], list):
        found = ", ".join(key for key, _ in items[:4]) or "something else"
        message = f'input {name!r}: expected {{"{names[0] if names else type}": [..]}}, found {found}'
        raise StepwellError("bad-inputs", None, message[:400], help=f"constructors are {', '.join(names)}")
    constructor, parts = items[0][0], cast("list[object]", items[0][1])
    fields = data.fields(names.index(constructor), type.parts)
    pairs = enumerate(zip(parts, fields, strict=False))
    made = [value_of_json(program, part, of, f"{name}.{constructor}.{n}") for n, (part, of) in pairs]
    return Data(constructor, [*made, *parts[len(made) :]])
