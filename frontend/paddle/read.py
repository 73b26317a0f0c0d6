"""Programs of Paddle (JSON, and protobuf of version 2) as modules of level 0, without any package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Region, SSAValue

from stepwell.dialects import paddle
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.foreign import Signature
from stepwell.dialects.types import dims_of
from stepwell.frontend.foreign_function import ForeignFunction, Node
from stepwell.frontend.paddle.parameters import Parameters
from stepwell.frontend.paddle.values import TENSOR, VECTOR, Json, attributes_of, kind_of, type_of
from stepwell.frontend.paddle.version_2 import read_version_2
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import read_bounded

MAX_BYTES = 1 << 28
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)


def read_paddle(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    A program, with the parameters in the file of its name that ends in `.pdiparams`, as a module of level 0.

    Raises: StepwellError `no-file`, `invalid-model`, `invalid-weights`, `external-data`, `unsupported`,
    `undefined-value`, `too-large`.
    """
    data = read_bounded(path, "model", MAX_BYTES)
    try:
        if path.suffix == ".pdmodel":
            return read_version_2(data, path, ctx)
        ops = _operators(data)
        names = [str(op["A"][3]) for op in ops if op["#"] == "p"]
        parameters = Parameters(path.with_suffix(".pdiparams"), names)
        ctx.weights.rest_on(parameters.states)
        return _Program(path.name, parameters, ctx).module(ops)
    except _MALFORMED as error:
        message = f"the file is no inference program of Paddle: {type(error).__name__}: {error}"
        raise StepwellError("invalid-model", path.name, message) from None


def _operators(data: bytes) -> Sequence[Json]:
    """The operators of the program's only block."""
    program = cast("Mapping[str, Json]", json.loads(data))
    if program["base_code"]["magic"] != "pir":
        raise ValueError("`base_code` has another mark than pir")
    return cast("Sequence[Json]", _block(program["program"]["regions"][0])["ops"])


def _block(region: Json) -> Json:
    """The only block of a region."""
    (block,) = region["blocks"]
    return block


class _Program:
    """Builds the function of a program."""

    def __init__(self, file: str, parameters: Parameters, ctx: StepwellContext):
        self._file, self._parameters = file, parameters
        self._function = ForeignFunction(paddle.FOREIGN, ctx.weights, file)
        self._lists: dict[str, list[SSAValue | None]] = {"0": []}
        """Lists of values by number; 0 stands for what is not given."""
        self._outputs: list[tuple[str, SSAValue]] = []

    def module(self, ops: Sequence[Json]) -> ModuleOp:
        """The module of a program's operators."""
        for op in ops:
            self._add(op)
        return self._function.finished(self._outputs)

    def _add(self, op: Json) -> None:
        kind = kind_of(op)
        match op["#"], kind:
            case "p", _:
                name = str(op["A"][3])
                value = self._function.add_weight(name, self._parameters.arrays[name])
                self._function.values[_number(op["O"])] = value
            case _, "data":
                self._add_input(op)
            case _, "fetch":
                name = str(attributes_of(op["A"])["name"])
                self._outputs.append((name, self._value(_number(op["I"][0]), name)))
            case "0.combine", _:
                self._lists[_number(op["O"][0])] = [self._value(_number(each), kind) for each in op["I"]]
            case "0.split", _:
                for each, value in zip(op["O"], self._lists[_number(op["I"][0])], strict=True):
                    self._function.values[_number(each)] = cast(SSAValue, value)
            case _, "if" | "while":
                self._add_control(op, kind)
            case _:
                self._add_operator(op, kind)

    def _add_control(self, op: Json, kind: str) -> None:
        """A choice between two regions; or a loop, which carries its condition before its values."""
        node, results = (
            f"{kind}_{_number(op['I'][0])}",
            [(_number(each), type_of(each["TT"])) for each in op["O"]],
        )
        given = [self._value(_number(each), node) for each in op["I"]]
        blocks, types = [_block(region) for region in op["regions"]], [type for _, type in results]
        if kind == "if":
            made = paddle.IfOp(given, types, [self._region(block, node, len(types)) for block in blocks])
            self._function.add_op(made, node, [name for name, _ in results])
            return
        (block,), condition = blocks, f"{node}.condition"
        carried = [
            (condition, given[0].type),
            *((_number(each), type_of(each["TT"])) for each in block["args"]),
        ]
        with self._function.inside(carried) as test:
            test.add_op(paddle.ReturnOp([self._value(condition, node)]))
        body = self._region(block, node, len(given), carried)
        made = paddle.WhileOp(given, [given[0].type, *types], [Region(test), body])
        self._function.add_op(made, node, [f"{node}.end", *(name for name, _ in results)])

    def _region(
        self, block: Json, node: str, count: int, arguments: Sequence[tuple[str, Attribute]] = ()
    ) -> Region:
        """The operators of a block, which yields as many values as `count` says."""
        *ops, last = block["ops"]
        with self._function.inside(arguments) as made:
            for op in ops:
                self._add(op)
            values = [self._value(_number(each), node) for each in last["I"]]
            if kind_of(last) != "yield" or len(values) != count:
                raise self._function.invalid(node, f"a block must yield {count} values, found {len(values)}")
            made.add_op(paddle.ReturnOp(values))
        return Region(made)

    def _add_input(self, op: Json) -> None:
        type = cast("TensorType[Attribute]", type_of(op["O"][0]["TT"]))
        sizes = [None if dim.is_unknown else dim.value for dim in dims_of(type)]
        name = str(attributes_of(op["A"])["name"])
        value = self._function.add_input(name, type.element_type, sizes)
        self._function.values[_number(op["O"][0])] = value

    def _add_operator(self, op: Json, kind: str) -> None:
        """Add an operator; results that the table of operators does not have stay undefined."""
        node, results = f"{kind}_{_number(op['O'][0])}", list(op["O"])
        if kind not in paddle.TABLE:
            given = [value for each in op["I"] for value in self._values(_number(each), node)]
            tensors = [each for each in results if kind_of(each["TT"]) != VECTOR]
            if other := [kind_of(each["TT"]) for each in tensors if kind_of(each["TT"]) != TENSOR]:
                place = f'{self._file}: node "{node}"'
                raise StepwellError("unsupported", place, f"{kind} makes a {other[0]}, which is no tensor")
            types = [(_number(each), type_of(each["TT"])) for each in tensors]
            self._function.add_node(Node(kind, node, {"x": given}, types))
            return
        signature = paddle.TABLE.signature(kind)
        arguments = self._arguments(op, signature, node)
        if signature.results[0].is_list:
            number, parts = _number(results[0]), results[0]["TT"]["D"]
            types = [(f"{number}.{i}", type_of(each)) for i, each in enumerate(parts)]
            made = self._function.add_node(Node(kind, node, arguments, types))
            self._lists[number] = list(made)
            return
        types = [(_number(each), type_of(each["TT"])) for each in results[: len(signature.results)]]
        self._function.add_node(Node(kind, node, arguments, types))

    def _arguments(self, op: Json, signature: Signature, node: str) -> dict[str, object]:
        """The operands of an operator in order, and the attributes of the signature."""
        if len(op["I"]) > len(signature.tensors):
            raise self._function.invalid(node, f"{signature.name} takes fewer operands than {len(op['I'])}")
        arguments: dict[str, object] = {}
        for argument, each in zip(signature.tensors, op["I"], strict=False):
            values = self._values(_number(each), node)
            if argument.is_list:
                arguments[argument.name] = values
            elif values:
                arguments[argument.name] = values[0]
        known = signature.by_name
        return arguments | {name: value for name, value in attributes_of(op["A"]).items() if name in known}

    def _values(self, number: str, node: str) -> list[SSAValue | None]:
        """The value of a number, or those of a list; none for 0."""
        if number in self._lists:
            return self._lists[number]
        return [self._value(number, node)]

    def _value(self, number: str, node: str) -> SSAValue:
        return self._function.value(number, node)


def _number(entry: Json) -> str:
    """The number of a value as its name; those of the arguments of blocks are negative."""
    number = int(entry["%"] if "%" in entry else entry["#"])
    return f"arg{-number}" if number < 0 else str(number)
