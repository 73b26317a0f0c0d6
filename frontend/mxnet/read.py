"""Symbols of MXNet as modules of level 0, without any package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import mxnet
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.foreign import Signature
from stepwell.dialects.types import element_of
from stepwell.frontend.foreign_function import ForeignFunction, Node
from stepwell.frontend.mxnet.parameters import ELEMENTS, Parameters
from stepwell.frontend.mxnet.values import arguments_of, integers, result_element
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import read_bounded
from stepwell.runtime.interface import Array, dtype_from_name

Json = Mapping[str, Any]
SUFFIX = "-symbol.json"
MAX_BYTES = 1 << 28
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
_EPOCH = re.compile(r"-\d{4}\.params")


def read_mxnet(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    A symbol, with the parameters of the last epoch beside it (`NAME-0000.params`), as a module of level 0.

    Raises: StepwellError `no-file`, `invalid-model`, `invalid-weights`, `external-data`, `undefined-value`,
    `too-large`.
    """
    try:
        symbol = _symbol(path)
        arrays: Mapping[str, Array] = {}
        if (file := _parameters(path)) is not None:
            parameters = Parameters(file)
            arrays = parameters.arrays
            ctx.weights.rest_on(parameters.states)
        return _Symbol(path.name, symbol["nodes"], arrays, ctx).module(symbol["heads"])
    except _MALFORMED as error:
        message = f"the file is no symbol of MXNet: {type(error).__name__}: {error}"
        raise StepwellError("invalid-model", path.name, message) from None


def _symbol(path: Path) -> Json:
    return cast(Json, json.loads(read_bounded(path, "model", MAX_BYTES)))


def _parameters(path: Path) -> Path | None:
    """The parameter file of the last epoch beside a symbol file; None if there is none."""
    start = path.name.removesuffix(SUFFIX)
    names = [each.name for each in path.parent.iterdir() if each.name.startswith(f"{start}-")]
    epochs = sorted(name for name in names if _EPOCH.fullmatch(name.removeprefix(start)))
    return path.parent / epochs[-1] if epochs else None


class _Symbol:
    """Builds the function of a symbol."""

    def __init__(self, file: str, nodes: Sequence[Json], arrays: Mapping[str, Array], ctx: StepwellContext):
        self._nodes, self._arrays = nodes, arrays
        self._function = ForeignFunction(mxnet.FOREIGN, ctx.weights, file)

    def module(self, heads: Sequence[Sequence[int]]) -> ModuleOp:
        """The module of a symbol, whose results are some values of its nodes."""
        for number, node in enumerate(self._nodes):
            self._add(number, node)
        outputs: list[tuple[str, SSAValue]] = []
        for head in heads:
            name = str(self._nodes[int(head[0])]["name"])
            value = self._value(head, name)
            label = f"{name}_output" if int(head[1]) == 0 else f"{name}_output{int(head[1])}"
            outputs.append((label, value))
        return self._function.finished(outputs)

    def _add(self, number: int, node: Json) -> None:
        name, target = str(node["name"]), str(node["op"])
        attributes = cast("Mapping[str, str]", node.get("attrs") or node.get("param") or {})
        if target == "null":
            made = [self._variable(number, name, attributes)]
        else:
            made = self._operator(name, target, attributes, node["inputs"])
        for position, value in enumerate(made):
            self._function.values[_place(number, position)] = value

    def _variable(self, number: int, name: str, attributes: Mapping[str, str]) -> SSAValue:
        """A parameter, or an input, of which the file may not have the shape."""
        if name in self._arrays:
            return self._function.add_weight(name, self._arrays[name])
        element = element_of(dtype_from_name(ELEMENTS[int(attributes.get("__dtype__", "0"))]))
        if "__shape__" in attributes:
            sizes = [size or None for size in integers(attributes["__shape__"], "__shape__")]
            return self._function.add_input(name, element, sizes)
        if (channels := self._channels(number)) is not None:
            return self._function.add_input(name, element, channels)
        return self._function.add_open_input(name, UnrankedTensorType(element))

    def _channels(self, number: int) -> list[int | None] | None:
        """The sizes of an input of a convolution: the channels of the filters, all others open."""
        for node in self._nodes:
            inputs = node["inputs"]
            if node["op"] != "Convolution" or int(inputs[0][0]) != number:
                continue
            weight = self._arrays.get(str(self._nodes[int(inputs[1][0])]["name"]))
            if weight is not None and weight.ndim > 2:
                groups = int(node.get("attrs", {}).get("num_group", "1"))
                return [None, weight.shape[1] * groups, *[None] * (weight.ndim - 2)]
        return None

    def _operator(
        self, name: str, target: str, attributes: Mapping[str, str], inputs: Sequence[Sequence[int]]
    ) -> Sequence[SSAValue]:
        operands = [self._value(each, name) for each in inputs]
        elements = [cast("TensorType[Attribute]", each.type).element_type for each in operands]
        if target not in mxnet.TABLE:
            type = UnrankedTensorType(result_element(target, attributes, elements))
            return self._function.add_node(Node(target, name, {"data": operands}, [(name, type)]))
        signature = mxnet.TABLE.signature(target)
        arguments = {**arguments_of(attributes, signature), **self._operands(signature, operands, name)}
        element = result_element(target, arguments, elements)
        count = _results(signature, arguments)
        results = [(name if not i else f"{name}.{i}", UnrankedTensorType(element)) for i in range(count)]
        return self._function.add_node(Node(target, name, arguments, results))

    def _operands(
        self, signature: Signature, operands: Sequence[SSAValue], node: str
    ) -> Mapping[str, object]:
        """The operands by the names of the signature's arguments."""
        tensors = signature.tensors
        if tensors and tensors[0].is_list:
            return {tensors[0].name: list(operands)}
        if len(operands) > len(tensors):
            message = f"{signature.name} takes fewer operands than {len(operands)}"
            raise self._function.invalid(node, message)
        return {argument.name: value for argument, value in zip(tensors, operands, strict=False)}

    def _value(self, place: Sequence[int], node: str) -> SSAValue:
        return self._function.value(_place(int(place[0]), int(place[1])), node)


def _results(signature: Signature, arguments: Mapping[str, object]) -> int:
    """The number of an operator's results."""
    if not signature.results[0].is_list:
        return 1
    if signature.name == "topk":
        return 2 if arguments.get("ret_typ") == "both" else 1
    count = cast(int, arguments.get("num_outputs", 1))
    if not 0 < count <= 1 << 16:
        raise ValueError(f"{signature.name} has {count} results")
    return count


def _place(number: int, position: int) -> str:
    """The name of a node's result."""
    return f"{number}:{position}"
