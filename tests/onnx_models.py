"""Small ONNX models for tests: from onnx's own text form, imported, and compared field by field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from google.protobuf.message import Message
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    external_data_helper,
    numpy_helper,
)
from onnx.parser import parse_model
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.frontend import import_onnx
from tests.support.onnx_runtime import reference_session

Array = npt.NDArray[np.generic]


def onnx_model(body: str, opset: int = 18, ir_version: int = 8, header: str = "") -> ModelProto:
    """A model from the text of its graph, `g (float[N] x) => (float[N] y) { y = Relu(x) }`, and functions."""
    return parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}{header}]> {body}')


def load(file: Path) -> ModelProto:
    """A model from its file, external data left aside."""
    return ModelProto.FromString(file.read_bytes())


def check(model: ModelProto) -> None:
    """Require a model to be valid for onnx's checker."""
    onnx.checker.check_model(model)  # pyright: ignore[reportUnknownMemberType]


def imported(model: ModelProto) -> tuple[ModuleOp, StepwellContext]:
    """A model as a verified module, with the context that has its weights."""
    ctx = StepwellContext()
    module = import_onnx(model, ctx)
    module.verify()
    return module, ctx


def through_text(module: ModuleOp, ctx: StepwellContext) -> ModuleOp:
    """The module after printing and parsing; it prints the same again."""
    text = str(module)
    parsed = parse_module(ctx, text)
    assert str(parsed) == text
    return parsed


def ops_named(module: Operation, *names: str) -> list[Operation]:
    """The ops of some names, in order."""
    return [op for op in module.walk() if op.name in names]


def run(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """Outputs of a model in ONNX Runtime, without optimizations."""
    return reference_session(model, optimized=False).run(None, dict(inputs))


def normal_form(model: ModelProto, folder: str = "") -> ModelProto:
    """
    A model in the normal form of export: tensors as raw data inside, attributes sorted by name, no empty
    fields.

    Left out on import: infos of values that nothing makes, names of tensors in attributes, their doc strings.
    """
    normal = ModelProto.FromString(model.SerializeToString())
    external_data_helper.load_external_data_for_model(normal, folder)
    _normalize_graph(normal.graph)
    for function in normal.functions:
        _normalize_nodes(function)
    imports = {entry.domain: entry for entry in normal.opset_import}
    del normal.opset_import[:]
    normal.opset_import.extend(imports.values())
    _clear_empty(normal)
    return normal


def _normalize_graph(graph: GraphProto) -> None:
    for tensor in graph.initializer:
        _normalize_tensor(tensor)
    made = {name for node in graph.node for name in node.output} - {info.name for info in graph.output}
    infos = sorted((i for i in graph.value_info if i.name in made), key=lambda info: info.name)
    del graph.value_info[:]
    graph.value_info.extend(infos)
    _normalize_nodes(graph)


def _normalize_nodes(body: GraphProto | FunctionProto) -> None:
    for node in body.node:
        _normalize_node(node)


def _normalize_node(node: NodeProto) -> None:
    for names in (node.input, node.output):
        while names and not names[-1]:
            names.pop()
    for attribute in node.attribute:
        attribute.ClearField("doc_string")
        if attribute.type == AttributeProto.TENSOR and not attribute.ref_attr_name:
            _normalize_tensor(attribute.t)
            attribute.t.ClearField("name")
        elif attribute.type == AttributeProto.GRAPH:
            _normalize_graph(attribute.g)
    attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
    del node.attribute[:]
    node.attribute.extend(attributes)


def _normalize_tensor(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.STRING:
        return
    raw = numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name)
    raw.doc_string = tensor.doc_string
    raw.metadata_props.extend(tensor.metadata_props)
    tensor.CopyFrom(raw)


def _clear_empty(message: Message) -> None:
    """Clear strings and numbers that are set to their default, and messages without content."""
    for field, value in message.ListFields():
        if field.message_type is None:
            if not _is_repeated(value) and not value and field.name not in ("i", "f", "dim_value"):
                message.ClearField(field.name)
            continue
        for part in value if _is_repeated(value) else [value]:
            _clear_empty(part)
        if field.name == "type" and not value.ListFields():
            message.ClearField(field.name)


def _is_repeated(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)
