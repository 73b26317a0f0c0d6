"""Functions of a model, and of ONNX's own schemas, as `onnx.Function`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Block, Region

from stepwell.dialects import onnx
from stepwell.dialects.onnx.versions import VERSIONS
from stepwell.frontend.attributes import AttributeImporter, int_attr
from stepwell.frontend.graphs import GraphImporter
from stepwell.frontend.info import describe, entries_of, integer_of, legible, string_array, text_attr
from stepwell.frontend.messages import FunctionProto, OperatorSetIdProto
from stepwell.frontend.nodes import ANY, Scope, standard_domain
from stepwell.frontend.source import Source
from stepwell.frontend.value_types import TypeImporter
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


class FunctionImporter:
    """Imports the functions of one model."""

    def __init__(self, source: Source, types: TypeImporter, weights: WeightStore):
        self._source, self._types, self._weights = source, types, weights
        self._attributes = AttributeImporter(source, types, weights)

    def function(self, proto: FunctionProto) -> onnx.FunctionOp:
        """A function, with its own opsets. Raises: StepwellError as `import_onnx` does."""
        name = function_name(proto.domain, proto.name, proto.overload)
        where = f'{self._source.name}: function "{name}"'
        opsets = opset_map(proto.opset_import, where)
        graphs, scope = GraphImporter(self._source, self._types, self._weights, opsets), Scope()
        types = graphs.value_types(proto.value_info)
        block = Block(arg_types=[types.get(name, ANY) for name in proto.input])
        for argument, arg in zip(proto.input, block.args, strict=True):
            graphs.define(scope, argument, arg, where)
        graphs.nodes(proto.node, block, scope, types)
        results = graphs.outputs(proto.output, scope, f"function {name}")
        outputs = string_array(proto.output)
        block.add_op(onnx.YieldOp.create(operands=results, properties={"outputs": outputs}))
        attributes: dict[str, Attribute] = {
            onnx.OPSETS: opsets_attr(opsets),
            **describe(proto, proto.metadata_props),
            **graphs.value_attributes(proto.value_info, (), scope),
        }
        return onnx.FunctionOp.create(
            properties=self._properties(proto, name, where), attributes=attributes, regions=[Region(block)]
        )

    def _properties(self, proto: FunctionProto, name: str, where: str) -> dict[str, Attribute]:
        """The properties of an `onnx.Function`: names, inputs, attributes and their defaults."""
        defaults = {legible(p.name): self._attributes.attribute(p, where) for p in proto.attribute_proto}
        properties: dict[str, Attribute] = {
            "sym_name": text_attr(name),
            "domain": text_attr(proto.domain),
            "op_type": text_attr(proto.name),
            "inputs": string_array(proto.input),
            "attribute_names": string_array(proto.attribute),
            "defaults": DictionaryAttr(defaults),
        }
        if proto.overload:
            properties["overload"] = text_attr(proto.overload)
        return properties


def is_shadowed(proto: FunctionProto) -> bool:
    """Whether a function has the name of an operator of ONNX, and so is never called."""
    prefix = onnx.PREFIXES.get(standard_domain(proto.domain))
    return prefix is not None and prefix + legible(proto.name) in VERSIONS


def function_name(domain: str, name: str, overload: str) -> str:
    """The symbol of a function."""
    return ".".join(legible(part) for part in (domain, name, overload) if part)


def opset_map(imports: Iterable[OperatorSetIdProto], where: str) -> dict[str, int]:
    """
    The opsets by domain.

    Raises: StepwellError `unknown-opset` for an opset newer than our tables, `invalid-model` for two
    opsets of a domain.
    """
    opsets: dict[str, int] = {}
    for entry in imports:
        domain, opset = standard_domain(entry.domain), entry.version
        newest = onnx.LATEST.get(domain)
        if opset < 1 or (newest is not None and opset > newest):
            raise StepwellError(
                "unknown-opset",
                where,
                f"opset {opset} of domain {domain or 'ai.onnx'} is not known, only 1 to {newest or 'any'}",
                help="export the model with an older opset",
            )
        if opsets.setdefault(domain, opset) != opset:
            raise StepwellError(
                "invalid-model",
                where,
                f"opsets {opsets[domain]} and {opset} of domain {domain or 'ai.onnx'} are both imported",
            )
    # Before IR version 3 models do not declare opsets; there was only opset 1.
    return opsets or {"": 1}


def opsets_attr(opsets: Mapping[str, int]) -> DictionaryAttr:
    """The opsets by domain as an attribute."""
    return DictionaryAttr({domain: int_attr(opset) for domain, opset in opsets.items()})


def opsets_of(attributes: Mapping[str, Attribute]) -> dict[str, int]:
    """The opsets by domain of a module or function; the latest opset of ONNX if none is declared."""
    opsets = entries_of(attributes.get(onnx.OPSETS))
    return {domain: integer_of(opset, 1) for domain, opset in opsets.items()} or {"": onnx.LATEST[""]}
