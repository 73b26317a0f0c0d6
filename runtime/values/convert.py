"""
Python values as those of the machine, and back, by the types of a program's interface.

`List` is a list, `Option` a value or None, `tuple` a tuple, other data `Data`. Neither direction recurses: a
list or a tree may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn, cast

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.values.by_type import NotQuick
from stepwell.runtime.values.data import Data
from stepwell.runtime.values.function import Executor, Function
from stepwell.runtime.values.quick import QuickConverter
from stepwell.runtime.values.quick_items import ItemWriter
from stepwell.runtime.values.types import Types, builtins_name
from stepwell.runtime.vm.native import NativeMachine
from stepwell.runtime.vm.objects import TUPLE_TAG, Closure, Tag, Value, described
from stepwell.runtime.vm.program import CELL, DATA, ELEMENT, FUNCTION, TENSOR, TUPLE, Type


class Path(NamedTuple):
    """The position of a value inside an argument."""

    outer: Path | None
    text: str

    def __str__(self) -> str:
        parts: list[str] = []
        path: Path | None = self
        while path is not None:
            parts.append(path.text)
            path = path.outer
        name, *inside = reversed(parts)
        return f"{name}: {''.join(inside)}" if inside else name


class Part(NamedTuple):
    """A value that is still to be converted."""

    value: object
    type: Type
    path: Path


class Build(NamedTuple):
    """A value to be made of the last converted ones."""

    make: Callable[[Sequence[Value]], Value]
    parts: int


class Opened(NamedTuple):
    """A value with values inside."""

    parts: Sequence[Part]
    make: Callable[[Sequence[Value]], Value]


def _converted(value: Part, opened: Callable[[Part], Opened | None], leaf: Callable[[Part], Value]) -> Value:
    """A value converted from the inside out, without recursion."""
    done: list[Value] = []
    work: list[Part | Build] = [value]
    while work:
        item = work.pop()
        if isinstance(item, Build):
            start = len(done) - item.parts
            made = item.make(done[start:])
            del done[start:]
            done.append(made)
        elif (inside := opened(item)) is None:
            done.append(leaf(item))
        else:
            work.append(Build(inside.make, len(inside.parts)))
            work.extend(reversed(inside.parts))
    return done[0]


def _tupled(tag: Tag) -> Callable[[Sequence[Value]], Value]:
    """The function that makes a data value of its fields."""
    return lambda items: (tag, *items)


class Converter:
    """The conversions of one program's values; `call` runs a function value of it."""

    def __init__(self, machine: Executor):
        self._machine = machine
        self._types = Types(machine.program)
        self._quick = (
            ItemWriter(self._types, machine)
            if isinstance(machine, NativeMachine)
            else QuickConverter(self._types, machine.tags)
        )
        self.classes: dict[str, dict[str, type[Data]]] = {
            data.name: {
                each.name: Data.subclass(data.name, each.name, len(each.fields)) for each in data.constructors
            }
            for data in machine.program.data
        }
        """The classes of data by the names of data types and constructors."""

    def argument(self, value: object, type: Type, name: str, sizes: dict[str, int]) -> Value:
        """
        A Python value as a value of the machine.

        Args: `name` is the input's name; `sizes` has the sizes by symbol, for all inputs of a call.
        Raises: StepwellError `type-mismatch`, `shape-mismatch` with the position inside of the value.
        """
        try:
            return self._quick.convert(value, type)
        except NotQuick:
            pass

        def leaf(part: Part) -> Value:
            try:
                return self._leaf(part, sizes)
            except StepwellError as error:
                raise StepwellError(
                    error.code, None, f"{part.path}: {error.message}", note=error.notes, help=error.help
                ) from None

        return _converted(Part(value, type, Path(None, f"input {name!r}")), self._open_argument, leaf)

    def _open_argument(self, part: Part) -> Opened | None:
        value, type, path = part
        if type.kind == TUPLE:
            return self._open_tuple(part)
        if type.kind != DATA:
            return None
        if self._types.is_list(type) and isinstance(value, list | tuple):
            items = [
                Part(item, type.parts[0], Path(path, f"[{n}]"))
                for n, item in enumerate(cast("Sequence[object]", value))
            ]
            return Opened(items, self._chain(type))
        if not isinstance(value, Data) and self._types.is_option(type):
            value = Data("None") if value is None else Data("Some", [value])
        if not isinstance(value, Data):
            self._refuse(part)
        names = self._types.constructors(type)
        if value.constructor not in names or value.data_type not in ("", type.name):
            help = f"{did_you_mean(value.constructor, names)}{type} has {', '.join(names) or 'no values'}"
            self._refuse(part, help)
        tag = self._tag(type, names.index(value.constructor))
        fields = self._types.fields(type, tag.tag)
        if len(fields) != len(value.fields):
            message = f"{path}: {tag.name} has {len(fields)} fields, found {len(value.fields)}"
            raise StepwellError("type-mismatch", None, message)
        # Around the value of an option nothing is written: a path names what the user wrote.
        is_written = isinstance(part.value, Data)
        parts = [
            Part(item, field, Path(path, f".{tag.name}.{n}") if is_written else path)
            for n, (item, field) in enumerate(zip(value.fields, fields, strict=True))
        ]
        return Opened(parts, _tupled(tag))

    def _open_tuple(self, part: Part) -> Opened:
        value, type, path = part
        if not isinstance(value, tuple | list):
            self._refuse(part)
        items = cast("Sequence[object]", value)
        if len(items) != len(type.parts):
            message = f"{path}: expected {type}, a tuple of {len(type.parts)}, found {len(items)} items"
            raise StepwellError("type-mismatch", None, message)
        parts = [
            Part(item, field, Path(path, f"[{n}]"))
            for n, (item, field) in enumerate(zip(items, type.parts, strict=True))
        ]
        return Opened(parts, _tupled(TUPLE_TAG))

    def _leaf(self, part: Part, sizes: dict[str, int]) -> Value:
        value, type, _ = part
        if type.kind == TENSOR:
            return self._types.array(value, type, sizes)
        if type.kind == FUNCTION and isinstance(value, Function) and value.belongs_to(self._machine):
            if value.type != type:
                raise StepwellError("type-mismatch", None, f"expected {type}, found {value.type}")
            return value.closure
        if type.kind == ELEMENT and isinstance(value, int):
            return int(value)
        if type.kind == CELL:
            raise StepwellError("bad-main", None, "cells do not leave or enter a program")
        raise StepwellError("type-mismatch", None, f"expected {type}, found {builtins_name(value)}")

    def _refuse(self, part: Part, help: str | None = None) -> NoReturn:
        message = f"{part.path}: expected {part.type}, found {builtins_name(part.value)}"
        raise StepwellError("type-mismatch", None, message, help=help)

    def _tag(self, type: Type, tag: int) -> Tag:
        return self._machine.tags[self._types.number(type)][tag]

    def _chain(self, type: Type) -> Callable[[Sequence[Value]], Value]:
        cons, nil = (self._tag(type, tag) for tag in (0, 1))

        def make(items: Sequence[Value]) -> Value:
            chain: Value = (nil,)
            for item in reversed(items):
                chain = (cons, item, chain)
            return chain

        return make

    def result(self, value: Value, type: Type) -> object:
        """A value of the machine as a Python value. Raises: StepwellError `bad-bytecode`, `bad-main`."""
        if type.kind == TENSOR:
            return self._types.expect_array(value, type)
        return _converted(Part(value, type, Path(None, "")), self._open_result, self._result_leaf)

    def _open_result(self, part: Part) -> Opened | None:
        value, type, path = part
        if type.kind not in (TUPLE, DATA):
            return None
        given = cast("tuple[Value, ...]", value) if isinstance(value, tuple) else (None,)
        tag = cast(object, given[0])
        if not isinstance(tag, Tag) or tag.data != (type.name if type.kind == DATA else ""):
            self._wrong_result(value, type)
        if type.kind == TUPLE:
            fields, make = type.parts, tuple[Value, ...]
        elif self._types.is_list(type):
            return self._open_chain(given, type, path)
        else:
            fields = self._types.fields(type, tag.tag)
            make = self._maker(type, tag)
        if len(fields) != len(given) - 1:
            self._wrong_result(value, type)
        parts = zip(given[1:], fields, strict=True)
        return Opened([Part(item, field, path) for item, field in parts], make)

    def _maker(self, type: Type, tag: Tag) -> Callable[[Sequence[Value]], Value]:
        if self._types.is_option(type):
            return lambda items: items[0] if items else None
        made = self.classes[type.name][tag.name]
        return lambda items: made(*items)

    def _open_chain(self, value: Value, type: Type, path: Path) -> Opened:
        items: list[Part] = []
        while value[0].tag == 0:
            items.append(Part(value[1], type.parts[0], path))
            value = value[2]
            if value.__class__ is not tuple or value[0].data != type.name:
                self._wrong_result(value, type)
        return Opened(items, list)

    def _result_leaf(self, part: Part) -> object:
        value, type = cast(Value, part.value), part.type
        if type.kind == TENSOR:
            return self._types.expect_array(value, type)
        if type.kind == FUNCTION and isinstance(value, Closure):
            return Function(self._machine, value, type, self)
        if type.kind == ELEMENT and isinstance(value, int):
            return value
        if type.kind == CELL:
            raise StepwellError("bad-main", None, "cells do not leave or enter a program")
        self._wrong_result(value, type)

    def _wrong_result(self, value: Value, type: Type) -> NoReturn:
        message = f"expected {type}, the program returned {described(value)}"
        raise StepwellError("bad-bytecode", None, message)
