"""The functions by which ONNX's schemas define operators, for the opset and the types of an op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from stepwell.dialects import onnx
from stepwell.frontend.export_nodes import NodeExporter
from stepwell.frontend.exporter import export_types, region_exporter
from stepwell.frontend.functions import FunctionImporter
from stepwell.frontend.messages import FunctionProto, ModelProto, TypeProto
from stepwell.frontend.names import Names
from stepwell.frontend.source import Source
from stepwell.frontend.value_types import TypeImporter, export_type
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


class FunctionSchema(Protocol):
    """The members of a schema that onnx's type stubs lack."""

    since_version: int
    has_function: bool
    has_context_dependent_function: bool
    function_opset_versions: list[int]
    context_dependent_function_opset_versions: list[int]

    def get_function_with_opset_version(self, version: int) -> bytes:
        """The function, serialized."""
        ...

    def get_context_dependent_function_with_opset_version(
        self, version: int, node: bytes, types: Sequence[bytes]
    ) -> bytes:
        """The function for a node and the types of its inputs, serialized."""
        ...


def has_function(op: onnx.OnnxOp) -> bool:
    """Whether ONNX defines an operator by a function too, at its opset."""
    if onnx.domain_of(op.name) not in onnx.PREFIXES:
        return False
    schema = _schema(op)
    return schema.has_function or schema.has_context_dependent_function


class SchemaFunctions:
    """The functions of the ops of one module; those that do not depend on types are parsed once."""

    def __init__(self, module: ModuleOp, weights: WeightStore):
        self._module, self._weights = module, weights
        self._source = Source("<schema>", ModelProto())
        self._known: dict[tuple[str, int], onnx.FunctionOp] = {}
        self._inferred: dict[SSAValue, TypeProto] | None = None

    def function(self, op: onnx.OnnxOp) -> onnx.FunctionOp:
        """
        The function of an op.

        Raises: StepwellError `unsupported-op` when its schema has none, or needs types that the model does
        not declare.
        """
        opset, schema = onnx.opset_of(op), _schema(op)
        key = (op.name, schema.since_version)
        if key in self._known:
            return self._known[key]
        if schema.has_function:
            version = _version(schema.function_opset_versions, opset)
            body = FunctionProto.FromString(schema.get_function_with_opset_version(version))
            return self._known.setdefault(key, self._read(body, op))
        if schema.has_context_dependent_function:
            return self._read(self._for_types(op, schema, opset), op)
        raise StepwellError("unsupported-op", op, f"{op.op_type} is not defined by a function")

    def _read(self, body: FunctionProto, op: onnx.OnnxOp) -> onnx.FunctionOp:
        """A serialized function as an `onnx.Function`, with missing opsets and outputs repaired."""
        imported = {entry.domain for entry in body.opset_import}
        for domain in {node.domain for node in body.node} - imported:  # preview operators declare none
            body.opset_import.add(domain=domain, version=onnx.opset_of(op, domain))
        # A body for a node without some outputs names them, but does not compute them: they have no uses.
        made = {name for node in body.node for name in node.output} | set(body.input)
        for i, name in enumerate(body.output):
            if name not in made:
                body.output[i] = next(name for name in body.output if name in made)
        return FunctionImporter(self._source, TypeImporter(self._source), self._weights).function(body)

    def _for_types(self, op: onnx.OnnxOp, schema: FunctionSchema, opset: int) -> FunctionProto:
        """The function of an op for its types: the declared ones, or else the inferred ones."""
        names = Names()
        for operand in op.operands:
            names.give(operand, None)
        exporter = NodeExporter(self._weights, {}, region_exporter(self._module, self._weights))
        opsets = {domain: onnx.opset_of(op, domain) for domain in onnx.PREFIXES}
        node = exporter.node(op, names, opsets).SerializeToString()
        version = _version(schema.context_dependent_function_opset_versions, opset)
        for types in (self._declared, self._infer):
            protos = [
                types(getattr(op, parameter.name)).SerializeToString() for parameter in op.signature.inputs
            ]
            body = FunctionProto.FromString(
                schema.get_context_dependent_function_with_opset_version(version, node, protos)
            )
            if body.node:
                return body
        raise StepwellError(
            "unsupported-op",
            op,
            f"{op.op_type} is defined by a function of its inputs' types, which the model does not declare",
            help="declare the shapes of the model's inputs, or the types of these values in `value_info`",
        )

    def _declared(self, value: SSAValue | None) -> TypeProto:
        return TypeProto() if value is None else export_type(value.type, {})

    def _infer(self, value: SSAValue | None) -> TypeProto:
        """The type of a value of the main graph, inferred by ONNX; empty for a value of a subgraph."""
        if self._inferred is None:
            model, names = export_types(self._module, self._weights)
            from onnx import shape_inference

            graph = shape_inference.infer_shapes(model, data_prop=True).graph
            infos = {info.name: info.type for info in (*graph.input, *graph.value_info, *graph.output)}
            self._inferred = {v: infos[name] for v, name in names.items() if name in infos}
        return TypeProto() if value is None else self._inferred.get(value, TypeProto())


def _schema(op: onnx.OnnxOp) -> FunctionSchema:
    from onnx.defs import get_schema

    return cast(FunctionSchema, get_schema(op.op_type, onnx.opset_of(op), onnx.domain_of(op.name)))


def _version(versions: list[int], opset: int) -> int:
    """The greatest version of a function up to an opset, else the first; that keeps its own opset."""
    return max((version for version in versions if version <= opset), default=min(versions))
