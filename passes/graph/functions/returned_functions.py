"""Functions that `@main` returns, made of the values of data types that stand for functions elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TupleType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.definitions import definition_of
from stepwell.dialects.adt.patterns import BOUND
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.type_variables import mapped_type, types_inside
from stepwell.passes.analysis.symbol_names import SymbolNames
from stepwell.passes.graph.functions.function_data import FunctionData
from stepwell.runtime.errors import StepwellError

_MOST_TYPES = 64
"""The most data types that are looked at: a definition may use itself at ever larger types."""


def reaches_function(type: Attribute, at: Operation) -> bool:
    """Whether values of a type have function values inside, also by the definitions of data types."""
    waiting, seen = [type], set[Attribute]()
    while waiting:
        for part in types_inside(waiting.pop()):
            if isinstance(part, FunctionType):
                return True
            if isinstance(part, adt.DataType) and part not in seen and len(seen) < _MOST_TYPES:
                seen.add(part)
                definition = definition_of(part, at)
                waiting += [each for name in definition.names for each in definition.fields(name, part)]
    return False


def without_functions(type: Attribute) -> Attribute:
    """A type with `tuple<>` in the places of function types."""
    return mapped_type(type, lambda part: TupleType(()) if isinstance(part, FunctionType) else part)


class ReturnedFunctions:
    """
    Conversions of results of `@main` to the types that it had.

    A value of the data type of a function type becomes a closure of the function that applies it; tuples and
    data are converted by their fields.
    """

    def __init__(self, module: ModuleOp, data: FunctionData, names: SymbolNames):
        self._module, self._data, self._names = module, data, names
        self._functions: dict[Attribute, str] = {}

    def convert(self, main: FuncOp, wanted: Sequence[Attribute]) -> None:
        """Let `@main` return values of the types that it had."""
        last = main.body.blocks[-1].last_op
        assert isinstance(last, ReturnOp)
        builder = Builder(InsertPoint.before(last))
        last.operands = [
            self._converted(value, type, builder, last)
            for value, type in zip(last.operands, wanted, strict=True)
        ]

    def _converted(self, value: SSAValue, type: Attribute, builder: Builder, at: Operation) -> SSAValue:
        """A value as one of a type whose function types are still there."""
        if self._data.mapped(type) == type:
            return value
        if isinstance(type, TupleType):
            fields = [
                self._converted(self._insert(graph.GetOp(value, number), builder, at), part, builder, at)
                for number, part in enumerate(cast("Sequence[Attribute]", type.types.data))
            ]
            return self._insert(graph.TupleOp(fields), builder, at)
        if isinstance(type, FunctionType):
            return self._insert(graph.ClosureOp(self._applied(type, at), [value], type), builder, at)
        if isinstance(type, adt.DataType):
            name = self._named(type, lambda name: self._of_data(type, name, at))
            return self._insert(graph.CallOp(name, [value], [type]), builder, at)
        message = f"@main returns a value of type {type}, which has functions inside"
        raise StepwellError("unsupported", at, message, help="return the functions themselves")

    def _insert(self, op: Operation, builder: Builder, at: Operation) -> SSAValue:
        adopt_location(op, at.location)
        return builder.insert(op).results[0]

    def _named(self, type: Attribute, make: Callable[[str], FuncOp]) -> str:
        """The name of the function for a type, which is made when it is new."""
        if type not in self._functions:
            name = self._functions[type] = self._names.numbered("returned")
            self._module.body.block.add_op(make(name))
        return self._functions[type]

    def _applied(self, type: FunctionType, at: Operation) -> str:
        """The function that applies a value: with results converted where these have functions inside."""
        if any(self._data.mapped(part) != part for part in type.inputs):
            message = f"@main returns a function of type {type}, which takes functions"
            raise StepwellError(
                "unsupported", at, message, help="functions that come from outside are not known"
            )
        if all(self._data.mapped(part) == part for part in type.outputs):
            return self._data.family(type).apply
        return self._named(type, lambda name: self._of_function(type, name, at))

    def _of_function(self, type: FunctionType, name: str, at: Operation) -> FuncOp:
        """The function that applies a value and converts the results."""
        family = self._data.family(type)
        outputs = type.outputs.data
        made, builder = self._function(name, [family.data, *type.inputs], outputs)
        call = graph.CallOp(family.apply, made.body.block.args, family.type.outputs.data)
        adopt_location(builder.insert(call), at.location)
        pairs = zip(call.results, outputs, strict=True)
        builder.insert(ReturnOp(*[self._converted(value, each, builder, at) for value, each in pairs]))
        return made

    def _of_data(self, type: adt.DataType, name: str, at: Operation) -> FuncOp:
        """The function that converts the fields of a value of a data type."""
        definition = definition_of(type, self._module)
        given = cast(adt.DataType, self._data.mapped(type))
        made, builder = self._function(name, [given], [type])
        patterns, cases = list[adt.PatternAttr](), list[Region]()
        for each in definition.names:
            before, after = definition.fields(each, given), definition.fields(each, type)
            block = Block(arg_types=before)
            inside = Builder(InsertPoint.at_end(block))
            pairs = zip(block.args, after, strict=True)
            fields = [self._converted(value, part, inside, at) for value, part in pairs]
            result = self._insert(adt.MakeOp(each, fields, type), inside, at)
            inside.insert(graph.YieldOp([result]))
            patterns.append(adt.PatternAttr.of(each, [adt.PatternAttr.of(BOUND)] * len(before)))
            cases.append(Region(block))
        match = builder.insert(adt.MatchOp(made.body.block.args[0], patterns, cases, [type]))
        adopt_location(match, at.location)
        builder.insert(ReturnOp(*match.results))
        return made

    def _function(
        self, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute]
    ) -> tuple[FuncOp, Builder]:
        """A private function without ops, and a builder at its end."""
        block = Block(arg_types=inputs)
        made = FuncOp(name, (inputs, outputs), Region(block), visibility=StringAttr("private"))
        return made, Builder(InsertPoint.at_end(block))
