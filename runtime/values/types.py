"""The types of a program's values as conversions need them: fields of data types, arrays, sizes by symbol."""

from __future__ import annotations

from typing import cast

import numpy as np

from stepwell.runtime.dims import UNKNOWN
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, TensorSpec, dtype_from_name
from stepwell.runtime.machine.arguments import checked_input
from stepwell.runtime.vm.objects import described
from stepwell.runtime.vm.program import DATA, MAX_PARTS, Program, Type
from stepwell.runtime.vm.tensors import fits

LIST, OPTION = "List", "Option"
_LIST_NAMES, _OPTION_NAMES = ("Cons", "Nil"), ("Some", "None")


class Types:
    """The data types of a program, applied to arguments."""

    def __init__(self, program: Program):
        self._data = {data.name: (number, data) for number, data in enumerate(program.data)}
        self._fields: dict[tuple[Type, int], tuple[Type, ...]] = {}
        self._specs: dict[Type, TensorSpec] = {}
        self._has = {
            name: name in self._data and tuple(c.name for c in self._data[name][1].constructors) == names
            for name, names in ((LIST, _LIST_NAMES), (OPTION, _OPTION_NAMES))
        }

    def number(self, type: Type) -> int:
        """The number of a data type in the program."""
        return self._data[type.name][0]

    def constructors(self, type: Type) -> list[str]:
        """The names of a data type's constructors, by tag."""
        return [constructor.name for constructor in self._data[type.name][1].constructors]

    def fields(self, type: Type, tag: int) -> tuple[Type, ...]:
        """
        The types of the fields of a constructor in values of a type.

        Raises: StepwellError `too-large` for a data type whose arguments grow with the depth of its values.
        """
        key = type, tag
        if (known := self._fields.get(key)) is None:
            known = self._data[type.name][1].fields(tag, type.parts)
            if sum(map(_parts, known)) > MAX_PARTS:
                raise StepwellError(
                    "too-large", None, f"the types of the fields of {type.name} grow without end"
                )
            self._fields[key] = known
        return known

    def is_list(self, type: Type) -> bool:
        """Whether a type is the prelude's list type: a list in Python."""
        return type.kind == DATA and type.name == LIST and self._has[LIST]

    def is_option(self, type: Type) -> bool:
        """
        Whether a type is the prelude's option type, but not an option of an option: a value or None in
        Python.
        """
        is_option = type.kind == DATA and type.name == OPTION and self._has[OPTION]
        return is_option and type.parts[0].name != OPTION

    def array(self, value: object, type: Type, sizes: dict[str, int]) -> Array:
        """
        A Python value as an array of a type.

        Args: `sizes` has the values of known symbols, and gets the values of this array's symbols.
        Raises: StepwellError `type-mismatch`, `shape-mismatch`.
        """
        spec = self._specs.get(type)
        if spec is None:
            spec = self._specs[type] = TensorSpec("", dtype_from_name(type.name), ())
        try:
            array = checked_input(spec, value)
        except StepwellError as error:
            found = described(value) if isinstance(value, np.ndarray) else builtins_name(value)
            raise StepwellError(
                "type-mismatch", None, f"expected {type}, found {found}", note=error.notes, help=error.help
            ) from None
        array = array if array.__class__ is np.ndarray else cast(Array, array.view(np.ndarray))
        bound = all(
            sizes.setdefault(dim, size) == size
            for dim, size in zip(type.dims, array.shape, strict=False)
            if dim.isidentifier()
        )
        is_right = len(type.dims) == array.ndim and all(
            dim == UNKNOWN or dim.isidentifier() or fits(dim, size, sizes)
            for dim, size in zip(type.dims, array.shape, strict=True)
        )
        if not bound or not is_right:
            known = ", ".join(f"{name} = {sizes[name]}" for name in type.dims if name in sizes)
            note = f"with {known}" if known else ()
            raise StepwellError(
                "shape-mismatch", None, f"expected {type}, found {described(array)}", note=note
            )
        return array

    def expect_array(self, value: object, type: Type) -> Array:
        """A result as an array of a type. Raises: StepwellError `bad-bytecode`."""
        if isinstance(value, np.ndarray):
            array = cast(Array, value)
            if array.dtype == dtype_from_name(type.name) and array.ndim == len(type.dims):
                return array
        raise StepwellError("bad-bytecode", None, f"expected {type}, the program returned {described(value)}")


def _parts(type: Type) -> int:
    """The number of types inside a type and itself, up to a little more than the most that may be."""
    count, pending = 0, [type]
    while pending and count <= MAX_PARTS:
        count += 1
        pending += pending.pop().parts
    return count


def builtins_name(value: object) -> str:
    """The Python type of a value, and of data its constructor."""
    constructor = getattr(value, "constructor", None)
    return constructor if isinstance(constructor, str) else type(value).__name__
