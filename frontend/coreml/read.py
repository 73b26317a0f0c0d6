"""ML programs of Core ML as modules of level 0, without any package: mapped, bounded, nothing run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Region, SSAValue

from stepwell.dialects import coreml
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.foreign import Argument
from stepwell.frontend.coreml.package import Package
from stepwell.frontend.coreml.schema import SCHEMA
from stepwell.frontend.coreml.values import constant_of, element_type, sizes_of, type_of
from stepwell.frontend.foreign_function import ForeignFunction, Node
from stepwell.frontend.protobuf import Message, read_message
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

_HELP = "convert the model it was made from again: coremltools.convert(model, convert_to='mlprogram')"
_NAME = "name"
"""The attribute that all operations have."""
_CONTROL: Mapping[str, tuple[str, type[coreml.IfOp] | type[coreml.WhileOp]]] = {
    "cond": ("pred", coreml.IfOp),
    "while_loop": ("loop_vars", coreml.WhileOp),
}
"""Control flow: the argument with the condition or the carried values, and the class."""


def read_coreml(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    A file or a package as a module of level 0.

    Raises: StepwellError `no-file`, `invalid-model`, `unsupported`, `undefined-value`, `too-large`,
    `external-data`.
    """
    package = Package(path)
    model = read_message(package.program, SCHEMA, "Model", package.name)
    if "mlProgram" not in model:
        kinds = [name for name in model.values if name not in ("specificationVersion", "description")]
        if not kinds:
            raise package.invalid("the file has no ML program, and is no model of Core ML")
        message = f"a model of kind {kinds[0]} is not supported, an ML program is"
        raise StepwellError("unsupported", package.name, message, help=_HELP)
    module = _Program(package, ctx).module(_main(model, package))
    ctx.weights.rest_on(package.states)
    return module


def _main(model: Message, package: Package) -> Message:
    """The function that runs by default. Raises: StepwellError `invalid-model`."""
    functions = model.message("mlProgram").mapping("functions")
    name = model.message("description").text("defaultFunctionName") or "main"
    if name not in functions:
        raise package.invalid(f"the program has no function {name!r}, found: {', '.join(sorted(functions))}")
    return functions[name]


class _Program:
    """Builds the function of a program."""

    def __init__(self, package: Package, ctx: StepwellContext):
        self._package = package
        self._function = ForeignFunction(coreml.FOREIGN, ctx.weights, package.name)
        self._constants: dict[str, Array | str | Sequence[str]] = {}

    def module(self, function: Message) -> ModuleOp:
        """The module of a function, with the block for the function's version of the operation set."""
        blocks = function.mapping("block_specializations")
        block = blocks.get(function.text("opset"))
        if block is None:
            raise self._package.invalid(f"the function has no block for {function.text('opset')!r}")
        for each in function.messages("inputs"):
            name, type = each.text("name"), each.message("type")
            sizes = sizes_of(type, self._package, name)
            if sizes is None:
                raise StepwellError("unsupported", self._package.name, f"the input {name!r} has an open rank")
            self._function.add_input(name, element_type(type, self._package, name), sizes)
        results = self._results(block)
        return self._function.finished(list(zip(block.texts("outputs"), results, strict=True)))

    def _results(self, block: Message) -> list[SSAValue]:
        """Add the operations of a block; returns its results."""
        for operation in block.messages("operations"):
            self._add(operation)
        return [self._value(name, "outputs") for name in block.texts("outputs")]

    def _add(self, operation: Message) -> None:
        """An operation; constants are kept until one uses them."""
        kind, attributes = operation.text("type"), operation.mapping("attributes")
        outputs = operation.messages("outputs")
        first = outputs[0].text("name") if outputs else kind
        if kind == "const":
            value = attributes.get("val")
            if value is None or len(outputs) != 1:
                raise self._package.invalid(f"the constant {first!r} must have a value and one result")
            self._constants[first] = constant_of(value, self._package, first)
            return
        results = [(each.text("name"), self._type(each)) for each in outputs]
        if kind in _CONTROL:
            self._add_control(operation, first, results)
        elif kind in coreml.TABLE and not operation.messages("blocks"):
            self._function.add_node(Node(kind, first, self._arguments(operation, first), results))
        else:
            self._function.add_node(Node(kind, first, self._operands(operation, first), results))

    def _add_control(self, operation: Message, node: str, results: Sequence[tuple[str, Attribute]]) -> None:
        """A choice between the values of two blocks, or a loop of a test and a body."""
        argument, op_class = _CONTROL[operation.text("type")]
        blocks = operation.messages("blocks")
        bindings = _bindings(operation).get(argument, ())
        inputs = [self._operand(each, f"{node}.{argument}", node) for each in bindings]
        is_loop = op_class is coreml.WhileOp
        takes, gives = len(inputs) if is_loop else 0, [1 if is_loop else len(results), len(results)]
        counts = [(len(each.messages("inputs")), len(each.texts("outputs"))) for each in blocks]
        if counts != [(takes, each) for each in gives] or (is_loop and takes != len(results)):
            expected = " and ".join(f"from {takes} to {count} values" for count in gives)
            message = f"{operation.text('type')} must have blocks {expected}, found {counts}"
            raise self._function.invalid(node, message)
        bodies = [self._region(block) for block in blocks]
        op = op_class(inputs, [type for _, type in results], bodies)
        self._function.add_op(op, node, [name for name, _ in results])

    def _region(self, block: Message) -> Region:
        """The operations of a block as a region; its constants are known in it alone."""
        arguments = [(each.text("name"), self._type(each)) for each in block.messages("inputs")]
        around, self._constants = self._constants, dict(self._constants)
        with self._function.inside(arguments) as made:
            made.add_op(coreml.ReturnOp(self._results(block)))
        self._constants = around
        return Region(made)

    def _type(self, output: Message) -> Attribute:
        return type_of(output.message("type"), self._package, output.text("name"))

    def _arguments(self, operation: Message, node: str) -> Mapping[str, object]:
        """The arguments of an operation of the table: values for tensors, Python values for others."""
        signature = coreml.TABLE.signature(operation.text("type"))
        made: dict[str, object] = {}
        for name, bindings in _bindings(operation).items():
            argument = signature.by_name.get(name)
            if argument is None:
                raise self._function.invalid(node, f"{signature.name} has no argument `{name}`")
            if argument.is_tensor:
                values = [self._operand(each, f"{node}.{name}", node) for each in bindings]
                if not argument.is_list and len(values) != 1:
                    raise self._function.invalid(node, f"`{name}` must be one tensor, found {len(values)}")
                made[name] = values if argument.is_list else values[0]
            else:
                made[name] = self._constant_argument(argument, bindings, node)
        return made

    def _operands(self, operation: Message, node: str) -> Mapping[str, object]:
        """The tensors that an operation outside of the table takes, as far as they are values."""
        found: dict[str, object] = {}
        for name, bindings in _bindings(operation).items():
            names = [each.text("name") for each in bindings]
            found[name] = [self._function.values[each] for each in names if each in self._function.values]
        return found

    def _operand(self, binding: Message, title: str, node: str) -> SSAValue:
        """A tensor, which may be a constant."""
        if "value" in binding:
            return self._weight(title, constant_of(binding.message("value"), self._package, title))
        return self._value(binding.text("name"), node)

    def _value(self, name: str, node: str) -> SSAValue:
        if name not in self._function.values and name in self._constants:
            return self._weight(name, self._constants[name])
        return self._function.value(name, node)

    def _weight(self, name: str, constant: Array | str | Sequence[str]) -> SSAValue:
        if not isinstance(constant, np.ndarray):
            raise self._package.invalid(f"{name!r} is text where a tensor is needed")
        return self._function.add_weight(name, constant)

    def _constant_argument(self, argument: Argument, bindings: Sequence[Message], node: str) -> object:
        """A Python value of constants. Raises: StepwellError `unsupported` for what is computed."""
        parts: list[object] = []
        for binding in bindings:
            if "value" in binding:
                constant = constant_of(binding.message("value"), self._package, argument.name)
            elif (constant := self._constants.get(binding.text("name"))) is None:
                place = f'{self._package.name}: node "{node}"'
                raise StepwellError("unsupported", place, f"`{argument.name}` must be constant")
            parts.append(constant.tolist() if isinstance(constant, np.ndarray) else constant)
        if argument.is_list:
            return tuple(_flat(parts))
        if len(parts) != 1 or isinstance(parts[0], list):
            raise self._function.invalid(node, f"`{argument.name}` must be one {argument.base}")
        return parts[0]


def _flat(parts: Sequence[object]) -> list[object]:
    """The items of lists, and what is no list."""
    items: list[object] = []
    for part in parts:
        items += cast("list[object]", part) if isinstance(part, list) else [part]
    return items


def _bindings(operation: Message) -> Mapping[str, Sequence[Message]]:
    """The arguments of an operation, among them constants that are attributes."""
    found = {name: each.messages("arguments") for name, each in operation.mapping("inputs").items()}
    for name, value in operation.mapping("attributes").items():
        if name != _NAME:
            found[name] = [Message("Binding", {"value": value})]
    return found
