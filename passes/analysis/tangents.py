"""Tangents: for each type, the type of cotangents of its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, TensorType, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue, TypeAttribute

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.definitions import definition_named, definition_of
from stepwell.dialects.graph.gradients import is_float
from stepwell.dialects.ref import CellType
from stepwell.dialects.type_variables import VarType, readable_type, type_parts
from stepwell.passes.analysis.symbol_names import define_data
from stepwell.runtime.errors import StepwellError

MOST_TYPES = 64
UNIT = TupleType(())
"""The tangent, inside of tuples and data, of what has none by itself: of integers and functions."""


class Tangents:
    """
    The tangents of the types of a module, and names for the definitions that gradients add to it.

    A tensor of floats is its own tangent; integers, bools, functions and cells have none. Tuples and data
    have tangents by field. A data type whose fields are their own tangents is its own, else a new one,
    `@D.tangent`, is defined, unless the module defines it.
    """

    def __init__(self, module: ModuleOp, *, straight_through: bool = False):
        self.module = module
        self.straight_through = straight_through
        """Whether quantized values have the cotangents of the numbers that they stand for."""
        self._known: dict[Attribute, Attribute | None] = {}
        self._given: set[str] = set()

    def of(self, type: Attribute) -> Attribute | None:
        """The tangent of a type; None for types of values that have no cotangents."""
        if type not in self._known:
            if is_float(type):
                found = type
            elif isinstance(type, TupleType):
                found = self._of_tuple(cast("Sequence[Attribute]", type.types.data))
            else:
                found = self._of_data(type) if isinstance(type, adt.DataType) else None
            self._known[type] = found
        return self._known[type]

    def inside(self, type: Attribute) -> Attribute:
        """The tangent of a type as a field: `tuple<>` where it has none."""
        return self.of(type) or UNIT

    def has(self, value: SSAValue) -> bool:
        """Whether a value has a cotangent."""
        if self.straight_through and isinstance(value.owner, graph.QuantizeOp):
            return True
        return self.of(value.type) is not None

    def fresh(self, name: str) -> str:
        """A name that no function or data type of the module has."""
        taken = self._given | {
            op.sym_name.data for op in self.module.ops if isinstance(op, FuncOp | adt.DataOp)
        }
        unique, number = name, 0
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        self._given.add(unique)
        return unique

    def define(self, name: str, constructors: Sequence[tuple[str, Sequence[Attribute]]]) -> adt.DataOp:
        """Define a data type without variables by the names and fields of its constructors."""
        return define_data(self.module, name, constructors)

    def fields(self, constructor: str, type: adt.DataType) -> list[Attribute]:
        """The types of the fields of a constructor in values of a type."""
        return definition_of(type, self.module).fields(constructor, type)

    def constructors(self, type: adt.DataType) -> list[str]:
        """The names of the constructors of a type."""
        return definition_of(type, self.module).names

    def _of_tuple(self, fields: Sequence[Attribute]) -> Attribute | None:
        if all(self.of(field) is None for field in fields):
            return None
        return TupleType(tuple(cast(TypeAttribute, self.inside(field)) for field in fields))

    def _of_data(self, type: adt.DataType) -> Attribute | None:
        if not any(map(is_float, self._reached(type))):
            return None
        if self._is_own(type.symbol):
            return adt.DataType(type.definition, ArrayAttr([self.inside(each) for each in type.arguments]))
        name = f"{readable_type(type)}.tangent"
        made = self._known[type] = adt.DataType.of(name)
        wanted = [(each, list(map(self.inside, self.fields(each, type)))) for each in self.constructors(type)]
        given = next(
            (op for op in self.module.ops if isinstance(op, adt.DataOp) and op.sym_name.data == name), None
        )
        if given is None:
            self.define(name, wanted)
        elif [(each.sym_name.data, list(each.fields)) for each in given.constructors] != wanted:
            message = f"@{name} is not the tangent of {type}, whose name it has"
            raise StepwellError("type-mismatch", given, message, help="give it another name")
        return made

    def _reached(self, type: Attribute) -> Iterator[Attribute]:
        """A type and the types of all parts of its values. Raises: StepwellError `too-large`."""
        seen: set[Attribute] = set()
        pending = [type]
        while pending:
            each = pending.pop()
            if each in seen or isinstance(each, FunctionType | CellType):
                continue
            seen.add(each)
            yield each
            if not isinstance(each, adt.DataType):
                pending += type_parts(each)
                continue
            if sum(isinstance(other, adt.DataType) for other in seen) > MOST_TYPES:
                message = f"the values of {type} have parts of more than {MOST_TYPES} data types"
                raise StepwellError("too-large", self.module, message, help="use the data type at one type")
            for constructor in self.constructors(each):
                pending += self.fields(constructor, each)

    def _is_own(self, symbol: str) -> bool:
        """Whether the fields of a data type, but for its variables, are their own tangents."""
        seen: set[str] = set()
        pending = [symbol]
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            for constructor in definition_named(name, self.module).constructors:
                for field in constructor.fields:
                    if not _is_own_field(field):
                        return False
                    pending += [part.symbol for part in _parts(field) if isinstance(part, adt.DataType)]
        return True


def _parts(type: Attribute) -> Iterator[Attribute]:
    """A type and the types inside, but not elements of tensors."""
    pending = [type]
    while pending:
        yield (each := pending.pop())
        if not isinstance(each, TensorType):
            pending += type_parts(each)


def _is_own_field(type: Attribute) -> bool:
    return all(
        is_float(part) or isinstance(part, VarType | TupleType | adt.DataType) for part in _parts(type)
    )
