"""The function of a model of another framework, built operator by operator at level 0."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, IntAttr, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.constants import constant_attr
from stepwell.dialects.foreign.dialect import ForeignDialect
from stepwell.dialects.graph_ir.state import named
from stepwell.dialects.types import tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array

_NOT_A_NAME = re.compile(r"\W")


def example_arguments(examples: object) -> tuple[tuple[object, ...], dict[str, object]]:
    """The positional arguments and those by name, to trace a function. Raises: StepwellError `bad-model`."""
    if isinstance(examples, Mapping):
        return (), dict(cast("Mapping[str, object]", examples))
    if isinstance(examples, list | tuple):
        return tuple(cast("Sequence[object]", examples)), {}
    found = type(examples).__name__
    message = f"example_inputs must be a tuple of arguments or a dictionary of them by name, found {found}"
    raise StepwellError("bad-model", None, message, help="for one argument x: example_inputs=(x,)")


class Node(NamedTuple):
    """An operator of a model."""

    target: str
    name: str
    arguments: Mapping[str, object]
    """Values of the IR, or lists of them, for tensors; Python values for others."""
    results: Sequence[tuple[str, Attribute]]
    """The names and the types of the results."""


class ForeignFunction:
    """Builds `@main` of a model; values are found by the names that the model gives them."""

    def __init__(self, dialect: ForeignDialect, weights: WeightStore, file: str):
        self._dialect, self._weights, self._file = dialect, weights, file
        self._block, self._inputs = Block(), list[str]()
        self.values: dict[str, SSAValue] = {}

    def add_input(self, name: str, element: Attribute, sizes: Sequence[int | None]) -> SSAValue:
        """An argument; its open sizes are named after it."""
        prefix = _NOT_A_NAME.sub("_", name)
        dims = [
            Dim.symbol(f"{prefix}_{axis}") if size is None else Dim.of(size)
            for axis, size in enumerate(sizes)
        ]
        return self.add_open_input(name, tensor_type(element, dims))

    def add_open_input(self, name: str, type: Attribute) -> SSAValue:
        """An argument of any type."""
        argument = self._block.insert_arg(type, len(self._block.args))
        self._inputs.append(name)
        self._define(name, argument)
        return argument

    def add_weight(self, name: str, array: Array) -> SSAValue:
        """A constant tensor."""
        op = self._dialect.weight(constant_attr(array, name, self._weights))
        self._insert(op, name)
        self._define(name, op.result)
        return op.result

    def add_node(self, node: Node) -> Sequence[SSAValue]:
        """
        The op of an operator: of its class in the table, else a `ForeignOperatorOp` with its name.

        Raises: StepwellError `invalid-model` for arguments that the operator does not take.
        """
        return self.add_op(self._op(node), node.name, [name for name, _ in node.results])

    def add_op(self, op: Operation, node: str, results: Sequence[str]) -> Sequence[SSAValue]:
        """An op that the reader made, whose results get names. Raises: StepwellError `invalid-model`."""
        self._insert(op, node)
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise self.invalid(node, str(error)) from None
        for name, result in zip(results, op.results, strict=True):
            self._define(name, result)
        return op.results

    @contextmanager
    def inside(self, arguments: Sequence[tuple[str, Attribute]] = ()) -> Generator[Block]:
        """
        The block of a region, to which operators go while the context is open.

        Values around it are visible in the region, and its own values nowhere else. Args: `arguments` have
        the names and the types of the block's arguments.
        """
        around = self._block, self.values
        self._block = Block(arg_types=[type for _, type in arguments])
        self.values = dict(self.values)
        for (name, _), argument in zip(arguments, self._block.args, strict=True):
            self._define(name, argument)
        try:
            yield self._block
        finally:
            self._block, self.values = around

    def value(self, name: str, node: str) -> SSAValue:
        """A value by its name. Raises: StepwellError `undefined-value`."""
        if (found := self.values.get(name)) is None:
            raise StepwellError("undefined-value", self._place(node), f"nothing defines {name!r}")
        return found

    def finished(self, outputs: Sequence[tuple[str, SSAValue]]) -> ModuleOp:
        """The module, whose function returns values under names. Raises: StepwellError `invalid-model`."""
        labels = [name for name, _ in outputs]
        for names in (self._inputs, labels):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise StepwellError("invalid-model", self._file, f"the name {twice[0]!r} is given twice")
        results = [value for _, value in outputs]
        self._block.add_op(ReturnOp(*results))
        function = FuncOp(
            "main",
            ([arg.type for arg in self._block.args], [result.type for result in results]),
            Region(self._block),
            arg_attrs=ArrayAttr(map(named, self._inputs)),
            res_attrs=ArrayAttr(map(named, labels)),
        )
        module = ModuleOp([function])
        module.location = FileLineColLoc(StringAttr(self._file), IntAttr(0), IntAttr(0))
        return module

    def invalid(self, node: str, message: str) -> StepwellError:
        """The error for a part of the model that is not well formed."""
        return StepwellError("invalid-model", self._place(node), message)

    def _place(self, node: str) -> str:
        return f'{self._file}: node "{node}"'

    def _op(self, node: Node) -> Operation:
        """The op of an operator. Raises: StepwellError `invalid-model`."""
        types = [type for _, type in node.results]
        if node.target not in self._dialect.table:
            return self._dialect.operator(node.target, list(_operands(node.arguments)), types)
        try:
            return self._dialect.table.op_class(node.target).make(dict(node.arguments), types)
        except (TypeError, ValueError) as error:
            raise self.invalid(node.name, str(error)) from None

    def _insert(self, op: Operation, name: str) -> None:
        op.attributes[self._dialect.node] = StringAttr(name)
        op.location = NameLoc(StringAttr(name), NoneAttr())
        self._block.add_op(op)

    def _define(self, name: str, value: SSAValue) -> None:
        hint = _NOT_A_NAME.sub("_", name)
        value.name_hint = hint if SSAValue.is_valid_name(hint) else None
        self.values[name] = value


def _operands(arguments: Mapping[str, object]) -> list[SSAValue]:
    """The tensors among the arguments of an operator."""
    operands: list[SSAValue] = []
    for value in arguments.values():
        items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
        operands += [item for item in items if isinstance(item, SSAValue)]
    return operands
