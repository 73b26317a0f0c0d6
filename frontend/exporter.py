"""A module of level 0 as an ONNX model, with the imported graph, names, doc strings and metadata."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.onnx.marks import INITIALIZER, VALUES
from stepwell.dialects.onnx.types import kind_of
from stepwell.dialects.types import WeightAttr
from stepwell.frontend.attributes import export_attribute
from stepwell.frontend.export_nodes import ExportRegion, NodeExporter
from stepwell.frontend.functions import opsets_of
from stepwell.frontend.graphs import DECLARED, GRAPH_NAME, VALUE_INFO
from stepwell.frontend.importer import DEFAULT, DIM_NAMES, INPUTS, NAME, QUANTIZATION
from stepwell.frontend.info import (
    entries_of,
    integer_of,
    metadata_of,
    restore_doc,
    restore_value,
    string_entries,
)
from stepwell.frontend.messages import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorAnnotation,
    TensorProto,
    ValueInfoProto,
)
from stepwell.frontend.names import Names, strings
from stepwell.frontend.tensors import export_sparse, export_tensor
from stepwell.frontend.value_types import export_type
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

MAX_MODEL_BYTES = 2**31 - 1
"""The largest message of protobuf."""


def export_onnx(module: ModuleOp, ctx: StepwellContext) -> ModelProto:
    """
    The ONNX model of a module of level 0, weights included.

    Raises: StepwellError `unsupported` for a module of another level, or one with more than 2 GB of weights.
    """
    weights = {
        op.value.hash.data
        for op in module.walk()
        if isinstance(op, onnx.ConstantOp) and isinstance(op.value, WeightAttr)
    }
    total_bytes = sum(ctx.weights.get(key).nbytes for key in weights)
    if total_bytes > MAX_MODEL_BYTES:
        raise StepwellError(
            "too-large", module, f"a model file has at most 2 GB, the weights need {total_bytes / 1e9:.1f} GB"
        )
    return _ModelExporter(module, ctx.weights).model()


def export_types(module: ModuleOp, weights: WeightStore) -> tuple[ModelProto, Mapping[SSAValue, str]]:
    """
    The model with its large weights as inputs, and the names of the main graph's values, for type inference.
    """
    exporter = _ModelExporter(module, weights, with_weights=False)
    return exporter.model(), exporter.main_names.all()


def region_exporter(module: ModuleOp, weights: WeightStore) -> ExportRegion:
    """A function that exports the subgraphs of single nodes of a model."""
    return _ModelExporter(module, weights).subgraph


class _ModelExporter:
    """Exports one module."""

    def __init__(self, module: ModuleOp, weights: WeightStore, *, with_weights: bool = True):
        self._module, self._weights, self._with_weights = module, weights, with_weights
        self.main_names = Names()
        names = entries_of(module.attributes.get(DIM_NAMES))
        self._renamed = {symbol: cast(StringAttr, name).data for symbol, name in names.items()}
        self._nodes = NodeExporter(weights, self._renamed, self.subgraph)

    def model(self) -> ModelProto:
        """The whole model."""
        attributes = self._module.attributes
        opsets = opsets_of(attributes)
        model = ModelProto(ir_version=integer_of(attributes.get("onnx.ir_version"), 10))
        model.opset_import.extend(_opset_imports(opsets))
        for name in ("producer_name", "producer_version", "domain"):
            if isinstance(text := attributes.get(f"onnx.{name}"), StringAttr):
                setattr(model, name, text.data)
        if version := integer_of(attributes.get("onnx.model_version"), 0):
            model.model_version = version
        restore_doc(model, attributes)
        model.metadata_props.extend(metadata_of(attributes))
        for op in self._module.ops:
            if isinstance(op, onnx.FunctionOp):
                model.functions.append(self._function(op))
            elif isinstance(op, FuncOp) and not model.HasField("graph"):
                model.graph.CopyFrom(self._main(op, opsets))
            else:
                raise StepwellError(
                    "unsupported", op, f"{op.name} cannot be exported: a model is one function"
                )
        return model

    def _main(self, function: FuncOp, opsets: Mapping[str, int]) -> GraphProto:
        """The graph of the main function: inputs, initializers, nodes, outputs, annotations."""
        graph = GraphProto()
        block = function.body.block
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        results = _entries(function.res_attrs, len(terminator.operands))
        model_names = [_text(about.get(NAME)) for about in results]
        outputs = [(v, name) for v, name in zip(terminator.operands, model_names, strict=True) if name]
        reserved = [*_model_names(block), *(name for _, name in outputs)]
        names = self.main_names = Names(reserved, outputs=dict(reversed(outputs)))
        infos = _Infos(graph, function.attributes, self._renamed)
        arguments = _entries(function.arg_attrs, len(block.args))
        for arg, about in zip(block.args, arguments, strict=True):
            name = names.give(arg, _text(about.get(NAME)))
            infos.add(graph.input, name, arg.type)
            if (default := about.get(DEFAULT)) is not None:
                graph.initializer.append(export_tensor(default, name, self._weights))
        self._body(graph, block, names, opsets, infos)
        self._outputs(graph, list(terminator.operands), model_names, names, infos)
        _restore_inputs(graph, strings(function.attributes.get(INPUTS)), infos)
        for name, about in entries_of(function.attributes.get(QUANTIZATION)).items():
            annotation = TensorAnnotation(
                tensor_name=name, quant_parameter_tensor_names=string_entries(about)
            )
            graph.quantization_annotation.append(annotation)
        return graph

    def subgraph(self, region: Region, outer: Names, opsets: Mapping[str, int]) -> GraphProto:
        """The graph of a region; `outer` names the values around it."""
        graph = GraphProto()
        block = region.block
        terminator = block.last_op
        assert isinstance(terminator, onnx.YieldOp)
        inputs = strings(terminator.inputs)
        names = Names([*_model_names(block), *inputs], outer)
        infos = _Infos(graph, terminator.attributes, self._renamed)
        for index, arg in enumerate(block.args):
            infos.add(graph.input, names.give(arg, inputs[index] if index < len(inputs) else None), arg.type)
        self._body(graph, block, names, opsets, infos)
        self._outputs(graph, list(terminator.values), strings(terminator.outputs), names, infos)
        return graph

    def _body(
        self, graph: GraphProto, block: Block, names: Names, opsets: Mapping[str, int], infos: _Infos
    ) -> None:
        """Add the ops of a block to a graph as initializers and nodes."""
        for op in block.ops:
            if isinstance(op, ReturnOp | onnx.YieldOp):
                continue
            if (
                isinstance(op, onnx.ConstantOp)
                and isinstance(op.value, WeightAttr)
                and not self._with_weights
            ):
                infos.add(graph.input, names.give_results(op)[0], op.value.type)
                continue
            if isinstance(op, onnx.ConstantOp) and INITIALIZER in op.attributes:
                self._initializer(graph, op, names)
                continue
            node = self._nodes.node(op, names, opsets)
            graph.node.append(node)
            for result in op.results:
                infos.see(names.of(result), result.type)

    def _initializer(self, graph: GraphProto, op: onnx.ConstantOp, names: Names) -> None:
        """Add a constant as an initializer, dense or sparse."""
        (name,) = names.give_results(op)
        if isinstance(sparse := op.sparse_value, onnx.SparseAttr):
            graph.sparse_initializer.append(export_sparse(sparse, name, self._weights))
            return
        assert op.value is not None
        tensor = export_tensor(op.value, name, self._weights)
        restore_doc(tensor, op.attributes)
        tensor.metadata_props.extend(metadata_of(op.attributes))
        graph.initializer.append(tensor)

    def _outputs(
        self,
        graph: GraphProto,
        values: Sequence[SSAValue],
        model_names: Sequence[str | None],
        names: Names,
        infos: _Infos,
    ) -> None:
        """Add the outputs of a graph under their model's names."""
        for value, output in zip(values, model_names, strict=True):
            name = names.of(value)
            if output and output != name:  # a pass has replaced the value
                graph.node.append(NodeProto(op_type="Identity", input=[name], output=[output]))
                name = output
            infos.add(graph.output, name, value.type, declared=True)
        infos.finish()

    def _function(self, op: onnx.FunctionOp) -> FunctionProto:
        """A model-local function."""
        opsets = opsets_of(op.attributes)
        block = op.body.block
        function = FunctionProto(name=op.op_type.data, domain=op.domain.data)
        if op.overload is not None:
            function.overload = op.overload.data
        function.opset_import.extend(_opset_imports(opsets))
        function.attribute.extend(strings(op.attribute_names))
        for name, value in op.defaults.data.items():
            proto = export_attribute(name, kind_of(value), value, self._weights, self._renamed)
            function.attribute_proto.append(proto)
        restore_doc(function, op.attributes)
        function.metadata_props.extend(metadata_of(op.attributes))
        names, graph = Names([*_model_names(block), *strings(op.inputs)]), GraphProto()
        infos = _Infos(graph, op.attributes, self._renamed)
        for arg, name in zip(block.args, strings(op.inputs), strict=True):
            function.input.append(names.give(arg, name))
            infos.see(name, arg.type)
        self._body(graph, block, names, opsets, infos)
        infos.finish()
        terminator = block.last_op
        assert isinstance(terminator, onnx.YieldOp)
        function.output.extend(names.of(value) for value in terminator.values)
        function.node.extend(graph.node)
        function.value_info.extend(graph.value_info)
        return function


class _Infos:
    """The value infos of a graph: inputs, outputs, and the known types of intermediate values."""

    def __init__(self, graph: GraphProto, attributes: Mapping[str, Attribute], renamed: Mapping[str, str]):
        self._graph, self._renamed = graph, renamed
        self._described = entries_of(attributes.get(VALUE_INFO))
        self._seen: dict[str, Attribute] = {}
        self._added: set[str] = set()
        graph.name = _text(attributes.get(GRAPH_NAME)) or "main"
        restore_doc(graph, attributes)
        graph.metadata_props.extend(metadata_of(attributes))

    def add(
        self, to: MutableSequence[ValueInfoProto], name: str, type: Attribute, declared: bool = False
    ) -> None:
        """Add a value to the inputs or outputs; an output under the type that the model declared."""
        to.append(self._info(name, type, declared))
        self._added.add(name)

    def see(self, name: str, type: Attribute) -> None:
        """Record the type of an intermediate value."""
        self._seen[name] = type

    def finish(self) -> None:
        """Add the value infos of intermediate values."""
        for name, type in self._seen.items():
            described = name in self._described
            if name not in self._added and (described or not isinstance(type, onnx.AnyType)):
                self._graph.value_info.append(self._info(name, type, False))

    def _info(self, name: str, type: Attribute, declared: bool) -> ValueInfoProto:
        """The info of a value: type, doc string, denotations."""
        described = entries_of(self._described.get(name))
        if declared:
            type = described.get(DECLARED, type)
        info = ValueInfoProto(name=name)
        if not isinstance(type, onnx.AnyType):
            info.type.CopyFrom(export_type(type, self._renamed))
        restore_value(info, described)
        return info


def _restore_inputs(graph: GraphProto, order: Sequence[str], infos: _Infos) -> None:
    """List initializers among the inputs in the order of the imported model."""
    if not order:
        return
    inputs = {info.name: info for info in graph.input}
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    del graph.input[:]
    for name in order:
        if name in inputs:
            graph.input.append(inputs[name])
        elif name in tensors:
            graph.input.append(_info_of(tensors[name]))


def _info_of(tensor: TensorProto) -> ValueInfoProto:
    """The value info of an initializer."""
    info = ValueInfoProto(name=tensor.name)
    info.type.tensor_type.elem_type = tensor.data_type
    info.type.tensor_type.shape.SetInParent()
    for extent in tensor.dims:
        info.type.tensor_type.shape.dim.add().dim_value = extent
    return info


def _model_names(block: Block) -> list[str]:
    """The names of a block's values in the imported model."""
    return [name for op in block.ops for name in strings(op.attributes.get(VALUES))]


def _entries(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> list[Mapping[str, Attribute]]:
    """The attributes of arguments or results; empty ones if there are none."""
    if attributes is None:
        return [{} for _ in range(count)]
    return [entry.data for entry in attributes]


def _opset_imports(opsets: Mapping[str, int]) -> list[OperatorSetIdProto]:
    return [OperatorSetIdProto(domain=domain, version=version) for domain, version in opsets.items()]


def _text(attribute: Attribute | None) -> str | None:
    return attribute.data if isinstance(attribute, StringAttr) else None
