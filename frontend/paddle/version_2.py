"""Programs of Paddle before version 3 (protobuf) as modules of level 0, without any package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import paddle
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.foreign import Argument
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.frontend.foreign_function import ForeignFunction, Node
from stepwell.frontend.paddle.parameters import Parameters
from stepwell.frontend.paddle.schema import SCHEMA, Block, Operator, blocks_of, parts_of, type_of
from stepwell.frontend.paddle.version_2_control import Control
from stepwell.frontend.paddle.version_2_operators import Rule, normal, rules
from stepwell.frontend.protobuf import Message, read_message
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import dtype_from_name

_FEED, _FETCH = 9, 10
"""The types of the variables that hold all inputs, or all results."""
_NO_VALUE = float(np.float32(1.77113e27))
"""The number that Paddle writes for a variable that has no value before a loop."""


def read_version_2(data: bytes, path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    A program, with the parameters in the file of its name that ends in `.pdiparams`.

    Raises: StepwellError; ValueError, LookupError, TypeError for a program that is not well formed.
    """
    blocks = blocks_of(read_message(memoryview(data), SCHEMA, "ProgramDesc", path.name))
    kept = [each for each in blocks[0].variables.values() if each.integer("persistable")]
    names = [
        each.text("name") for each in kept if each.message("type").integer("type") not in (_FEED, _FETCH)
    ]
    parameters = Parameters(path.with_suffix(".pdiparams"), names)
    ctx.weights.rest_on(parameters.states)
    return _Program(path.name, blocks, parameters, ctx).module()


class _Program:
    """Builds the function of a program."""

    def __init__(self, file: str, blocks: Sequence[Block], parameters: Parameters, ctx: StepwellContext):
        self._file, self._parameters = file, parameters
        self.function = ForeignFunction(paddle.FOREIGN, ctx.weights, file)
        self._control = Control(self, blocks)
        self._outputs: list[tuple[str, SSAValue]] = []

    def module(self) -> ModuleOp:
        """The module of the program."""
        for name, array in self._parameters.arrays.items():
            self.function.add_weight(name, array)
        self._control.add_inputs(0)
        self._control.add_block(0)
        return self.function.finished(self._outputs)

    def add_input(self, name: str, variable: Message) -> None:
        """Add an argument."""
        self.function.add_input(name, *parts_of(variable))

    def add(self, op: Operator) -> None:
        """Add an operator that is no control flow."""
        match op.type:
            case "fetch":
                name = op.input("X")
                self._outputs.append((name, self.function.value(name, "fetch")))
            case "assign_value":
                self._add_constant(op)
            case _:
                self._add_operator(normal(op))

    def _add_constant(self, op: Operator) -> None:
        """Numbers that are attributes as a weight; nothing for the mark of a variable without a value."""
        (name,) = op.outputs["Out"]
        if op.attributes.get("fp32_values") == (_NO_VALUE,):
            return
        dtype = dtype_from_name(str(op.attributes["dtype"]))
        kinds = {"int32": "int32", "int64": "int64", "float32": "fp32", "float64": "fp64", "bool": "bool"}
        numbers = op.attributes[f"{kinds[dtype.name]}_values"]
        shape = cast("Sequence[int]", op.attributes["shape"])
        self.function.add_weight(name, np.array(numbers, dtype).reshape(shape))

    def _add_operator(self, op: Operator) -> None:
        """Add an operator; results that the table of operators does not have stay undefined."""
        node = next((names[0] for names in op.outputs.values() if names), op.type)
        rule = rules().get(op.type)
        if rule is None:
            given = [self.function.value(name, node) for names in op.inputs.values() for name in names]
            results = [name for names in op.outputs.values() for name in names]
            self.function.add_node(Node(op.type, node, {"x": given}, self._results(op, results, node)))
            return
        arguments = self._arguments(op, rule, node)
        signature = paddle.TABLE.signature(rule.target)
        found = [op.outputs[slot] for slot in rule.results[: len(signature.results)]]
        names = found[0] if signature.results[0].is_list else [each[0] for each in found]
        self.function.add_node(Node(rule.target, node, arguments, self._results(op, names, node)))

    def _results(self, op: Operator, names: Sequence[str], node: str) -> list[tuple[str, Attribute]]:
        """The names and types of results. Raises: StepwellError `unsupported`."""
        try:
            return [(name, type_of(self._control.variable(name))) for name in names]
        except ValueError as error:
            raise self.unsupported(node, f"{op.type}: {error}") from None

    def _arguments(self, op: Operator, rule: Rule, node: str) -> dict[str, object]:
        """The arguments of an operator of the table. Raises: StepwellError `unsupported`."""
        for name, number in rule.fixed.items():
            if op.attributes.get(name, number) != number:
                raise self.unsupported(node, f"{op.type}: `{name}` must be {number:g}")
        arguments, used = dict[str, object](), set[str]()
        for argument in paddle.TABLE.signature(rule.target).arguments:
            for source in rule.sources_of(argument):
                if op.inputs.get(source):
                    arguments[argument.name] = self._operand(op.inputs[source], argument, node)
                    used.add(source)
                    break
                value = op.attributes.get(source)
                if value is not None and not (
                    argument.is_tensor and not argument.is_required and value == ()
                ):
                    named = f"{node}.{argument.name}"
                    arguments[argument.name] = self._constant(named, value) if argument.is_tensor else value
                    break
        if left := [name for name, given in op.inputs.items() if given and name not in used]:
            raise self.unsupported(node, f"{op.type}: the input {left[0]!r} is not supported")
        if op.attributes.get("axis", -1) != -1 and op.type.startswith("elementwise_"):
            arguments["y"] = self._aligned(arguments, cast(int, op.attributes["axis"]), node)
        return arguments

    def _operand(self, names: Sequence[str], argument: Argument, node: str) -> object:
        """The values of an input; several for one tensor, such as sizes, are joined."""
        values = [self.function.value(name, node) for name in names]
        if argument.is_list:
            return values
        if len(values) == 1:
            return values[0]
        name = f"{node}.{argument.name}"
        sizes = [dims_of(value.type) for value in values]
        total = sum((dim for dims in sizes for dim in dims), Dim.of(0)) if sizes[0] else Dim.of(len(sizes))
        type = tensor_type(tensor_of(values[0]).element_type, [total])
        arguments: dict[str, object] = {"x": values}
        if sizes[0]:
            arguments["axis"] = self._constant(f"{name}.axis", 0)
        kind = "concat" if sizes[0] else "stack"
        return self.function.add_node(Node(kind, name, arguments, [(name, type)]))[0]

    def _aligned(self, arguments: Mapping[str, object], axis: int, node: str) -> SSAValue:
        """The second operand with axes of size 1 at the end: the first axis comes to a position."""
        x, y = (cast(SSAValue, arguments[name]) for name in ("x", "y"))
        own = dims_of(y.type)
        added = list(range(len(own), len(dims_of(x.type)) - axis))
        if not added:
            return y
        name = f"{node}.y"
        operands: dict[str, object] = {"x": y, "axis": self._constant(f"{name}.axis", added)}
        type = tensor_type(tensor_of(y).element_type, [*own, *(Dim.of(1) for _ in added)])
        return self.function.add_node(Node("unsqueeze", name, operands, [(name, type)]))[0]

    def _constant(self, name: str, value: object) -> SSAValue:
        """Numbers that version 3 takes as an operand, of rank 1."""
        array = np.array(value).reshape(-1)
        if array.dtype.kind not in "bif":
            raise TypeError(f"{name} must be numbers, found {value!r}")
        dtype = {"b": np.bool_, "i": np.int64, "f": np.float32}[array.dtype.kind]
        return self.function.add_weight(name, array.astype(np.int64 if array.size == 0 else dtype))

    def unsupported(self, node: str, message: str) -> StepwellError:
        """The error for an operator that is not supported."""
        return StepwellError("unsupported", f'{self._file}: node "{node}"', message)
