"""Ops of level 0 as nodes of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import AttrSizedRegionSegments

from stepwell.dialects import onnx
from stepwell.dialects.onnx.marks import NODE
from stepwell.dialects.onnx.structure import with_absent
from stepwell.dialects.onnx.types import kind_of
from stepwell.frontend.attributes import KIND_NUMBERS, export_attribute
from stepwell.frontend.info import metadata_of, restore_doc
from stepwell.frontend.layout import Layout, layout_of
from stepwell.frontend.messages import AttributeProto, GraphProto, NodeProto
from stepwell.frontend.names import Names, strings
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

T = TypeVar("T")
U = TypeVar("U")
ExportRegion = Callable[[Region, Names, Mapping[str, int]], GraphProto]


class NodeExporter:
    """
    Exports the nodes of one model.

    Args: `renamed` maps symbols to the names of dimensions in the model; `region` exports a subgraph.
    """

    def __init__(self, weights: WeightStore, renamed: Mapping[str, str], region: ExportRegion):
        self._weights, self._renamed, self._region = weights, renamed, region

    def node(self, op: Operation, names: Names, opsets: Mapping[str, int]) -> NodeProto:
        """
        The node of an op; names the op's results.

        Raises: StepwellError `unsupported` for an op of another level, or of another opset than the model's.
        """
        match op:
            case onnx.OnnxOp():
                node = self._operator(op, names, opsets)
            case onnx.CallOp():
                node = self._call(op, names, opsets)
            case _:
                raise StepwellError(
                    "unsupported", op, f"{op.name} cannot be exported: a model of ONNX has level 0 only"
                )
        if isinstance(name := op.attributes.get(NODE), StringAttr):
            node.name = name.data
        restore_doc(node, op.attributes)
        node.metadata_props.extend(metadata_of(op.attributes))
        return node

    def _operator(self, op: onnx.OnnxOp, names: Names, opsets: Mapping[str, int]) -> NodeProto:
        """An operator of ONNX as a node: inputs and outputs by position, attributes, graphs, references."""
        layout = _layout(op, opsets)
        operands, results = onnx.parameter_names(type(op))
        inputs = layout.inputs.positions([onnx.group_size(op, name) for name in operands])
        outputs = layout.outputs.positions([onnx.group_size(op, name) for name in results])
        given = names.give_results(op)
        node = NodeProto(op_type=op.op_type)
        if domain := onnx.domain_of(op.name):
            node.domain = domain
        node.input.extend("" if index is None else names.of(op.operands[index]) for index in inputs)
        node.output.extend("" if index is None else given[index] for index in outputs)
        specs = layout.signature.attributes
        for name, value in op.properties.items():
            if name not in onnx.SEGMENTS:
                node.attribute.append(self._attribute(name, specs[name].kind, value))
        self._add_graphs(node, _region_names(op), op.regions, names, opsets)
        _add_refs(node, op)
        return node

    def _attribute(self, name: str, kind: str, value: Attribute) -> AttributeProto:
        return export_attribute(name, kind, value, self._weights, self._renamed)

    def _call(self, op: onnx.CallOp, names: Names, opsets: Mapping[str, int]) -> NodeProto:
        """An `onnx.Call` as a node of its domain."""
        node = NodeProto(op_type=op.op_type.data, domain=op.domain.data)
        if op.overload is not None:
            node.overload = op.overload.data
        node.input.extend(with_absent([names.of(value) for value in op.inputs], op.absent, ""))
        node.output.extend(with_absent(names.give_results(op), op.absent_outputs, ""))
        for name, value in op.arguments.data.items():
            node.attribute.append(self._attribute(name, kind_of(value), value))
        self._add_graphs(node, strings(op.graphs), op.regions, names, opsets)
        _add_refs(node, op)
        return node

    def _add_graphs(
        self,
        node: NodeProto,
        attribute_names: Sequence[str],
        regions: Sequence[Region],
        names: Names,
        opsets: Mapping[str, int],
    ) -> None:
        """Add the regions of an op as attributes of kind `graph`."""
        for name, region in zip(attribute_names, regions, strict=True):
            graph = self._region(region, names, opsets)
            node.attribute.append(AttributeProto(name=name, type=AttributeProto.GRAPH, g=graph))


def _layout(op: onnx.OnnxOp, opsets: Mapping[str, int]) -> Layout:
    """The layout of an operator at its own opset, which must be the same at the model's opset."""
    domain = onnx.domain_of(op.name)
    own = onnx.opset_of(op)
    layout, exported = layout_of(op.name, own), layout_of(op.name, opsets.get(domain, own))
    if layout is None or layout != exported:
        raise StepwellError(
            "unsupported",
            op,
            f"{op.op_type} of opset {own} cannot be exported into a model of opset {opsets.get(domain)}",
            help="it came out of a function with an opset of its own: export before functions are expanded",
        )
    return layout


def _region_names(op: onnx.OnnxOp) -> list[str]:
    """The names of the regions that an op has."""
    definition = op.get_irdl_definition()
    names = [name for name, _ in definition.regions]
    if any(isinstance(option, AttrSizedRegionSegments) for option in definition.options):
        return [name for name in names if getattr(op, name) is not None]
    return names


def _add_refs(node: NodeProto, op: Operation) -> None:
    """Add the references to the attributes of the enclosing function."""
    refs = op.attributes.get(onnx.REFS)
    if not isinstance(refs, DictionaryAttr):
        return
    for name, ref in refs.data.items():
        parameter, kind = strings(cast("ArrayAttr[Attribute]", ref))
        proto = AttributeProto(name=name, ref_attr_name=parameter)
        proto.type = cast(AttributeProto.AttributeType, KIND_NUMBERS[kind])
        node.attribute.append(proto)
