"""Duals: in the place of each tensor of floats a pair of it and of a cell with its cotangent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, TupleType
from xdsl.ir import Attribute, SSAValue, TypeAttribute

from stepwell.dialects import adt, ref
from stepwell.dialects.adt.definitions import definition_named
from stepwell.dialects.graph.gradients import is_float
from stepwell.dialects.type_variables import readable_type, types_inside
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.data_sums import DataSums
from stepwell.runtime.errors import StepwellError

STEPS = ref.CellType(FunctionType.from_lists([], []))
"""The type of the cell with the function that computes all cotangents so far; its name in text is `bp`."""


class Duals:
    """The duals of types and values of a module; `sums` has its tangents, and writes functions on data."""

    def __init__(self, sums: DataSums):
        self._sums, self._tangents = sums, sums.tangents
        self._known: dict[Attribute, Attribute] = {}
        self._origin: dict[Attribute, Attribute] = {}

    def of(self, type: Attribute) -> Attribute:
        """The dual of a type; the type itself without floats and functions inside."""
        if type not in self._known:
            self._known[type] = found = self._made(type)
            self._origin[found] = type
        return self._known[type]

    def all(self, types: Sequence[Attribute]) -> list[Attribute]:
        """The duals of types."""
        return [self.of(type) for type in types]

    def _made(self, type: Attribute) -> Attribute:
        if is_float(type):
            return TupleType((cast(TypeAttribute, type), ref.CellType(type)))
        if isinstance(type, TupleType):
            return TupleType(tuple(cast("list[TypeAttribute]", self.all(type.types.data))))
        if isinstance(type, FunctionType):
            return FunctionType.from_lists([STEPS, *self.all(type.inputs.data)], self.all(type.outputs.data))
        if isinstance(type, ref.CellType):
            return ref.CellType(self.of(type.content))
        return self._of_data(type) if isinstance(type, adt.DataType) else type

    def _of_data(self, type: adt.DataType) -> Attribute:
        if self._has_variables_only(type.symbol):
            return adt.DataType(type.definition, ArrayAttr(self.all(type.arguments.data)))
        name = self._tangents.fresh(f"{readable_type(type)}.dual")
        made = self._known[type] = adt.DataType.of(name)
        constructors = self._tangents.constructors(type)
        definition = self._tangents.define(name, [(each, ()) for each in constructors])
        for constructor in definition.constructors:
            own = self._tangents.fields(constructor.sym_name.data, type)
            constructor.properties["fields"] = ArrayAttr(self.all(own))
        return made

    def _has_variables_only(self, symbol: str) -> bool:
        """Whether a data type has floats, functions and cells in the places of its variables alone."""
        seen: set[str] = set()
        pending = [symbol]
        while pending:
            if (name := pending.pop()) in seen:
                continue
            seen.add(name)
            constructors = definition_named(name, self._tangents.module).constructors
            inside = [part for each in constructors for field in each.fields for part in types_inside(field)]
            if any(is_float(part) or isinstance(part, FunctionType | ref.CellType) for part in inside):
                return False
            pending += [part.symbol for part in inside if isinstance(part, adt.DataType)]
        return True

    def wrapped(self, value: SSAValue, b: GradientBuilder) -> SSAValue:
        """The dual of a value, with new cells of zeros. Raises: StepwellError `no-derivative`."""
        type, dual = value.type, self.of(value.type)
        if is_float(type):
            return b.tuple_of([value, b.insert(ref.NewOp(b.zeros(value)))])
        if isinstance(type, TupleType):
            return b.tuple_of([self.wrapped(b.get(value, i), b) for i in range(len(type.types))])
        if isinstance(type, FunctionType | ref.CellType):
            raise _beyond(type)
        if dual == type:
            return value
        return self._sums.of_fields("wrapped", value, dual, lambda field, b: self.wrapped(field, b), b)

    def value(self, dual: SSAValue, b: GradientBuilder) -> SSAValue:
        """The value of a dual. Raises: StepwellError `no-derivative`."""
        type = self._origin[dual.type]
        if is_float(type):
            return b.get(dual, 0)
        if isinstance(type, TupleType):
            return b.tuple_of([self.value(b.get(dual, i), b) for i in range(len(type.types))])
        if isinstance(type, FunctionType | ref.CellType):
            raise _beyond(type)
        if dual.type == type:
            return dual
        return self._sums.of_fields("value", dual, type, lambda field, b: self.value(field, b), b)

    def cotangent(self, dual: SSAValue, b: GradientBuilder) -> SSAValue:
        """The cotangent in the cells of a dual; `tuple<>` where it has none."""
        type = self._origin[dual.type]
        tangent = self._tangents.of(type)
        if tangent is None:
            return b.tuple_of([])
        if is_float(type):
            return b.insert(ref.ReadOp(b.get(dual, 1)))
        if isinstance(type, TupleType):
            return b.tuple_of([self.cotangent(b.get(dual, i), b) for i in range(len(type.types))])
        return self._sums.of_fields("cotangent", dual, tangent, lambda field, b: self.cotangent(field, b), b)

    def seed(self, dual: SSAValue, cotangent: SSAValue, b: GradientBuilder) -> None:
        """Add a cotangent to the cells of a dual. Raises: StepwellError `no-derivative` for data."""
        type = self._origin[dual.type]
        if self._tangents.of(type) is None:
            return
        if isinstance(type, TupleType):
            for i in range(len(type.types)):
                self.seed(b.get(dual, i), b.get(cotangent, i), b)
        elif is_float(type):
            cell = b.get(dual, 1)
            b.rewriter.insert(ref.WriteOp(cell, b.add(b.insert(ref.ReadOp(cell)), cotangent)))
        else:
            message = f"a result of type {type} has no cotangent in mode higher-order"
            raise StepwellError("no-derivative", None, message, help="return tensors, or tuples of these")


def _beyond(type: Attribute) -> StepwellError:
    what = "function value" if isinstance(type, FunctionType) else "cell"
    message = f"a function that takes or returns a {what} has no derivative"
    return StepwellError("no-derivative", None, message, help=f"make the {what} inside of the function")
