"""Graphs of a model as blocks of ops: an op per node, with the names of nodes and values preserved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    NameLoc,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from stepwell.dialects import onnx
from stepwell.dialects.constants import Array, inline_attr, is_inline
from stepwell.dialects.onnx.marks import INITIALIZER, VALUES
from stepwell.dialects.types import WeightAttr, element_of, tensor_type
from stepwell.frontend.attributes import AttributeImporter
from stepwell.frontend.info import Attributes, describe, describe_value, legible, string_array, text_attr
from stepwell.frontend.messages import GraphProto, NodeProto, TensorProto, ValueInfoProto
from stepwell.frontend.nodes import ANY, NodeImporter, Scope
from stepwell.frontend.sorting import node_name, sorted_nodes
from stepwell.frontend.source import Source
from stepwell.frontend.tensors import array_of, sparse_attr, strings_attr
from stepwell.frontend.value_types import TypeImporter
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

"""Attribute of an `onnx.Constant` that is an initializer of its graph."""
GRAPH_NAME = "onnx.graph_name"
"""Attribute of a graph: its name in the model."""
VALUE_INFO = "onnx.value_info"
"""Attribute of a graph: the model's doc strings, denotations and declared types of values."""
DECLARED = "onnx.type"
"""In `onnx.value_info`: the declared type of an output whose value has another type."""

_UNIT = UnitAttr()
_NOT_IN_HINT = re.compile(r"[^A-Za-z0-9_$.-]")
_NUMBERED = re.compile(r"(_\d+)+$")


def hint_of(name: str) -> str:
    """
    The name in the IR text of a value with a name in the model, as far as the syntax allows; empty for none.

    Numbers at the end are dropped: xDSL numbers equal names itself, and drops such endings when it parses.
    """
    hint = _NUMBERED.sub("", _NOT_IN_HINT.sub("_", legible(name)))
    return f"v{hint}" if hint[:1].isdigit() else hint  # `_12` would end as an empty name


def set_hint(value: SSAValue, name: str) -> None:
    """Name a value in the IR text after its name in the model."""
    if hint := hint_of(name):
        value.name_hint = hint


class GraphImporter:
    """
    Imports the graphs of one model that share a set of opsets.

    Args: `opsets` are those of the model, or of the function.
    """

    def __init__(self, source: Source, types: TypeImporter, weights: WeightStore, opsets: Mapping[str, int]):
        self._source, self._types, self._weights = source, types, weights
        attributes = AttributeImporter(source, types, weights)
        self._nodes = NodeImporter(source, attributes, opsets, self._region)
        self._file = FileLineColLoc(StringAttr(source.name), IntAttr(0), IntAttr(0))

    # Values

    def define(self, scope: Scope, name: str, value: SSAValue, where: str, *, of_node: bool = False) -> None:
        """
        Bind a name to a value. ONNX allows inputs and initializers of a subgraph to hide an outer value, but
        not outputs of its nodes.

        Raises: StepwellError `invalid-model` when the name is empty or already bound.
        """
        if not name:
            raise self._source.invalid("an input or initializer has no name", where)
        if name in scope.values:
            raise self._source.invalid(f"{name!r} is defined twice", where)
        if of_node and scope.parent is not None and scope.parent.find(name) is not None:
            raise self._source.invalid(
                f"{name!r} is defined again inside a subgraph",
                where,
                help=f"give this output of the node a name that no graph around has, such as '{name}_inner'",
            )
        scope.values[name] = value
        set_hint(value, name)

    def value_types(self, infos: Iterable[ValueInfoProto]) -> dict[str, Attribute]:
        """The declared types of values by name."""
        return {info.name: self._types.type(info.type, self.location(info.name)) for info in infos}

    def location(self, name: str) -> str:
        """The location of a value in diagnostics."""
        return f'{self._source.name}: value "{name}"'

    def value_attributes(
        self, infos: Iterable[ValueInfoProto], outputs: Iterable[ValueInfoProto], scope: Scope
    ) -> Attributes:
        """
        The attribute `onnx.value_info`: a graph's doc strings, denotations and declared types of values.
        """
        described = {info.name: describe_value(info) for info in infos}
        for info in outputs:
            declared = self._types.type(info.type, self.location(info.name))
            value = scope.find(info.name)
            if value is not None and value.type != declared:
                described[info.name] = {**described.get(info.name, {}), DECLARED: declared}
        entries = {legible(name): DictionaryAttr(what) for name, what in described.items() if what}
        return {VALUE_INFO: DictionaryAttr(entries)} if entries else {}

    # Graphs

    def graph_attributes(self, graph: GraphProto, scope: Scope) -> Attributes:
        """The attributes of a graph: name, doc string, metadata, and the infos of its values."""
        infos = [*graph.input, *graph.value_info, *graph.output]
        return {
            GRAPH_NAME: text_attr(graph.name),
            **describe(graph, graph.metadata_props),
            **self.value_attributes(infos, graph.output, scope),
        }

    def initializers(self, graph: GraphProto, block: Block, scope: Scope, skip: Iterable[str] = ()) -> None:
        """Add an `onnx.Constant` for each initializer; all are hashed at once."""
        skipped = set(skip)
        tensors = [tensor for tensor in graph.initializer if tensor.name not in skipped]
        for tensor, value in zip(tensors, self.constants(tensors), strict=True):
            attributes = describe(tensor, tensor.metadata_props)
            self._add_initializer(block, scope, tensor.name, "value", value, attributes)
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            where = self.location(name)
            value = sparse_attr(sparse, self._source, where, self._weights)
            self._add_initializer(block, scope, name, "sparse_value", value, describe(sparse.values))

    def constants(self, tensors: Sequence[TensorProto]) -> list[Attribute]:
        """Tensors as attributes: inline, strings, or weights."""
        found: list[Attribute | None] = []
        large: list[tuple[int, TensorProto]] = []
        arrays: list[Array] = []
        for index, tensor in enumerate(tensors):
            where = self.location(tensor.name)
            if tensor.data_type == TensorProto.STRING:
                found.append(strings_attr(tensor, self._source, where))
                continue
            array = array_of(tensor, self._source, where)
            if is_inline(array):
                found.append(inline_attr(array))
                continue
            found.append(None)
            large.append((index, tensor))
            arrays.append(array)
        for (index, tensor), array, key in zip(large, arrays, self._weights.add_all(arrays), strict=True):
            found[index] = WeightAttr(
                legible(tensor.name), key, tensor_type(element_of(array.dtype), array.shape)
            )
        return [value for value in found if value is not None]

    def _add_initializer(
        self, block: Block, scope: Scope, name: str, kind: str, value: Attribute, attributes: Attributes
    ) -> None:
        """Add an `onnx.Constant` for an initializer and bind its name."""
        type = constant_type(value)
        attributes |= {INITIALIZER: _UNIT, VALUES: string_array([name])}
        op = onnx.ConstantOp.create(result_types=[type], properties={kind: value}, attributes=attributes)
        op.location = NameLoc(text_attr(name), self._file)
        block.add_op(op)
        self.define(scope, name, op.results[0], self.location(name))

    def nodes(
        self, nodes: Sequence[NodeProto], block: Block, scope: Scope, types: Mapping[str, Attribute]
    ) -> None:
        """Add an op for each node."""
        for index, node in sorted_nodes(nodes, scope.has, self._source):
            name = node_name(node, index)
            op, outputs = self._nodes.op(node, name, scope, types)
            op.location = NameLoc(text_attr(name), self._file)
            block.add_op(op)
            for output, result in zip(outputs, op.results, strict=True):
                self.define(scope, output, result, self._source.node(name), of_node=True)

    def outputs(self, names: Sequence[str], scope: Scope, what: str) -> list[SSAValue]:
        """The values that a graph returns. Raises: StepwellError `undefined-value`."""
        values = [scope.find(name) for name in names]
        for name, value in zip(names, values, strict=True):
            if value is None:
                raise StepwellError(
                    "undefined-value", self.location(name), f"{what} returns {name!r}, but nothing defines it"
                )
        return [value for value in values if value is not None]

    def _region(self, graph: GraphProto, outer: Scope) -> Region:
        """
        A subgraph as a region; its last op is an `onnx.Yield` with the names of the graph and its inputs.
        """
        scope = Scope(outer)
        constants = {tensor.name for tensor in graph.initializer}
        inputs = [info for info in graph.input if info.name not in constants]
        types = self.value_types([*graph.value_info, *graph.output])
        input_types = self.value_types(inputs)
        block = Block(arg_types=[input_types.get(info.name, ANY) for info in inputs])
        for info, arg in zip(inputs, block.args, strict=True):
            self.define(scope, info.name, arg, self.location(info.name))
        self.initializers(graph, block, scope)
        self.nodes(graph.node, block, scope, types)
        values = self.outputs([info.name for info in graph.output], scope, f"the subgraph {graph.name!r}")
        block.add_op(
            onnx.YieldOp.create(
                operands=values,
                properties={
                    "outputs": string_array(info.name for info in graph.output),
                    "inputs": string_array(info.name for info in inputs),
                },
                attributes=self.graph_attributes(graph, scope),
            )
        )
        return Region(block)


def constant_type(value: Attribute) -> Attribute:
    """The tensor type of a constant attribute."""
    match value:
        case onnx.SparseAttr():
            return onnx.SparseType(value.type)
        case onnx.StringsAttr() | WeightAttr() | DenseIntOrFPElementsAttr():
            return cast(Attribute, value.type)
        case _:
            raise TypeError(f"{value} is no constant tensor")
