"""Function types as data types: a constructor for each function value, and a function that applies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.patterns import BOUND
from stepwell.dialects.graph.control_flow import joined_type
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.type_variables import mapped_type, without_sizes
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.passes.analysis.symbol_names import SymbolNames, define_data
from stepwell.passes.analysis.type_substitution import in_data
from stepwell.runtime.dims import UNKNOWN, Dim


@dataclass(frozen=True)
class Variant:
    """A constructor of a function type's data type: the function that is called, and the captured values."""

    name: str
    callee: SymbolRefAttr
    fields: Sequence[Attribute]
    hints: Sequence[str | None]
    at: Operation

    def called(self, arguments: Sequence[SSAValue], results: Sequence[Attribute]) -> Operation:
        """The call of the function; for a constructor of data, the op that makes its value."""
        if path := self.callee.nested_references.data:
            return adt.MakeOp(path[-1].data, arguments, cast(adt.DataType, results[0]))
        return graph.CallOp(self.callee.root_reference.data, arguments, results)


@dataclass
class Family:
    """The data type of a function type: a constructor for each function value; and the apply function."""

    type: FunctionType
    data: adt.DataType
    apply: str
    variants: dict[tuple[str, tuple[Attribute, ...]], Variant] = field(
        default_factory=dict[tuple[str, "tuple[Attribute, ...]"], Variant]
    )

    taken: set[str] = field(default_factory=set[str])
    """The names of the constructors."""

    def join(self, type: FunctionType) -> None:
        """Let the family be of another type too, which differs in sizes alone."""
        if type != self.type:
            inputs = [joined_type(a, b) or a for a, b in zip(self.type.inputs, type.inputs, strict=True)]
            outputs = [joined_type(a, b) or a for a, b in zip(self.type.outputs, type.outputs, strict=True)]
            self.type = _closed(inputs, outputs)

    def variant(self, callee: SymbolRefAttr, captured: Sequence[SSAValue], at: Operation) -> Variant:
        """The constructor for a function with captured values."""
        fields = tuple(in_data(value.type) for value in captured)
        key = str(callee), fields
        if key not in self.variants:
            parts = [callee.root_reference.data, *(part.data for part in callee.nested_references)]
            name, number = "_".join(parts), 0
            while name in self.taken:
                name, number = f"{'_'.join(parts)}_{number}", number + 1
            self.taken.add(name)
            self.variants[key] = Variant(name, callee, fields, [value.name_hint for value in captured], at)
        return self.variants[key]

    def function(self) -> FuncOp:
        """The function from a value of the data type and arguments to the results of the call."""
        inputs, outputs = self.type.inputs.data, self.type.outputs.data
        block = Block(arg_types=[self.data, *inputs])
        block.args[0].name_hint = "function"
        cases = [self._case(each, block.args[1:], outputs) for each in self.variants.values()]
        patterns = [
            adt.PatternAttr.of(each.name, [adt.PatternAttr.of(BOUND)] * len(each.fields))
            for each in self.variants.values()
        ]
        match = adt.MatchOp(block.args[0], patterns, cases, outputs)
        block.add_ops([match, ReturnOp(*match.results)])
        made = FuncOp(
            self.apply, ([*block.arg_types], outputs), Region(block), visibility=StringAttr("private")
        )
        if (first := next(iter(self.variants.values()), None)) is not None:
            for op in (match, made):
                adopt_location(op, first.at.location)
        return made

    def _case(self, variant: Variant, arguments: Sequence[SSAValue], outputs: Sequence[Attribute]) -> Region:
        block = Block(arg_types=variant.fields)
        for argument, hint in zip(block.args, variant.hints, strict=True):
            argument.name_hint = hint
        called = variant.called([*block.args, *arguments], outputs)
        adopt_location(called, variant.at.location)
        block.add_ops([called, graph.YieldOp(called.results)])
        return Region(block)


class FunctionData:
    """The families of a module's function types. Types that differ in sizes alone are of one family."""

    def __init__(self, names: SymbolNames):
        self._names = names
        self._families: dict[Attribute, Family] = {}
        self._by_data: dict[str, Family] = {}

    def mapped(self, type: Attribute) -> Attribute:
        """A type with data types in the places of function types."""

        def of_function(part: Attribute) -> Attribute:
            return self._family(part).data if isinstance(part, FunctionType) else part

        return mapped_type(type, of_function)

    def family(self, type: Attribute) -> Family:
        """The family of a function type, or of the data type in its place."""
        data = cast(adt.DataType, self.mapped(type))
        return self._by_data[data.symbol]

    def define(self, module: ModuleOp) -> None:
        """Define the data types, before all else, and the functions that apply their values, after it."""
        for family in reversed(self._families.values()):
            constructors = [(each.name, each.fields) for each in family.variants.values()]
            define_data(module, family.data.symbol, constructors)
        for family in self._families.values():
            module.body.block.add_op(family.function())

    def _family(self, type: FunctionType) -> Family:
        """The family of a function type whose arguments and results have no function types."""
        key = without_sizes(type)
        if key not in self._families:
            data = adt.DataType.of(self._names.numbered("fn"))
            closed = _closed(type.inputs.data, type.outputs.data)
            made = self._families[key] = Family(closed, data, self._names.numbered("apply"))
            self._by_data[data.symbol] = made
        self._families[key].join(type)
        return self._families[key]


def _closed(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> FunctionType:
    """A function type whose sizes are numbers, names that an argument's shape has, or unknown."""
    tensors = [type for type in inputs if type.name == TensorType.name]
    bound = {str(dim) for type in tensors for dim in dims_of(type) if dim == Dim.symbol(str(dim))}

    def closed(type: Attribute) -> Attribute:
        if type.name != TensorType.name:
            return in_data(type)
        dims = [dim if dim.is_unknown or dim.symbols() <= bound else UNKNOWN for dim in dims_of(type)]
        return tensor_type(cast(Tensor, type).element_type, dims)

    return FunctionType.from_lists([closed(type) for type in inputs], [closed(type) for type in outputs])
