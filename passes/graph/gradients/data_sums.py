"""Zeros and sums of cotangents of tuples and data: of data, functions that gradients add to the module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import StringAttr, TupleType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.patterns import BOUND, TUPLE, PatternAttr
from stepwell.dialects.graph.gradients import is_float
from stepwell.dialects.type_variables import readable_type
from stepwell.passes.analysis.tangents import Tangents
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.options import Options

_OfFields: TypeAlias = Callable[[Sequence[SSAValue], GradientBuilder], SSAValue]


class DataSums:
    """The functions `@D.zeros` and `@D.sum` of the data types of a module, each written at its first use."""

    def __init__(self, tangents: Tangents, options: Options):
        self.tangents, self.options = tangents, options
        self._names: dict[tuple[str, Attribute], str] = {}

    def zeros(self, value: SSAValue, b: GradientBuilder) -> SSAValue:
        """The zero cotangent of a value; `tuple<>` where it has none."""
        tangent = self.tangents.of(value.type)
        if tangent is None:
            return b.tuple_of([])
        if isinstance(value.type, TupleType):
            return b.tuple_of([self.zeros(b.get(value, i), b) for i in range(len(value.type.types))])
        if is_float(value.type):
            return b.zeros(value)
        type = cast(adt.DataType, value.type)
        name = self._function("zeros", type, [type], tangent, lambda fields, b: self.zeros(fields[0], b), b)
        return b.call(name, [value], [tangent])[0]

    def sum(self, first: SSAValue, second: SSAValue, b: GradientBuilder) -> SSAValue:
        """The sum of two cotangents of one value, which have the same constructors."""
        if isinstance(first.type, TupleType):
            fields = range(len(first.type.types))
            return b.tuple_of([self.sum(b.get(first, i), b.get(second, i), b) for i in fields])
        if is_float(first.type):
            return b.add(first, second)
        type = cast(adt.DataType, first.type)
        name = self._function(
            "sum", type, [type, type], type, lambda pair, b: self.sum(pair[0], pair[1], b), b
        )
        return b.call(name, [first, second], [type])[0]

    def of_fields(
        self,
        what: str,
        value: SSAValue,
        gives: Attribute,
        of_field: Callable[[SSAValue, GradientBuilder], SSAValue],
        b: GradientBuilder,
    ) -> SSAValue:
        """A value of another data type with the same constructors, by a function `@D.what` on the fields."""
        type = cast(adt.DataType, value.type)
        name = self._function(what, type, [type], gives, lambda fields, b: of_field(fields[0], b), b)
        return b.call(name, [value], [gives])[0]

    def _function(
        self,
        what: str,
        type: adt.DataType,
        takes: Sequence[adt.DataType],
        gives: Attribute,
        of_fields: _OfFields,
        b: GradientBuilder,
    ) -> str:
        """The function on data that applies `of_fields` to equal fields of values, and makes data of that."""
        key = what, type
        if key in self._names:
            return self._names[key]
        name = self._names[key] = self.tangents.fresh(f"{readable_type(type)}.{what}")
        block = Block(arg_types=takes)
        made = FuncOp(name, (takes, [gives]), Region(block), visibility=StringAttr("private"))
        self.tangents.module.body.block.add_op(made)
        value: SSAValue = block.args[0]
        if len(takes) > 1:
            block.add_op(pair := graph.TupleOp(block.args))
            value = pair.result
        names = self.tangents.constructors(type)
        cases = [
            self._case(each, type, len(takes), cast(adt.DataType, gives), of_fields, b) for each in names
        ]
        patterns = [_pattern(each, len(self.tangents.fields(each, type)), len(takes)) for each in names]
        match = adt.MatchOp(value, patterns, cases, [gives], partial=len(takes) > 1)
        block.add_ops([match, ReturnOp(*match.results)])
        return name

    def _case(
        self,
        constructor: str,
        type: adt.DataType,
        count: int,
        gives: adt.DataType,
        of_fields: _OfFields,
        b: GradientBuilder,
    ) -> Region:
        fields = self.tangents.fields(constructor, type)
        block = Block(arg_types=[*fields] * count)
        block.add_op(last := graph.YieldOp([]))
        inner = b.before(last)
        size = len(fields)
        found = [of_fields([block.args[i + size * k] for k in range(count)], inner) for i in range(size)]
        last.operands = [inner.insert(adt.MakeOp(constructor, found, gives))]
        return Region(block)


def _pattern(constructor: str, fields: int, count: int) -> PatternAttr:
    """The pattern of one value of a constructor, or of so many as a tuple."""
    pattern = PatternAttr.of(constructor, [PatternAttr.of(BOUND)] * fields)
    return pattern if count == 1 else PatternAttr.of(TUPLE, [pattern] * count)
