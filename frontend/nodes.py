"""Nodes of a model as ops: operators of ONNX by their class, everything else as `onnx.Call`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import AttrSizedRegionSegments

from stepwell.dialects import onnx
from stepwell.dialects.onnx.marks import NODE, VALUES
from stepwell.dialects.onnx.versions import VERSIONS
from stepwell.frontend.attributes import KINDS, AttributeImporter
from stepwell.frontend.info import describe, legible, string_array, text_attr
from stepwell.frontend.layout import Layout, layout_of, segment_sizes
from stepwell.frontend.messages import AttributeProto, GraphProto, NodeProto
from stepwell.frontend.sorting import undefined
from stepwell.frontend.source import Source
from stepwell.runtime.errors import StepwellError

ANY = onnx.AnyType()

Types: TypeAlias = Mapping[str, Attribute]
Find: TypeAlias = Callable[[str], SSAValue]


class Scope:
    """The values of a graph by name, with the graphs around it as parents."""

    def __init__(self, parent: Scope | None = None):
        self.values: dict[str, SSAValue] = {}
        self.parent = parent

    def find(self, name: str) -> SSAValue | None:
        """The value of a name in this graph or in one around it."""
        scope: Scope | None = self
        while scope is not None:
            if (value := scope.values.get(name)) is not None:
                return value
            scope = scope.parent
        return None

    def has(self, name: str) -> bool:
        """Whether a name has a value here or outside."""
        return self.find(name) is not None


class NodeImporter:
    """
    Imports the nodes of one graph or function.

    Args: `opsets` by domain; `region` imports a subgraph.
    """

    def __init__(
        self,
        source: Source,
        attributes: AttributeImporter,
        opsets: Mapping[str, int],
        region: Callable[[GraphProto, Scope], Region],
    ):
        self._source, self._attributes, self._opsets, self._region = source, attributes, opsets, region

    def op(self, node: NodeProto, name: str, scope: Scope, types: Types) -> tuple[Operation, list[str]]:
        """
        The op of a node, not yet in a block, and the names of its results.

        Raises: StepwellError `invalid-model`, `unknown-opset` or `undefined-value`.
        """
        where = self._source.node(name)

        def find(used: str) -> SSAValue:
            if (value := scope.find(used)) is None:
                raise undefined(self._source, name, used)
            return value

        layout = self._layout(node, where)
        if layout is None:
            op, outputs = self._call(node, where, scope, find, types)
        else:
            op, outputs = self._operator(node, layout, where, scope, find, types)
        if node.name:
            op.attributes[NODE] = text_attr(node.name)
        op.attributes[VALUES] = string_array(outputs)
        if node.doc_string or node.metadata_props:
            op.attributes.update(describe(node, node.metadata_props))
        return op, outputs

    def _layout(self, node: NodeProto, where: str) -> Layout | None:
        """The layout of a node in its op class; None for an operator that is not ONNX's."""
        domain = standard_domain(node.domain)
        if (opset := self._opsets.get(domain)) is None:
            imported = ", ".join(f"{d or 'ai.onnx'} {v}" for d, v in self._opsets.items())
            raise StepwellError(
                "unknown-opset",
                where,
                f"{node.op_type} is of domain {node.domain!r}, of which the model imports no opset",
                note=f"imported: {imported or 'none'}",
                help="name the domain in the model's opset_import, as the exporter of a custom operator does",
            )
        prefix = onnx.PREFIXES.get(domain)
        if prefix is None or (op_name := prefix + legible(node.op_type)) not in VERSIONS:
            return None
        if (layout := layout_of(op_name, opset)) is None:
            raise StepwellError(
                "unknown-opset",
                where,
                f"{node.op_type} does not exist in opset {opset} of domain {domain or 'ai.onnx'}",
                note=f"it exists from opset {VERSIONS[op_name][0][0]} on",
            )
        return layout

    def _operator(
        self, node: NodeProto, layout: Layout, where: str, scope: Scope, find: Find, types: Types
    ) -> tuple[Operation, list[str]]:
        """The op of an operator of ONNX, and the names of its results."""
        properties, graphs, refs = self._named_attributes(node, layout, where)
        try:
            operands, operand_sizes = layout.inputs.bind(node.input, find)
        except ValueError as error:
            raise self._source.invalid(f"inputs of {node.op_type}: {error}", where) from None
        try:
            outputs, result_sizes = layout.outputs.bind(node.output, str)
        except ValueError as error:
            raise self._source.invalid(f"outputs of {node.op_type}: {error}", where) from None
        if operand_sizes is not None:
            properties["operandSegmentSizes"] = operand_sizes
        if result_sizes is not None:
            properties["resultSegmentSizes"] = result_sizes
        op = layout.op_class.create(
            operands=operands,
            result_types=[types.get(output, ANY) for output in outputs],
            properties=properties,
            regions=self._regions(layout, graphs, scope, properties),
            attributes={onnx.REFS: refs} if refs is not None else {},
        )
        return op, outputs

    def _named_attributes(
        self, node: NodeProto, layout: Layout, where: str
    ) -> tuple[dict[str, Attribute], dict[str, GraphProto], Attribute | None]:
        """The properties, the subgraphs, and the references to attributes of the enclosing function."""
        properties: dict[str, Attribute] = {}
        graphs: dict[str, GraphProto] = {}
        refs: dict[str, Attribute] = {}
        specs = layout.signature.attributes
        for proto in node.attribute:
            name = proto.name
            if (spec := specs.get(name)) is None:
                raise self._source.invalid(
                    f"{node.op_type} has no attribute {name!r} at version {layout.signature.since}",
                    where,
                    help=f"its attributes are: {', '.join(specs) or 'none'}",
                )
            kind = KINDS.get(proto.type, f"number {proto.type}")
            if kind != spec.kind:
                raise self._source.invalid(
                    f"attribute `{name}` of {node.op_type} must be of kind {spec.kind}, found {kind}", where
                )
            if name in properties or name in graphs or name in refs:
                raise self._source.invalid(f"attribute `{name}` is given twice", where)
            if proto.ref_attr_name:
                refs[name] = string_array([proto.ref_attr_name, kind])
            elif kind == "graph":
                graphs[name] = proto.g
            else:
                properties[name] = self._attributes.attribute(proto, where)
        for name, spec in specs.items():
            if spec.required and not (name in properties or name in graphs or name in refs):
                raise self._source.invalid(f"{node.op_type} needs attribute `{name}`", where)
        return properties, graphs, DictionaryAttr(refs) if refs else None

    def _regions(
        self, layout: Layout, graphs: Mapping[str, GraphProto], scope: Scope, properties: dict[str, Attribute]
    ) -> list[Region]:
        """The subgraphs of an operator as regions, in the order of the op class."""
        definition = layout.op_class.get_irdl_definition()
        names = [name for name, _ in definition.regions]
        if names and any(isinstance(option, AttrSizedRegionSegments) for option in definition.options):
            properties["regionSegmentSizes"] = segment_sizes(tuple(int(name in graphs) for name in names))
        return [self._region(graphs[name], scope) for name in names if name in graphs]

    def _call(
        self, node: NodeProto, where: str, scope: Scope, find: Find, types: Types
    ) -> tuple[Operation, list[str]]:
        """An `onnx.Call` for another operator, and the names of its results."""
        arguments: dict[str, Attribute] = {}
        refs: dict[str, Attribute] = {}
        graphs: dict[str, GraphProto] = {}
        for proto in node.attribute:
            if proto.ref_attr_name:
                refs[legible(proto.name)] = string_array(
                    [proto.ref_attr_name, KINDS.get(proto.type, "string")]
                )
            elif proto.type == AttributeProto.GRAPH:
                graphs[proto.name] = proto.g
            else:
                arguments[legible(proto.name)] = self._attributes.attribute(proto, where)
        outputs = [output for output in node.output if output]
        properties: dict[str, Attribute] = {
            "domain": text_attr(node.domain),
            "op_type": text_attr(node.op_type),
            "arguments": DictionaryAttr(arguments),
            **_absent("absent", node.input),
            **_absent("absent_outputs", node.output),
        }
        if node.overload:
            properties["overload"] = text_attr(node.overload)
        if graphs:
            properties["graphs"] = string_array(graphs)
        op = onnx.CallOp.create(
            operands=[find(name) for name in node.input if name],
            result_types=[types.get(output, ANY) for output in outputs],
            properties=properties,
            attributes={onnx.REFS: DictionaryAttr(refs)} if refs else {},
            regions=[self._region(graph, scope) for graph in graphs.values()],
        )
        return op, outputs


def standard_domain(domain: str) -> str:
    """The domain under its shorter name: `ai.onnx` is the empty one."""
    return "" if domain == "ai.onnx" else legible(domain)


def _absent(key: str, names: Sequence[str]) -> dict[str, Attribute]:
    """The attribute with the positions of empty names."""
    positions = [position for position, name in enumerate(names) if not name]
    return {key: DenseArrayBase.from_list(i64, positions)} if positions else {}
