"""The module of level 0 of a PyTorch program: names of sizes, weights, one op a node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import graph
from stepwell.dialects import torch as dialect
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import Constant, constant_attr, is_inline
from stepwell.dialects.graph_ir.state import named
from stepwell.dialects.torch.call_text import call_text
from stepwell.dialects.torch.rescaled_tables import is_rescaled
from stepwell.dialects.types import WeightAttr, element_of, tensor_type
from stepwell.frontend.torch.guards import guard_checks
from stepwell.frontend.torch.records import Array, Input, Node, Ref, TensorRecord, TorchProgram
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

_NOT_A_NAME = re.compile(r"\W")
_LARGEST = 1 << 31
"""A bound of a size that says nothing: larger ones do not occur."""


def build_module(
    program: TorchProgram, ctx: StepwellContext, symbols: Mapping[str, Dim] | None = None
) -> ModuleOp:
    """
    A program as a verified module of level 0.

    Args: `symbols` maps the program's symbols to the user's (default: as `symbol_names`).
    Raises: StepwellError `invalid-model` that names the node, for a value that nothing defines or an argument
    that the overload does not have.
    """
    return _Builder(program, ctx, symbols).module()


class _Builder:
    """Builds one module."""

    def __init__(self, program: TorchProgram, ctx: StepwellContext, symbols: Mapping[str, Dim] | None):
        self._program, self._weights = program, ctx.weights
        self._symbols = symbol_names(program) if symbols is None else symbols
        self._block = Block(arg_types=[self._type(each.type) for each in program.inputs])
        self._values: dict[str, SSAValue] = {}

    def module(self) -> ModuleOp:
        """The whole program."""
        program = self._program
        for each, argument in zip(program.inputs, self._block.args, strict=True):
            self._define(each.name, argument)
        self._add_weights()
        self._block.add_ops(self._checks())
        for node in program.nodes:
            self._add_node(node)
        results = [self._result(output.value) for output in program.outputs]
        self._block.add_op(ReturnOp(*results))
        self._expect_rescaled()
        main = FuncOp(
            "main",
            ([arg.type for arg in self._block.args], [result.type for result in results]),
            Region(self._block),
            arg_attrs=ArrayAttr([self._input_attributes(each) for each in program.inputs]),
            res_attrs=ArrayAttr(
                [named(each.state or each.label, state=bool(each.state)) for each in program.outputs]
            ),
        )
        module = ModuleOp([main], {"torch.version": StringAttr(program.version)})
        module.location = FileLineColLoc(StringAttr(program.name), IntAttr(0), IntAttr(0))
        return module

    def _expect_rescaled(self) -> None:
        """Refuse writes of parameters but those of embeddings with a largest norm. Raises: StepwellError."""
        for name, parameter in self._program.written.items():
            if not is_rescaled(self._value(name)):
                message = f"the program writes into its parameter {parameter!r}"
                help = "return the new value instead, or keep it in a buffer of the module"
                raise StepwellError("unsupported", self._program.name, message, help=help)

    def _input_attributes(self, each: Input) -> DictionaryAttr:
        if not each.state:
            return named(each.label)
        initial = None if each.initial is None else constant_attr(each.initial, each.state, self._weights)
        return named(each.state, state=True, initial=initial)

    def _type(self, record: TensorRecord) -> Attribute:
        return tensor_type(record.element, [self._dim(dim) for dim in record.dims])

    def _dim(self, dim: Dim) -> Dim:
        return dim.substitute(self._symbols)

    def _define(self, name: str, value: SSAValue) -> None:
        value.name_hint = name if SSAValue.is_valid_name(name) else None
        self._values[name] = value

    def _add_weights(self) -> None:
        """An op for each weight that a node or an output uses."""
        used = _used(self._program)
        weights = {name: weight for name, weight in self._program.weights.items() if name in used}
        attributes = constants(weights.values(), self._weights)
        for name, attribute in zip(weights, attributes, strict=True):
            op = dialect.WeightOp(attribute)
            op.location = NameLoc(StringAttr(weights[name][0]), NoneAttr())
            op.attributes[dialect.NAME] = StringAttr(weights[name][0])
            self._block.add_op(op)
            self._define(name, op.result)

    def _checks(self) -> list[Operation]:
        """The ranges of symbols and the guards, as checks of a call."""
        checks: list[Operation] = []
        for name, (least, largest) in self._program.ranges.items():
            dim = self._symbols.get(name)
            if dim is None:
                continue
            where = self._place_of(dim)
            if largest is not None and largest < _LARGEST:
                message = f"{where} must be at most {largest}, as the program was exported"
                checks.append(graph.AssertOp(dim, dim.minimum(Dim.of(largest)), message))
            if least > 2:  # torch writes 2 as the least of every open size, and does not check it
                message = f"{where} must be at least {least}, as the program was exported"
                checks.append(graph.AssertOp(dim, dim.maximum(Dim.of(least)), message))
        return [*checks, *guard_checks(self._program.guards, self._size_of)]

    def _size_of(self, label: str, axis: int) -> Dim | None:
        """The size of an input's dimension; None if the input or the dimension does not exist."""
        labels = (label, label.replace(".", "_", 1))  # `values_0` is the first of `*values`
        dims = next((each.type.dims for each in self._program.inputs if each.label in labels), ())
        return self._dim(dims[axis]) if axis < len(dims) else None

    def _place_of(self, dim: Dim) -> str:
        """A description of a symbol: the input and the dimension where it occurs."""
        for each in self._program.inputs:
            for axis, found in enumerate(each.type.dims):
                if self._dim(found) == dim:
                    return f"dimension {axis} of {each.label}, {dim},"
        return f"the size {dim}"

    def _add_node(self, node: Node) -> None:
        op = self._op(node)
        op.attributes[dialect.NODE] = StringAttr(node.name)
        if node.module:
            op.attributes[dialect.MODULE] = StringAttr(node.module)
        op.location = _location(node)
        self._block.add_op(op)
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise self._invalid(node, str(error)) from None
        for (name, _), result in zip(node.outputs, op.results, strict=True):
            self._define(name, result)

    def _op(self, node: Node) -> Operation:
        """The op of a node. Raises: StepwellError."""
        types = [self._type(record) for _, record in node.outputs]
        if node.target not in dialect.TABLE:
            return self._operator(node, types)
        try:
            op_class = dialect.TABLE.op_class(node.target)
            known = op_class.SIGNATURE.by_name
            arguments = {name: self._argument(value, node) for name, value in node.arguments.items()}
            for name, value in arguments.items():
                if name in known and known[name].is_tensor and not known[name].is_list:
                    arguments[name] = self._as_tensor(value)
            return op_class.make(arguments, types)
        except (TypeError, ValueError) as error:
            raise self._invalid(node, str(error)) from None

    def _operator(self, node: Node, types: Sequence[Attribute]) -> Operation:
        """The op of an operator that the table does not have."""
        operands: list[SSAValue] = []

        def number_of(value: SSAValue) -> int:
            operands.append(value)
            return len(operands) - 1

        arguments = {name: self._argument(value, node) for name, value in node.arguments.items()}
        text = call_text(node.target, arguments, number_of)
        return dialect.OperatorOp(node.target, operands, types, text)

    def _as_tensor(self, value: object) -> object:
        """A number or an open size where the overload has a tensor, as one of rank 0; others as they are."""
        op: Operation
        if isinstance(value, Dim):
            op = _size_op(value)
        elif isinstance(value, bool | int | float):
            op = dialect.WeightOp(constant_attr(np.array(value), "", self._weights))
        else:
            return value
        self._block.add_op(op)
        return op.results[0]

    def _argument(self, value: object, node: Node) -> object:
        match value:
            case Ref():
                return self._value(value.name, node)
            case Dim():
                return self._dim(value)
            case list() | tuple():
                return [self._argument(item, node) for item in cast("Sequence[object]", value)]
            case _:
                return value

    def _value(self, name: str, node: Node | None = None) -> SSAValue:
        if (value := self._values.get(name)) is None:
            where = self._program.name if node is None else f'{self._program.name}: node "{node.name}"'
            raise StepwellError("undefined-value", where, f"nothing defines the value {name!r}")
        return value

    def _result(self, value: Ref | Dim | Array) -> SSAValue:
        if isinstance(value, Ref):
            return self._value(value.name)
        op: Operation
        if isinstance(value, Dim):
            op = _size_op(self._dim(value))
        else:
            op = dialect.WeightOp(constant_attr(value, "", self._weights))
        self._block.add_op(op)
        return op.results[0]

    def _invalid(self, node: Node, message: str) -> StepwellError:
        return StepwellError("invalid-model", f'{self._program.name}: node "{node.name}"', message)


def _size_op(size: Dim) -> Operation:
    """An open size as a tensor of rank 0."""
    kind = dialect.TABLE.op_class("aten.scalar_tensor.default")
    return kind.make({"s": size, "dtype": i64}, [tensor_type(i64, [])])


def constants(weights: Iterable[tuple[str, Array]], store: WeightStore) -> list[Constant]:
    """Named arrays as attributes; large ones share their bytes with the store."""
    pairs = list(weights)
    large = [(name, array) for name, array in pairs if not is_inline(array)]
    keys = iter(store.add_all([array for _, array in large]))
    made: list[Constant] = []
    for name, array in pairs:
        if is_inline(array):
            made.append(constant_attr(array, name, store))
        else:
            made.append(WeightAttr(name, next(keys), tensor_type(element_of(array.dtype), array.shape)))
    return made


def _used(program: TorchProgram) -> set[str]:
    """The names of the values that nodes and outputs use."""
    used = {ref.name for node in program.nodes for ref in _refs(node.arguments.values())}
    return used | {output.value.name for output in program.outputs if isinstance(output.value, Ref)}


def _refs(values: Iterable[object]) -> Iterable[Ref]:
    """The references in arguments, in order."""
    for value in values:
        if isinstance(value, Ref):
            yield value
        elif isinstance(value, list | tuple):
            yield from _refs(cast("Sequence[object]", value))


def symbol_names(program: TorchProgram) -> Mapping[str, Dim]:
    """The user's symbols by those of the program: given names, else `x_0` for the first dimension of x."""
    names: dict[str, Dim] = {}
    taken: set[str] = set()
    for each in program.inputs:
        for axis, dim in enumerate(each.type.dims):
            (name,) = dim.symbols() if len(dim.symbols()) == 1 else ("",)
            if not name or name in names or dim != Dim.symbol(name):
                continue
            given = program.symbol_names.get(name, "")
            if not given:
                given = f"{_NOT_A_NAME.sub('_', each.label)}_{axis}"
                while given in taken:
                    given += "_"
            taken.add(given)
            names[name] = Dim.symbol(given)
    return names


def _location(node: Node) -> LocationAttr:
    """The name of a node, and the user's line."""
    name = NameLoc(StringAttr(node.name), NoneAttr())
    if not node.file:
        return name
    line = FileLineColLoc(StringAttr(node.file), IntAttr(node.line), IntAttr(1))
    return FusedLoc(ArrayAttr([name, line]), NoneAttr())
