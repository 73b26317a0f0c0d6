"""The description of a model as sessions give it: inputs, outputs and metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepwell.onnxruntime.elements import name_of_number, type_name

if TYPE_CHECKING:
    from stepwell.frontend.messages import GraphProto, ModelProto, TypeProto, ValueInfoProto
    from stepwell.runtime.interface import TensorSpec


@dataclass(frozen=True)
class NodeArg:
    """An input or output of a model."""

    name: str
    type: str
    """The type as ONNX Runtime writes it, such as `tensor(float)`."""
    shape: Sequence[int | str | None]
    """Sizes; a name for an open one that has a name, else None."""


@dataclass(frozen=True)
class ModelMetadata:
    """The texts of a model's file."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = 0
    custom_metadata_map: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Signature:
    """The description of a model."""

    inputs: Sequence[NodeArg]
    outputs: Sequence[NodeArg]
    overridable: Sequence[NodeArg] = ()
    """The inputs whose default is an initializer."""
    metadata: ModelMetadata = ModelMetadata()


def of_interface(inputs: Iterable[TensorSpec], outputs: Iterable[TensorSpec]) -> Signature:
    """The description of a model that is no file of ONNX."""

    def described(spec: TensorSpec) -> NodeArg:
        sizes = [dim.value if dim.is_static else str(dim) for dim in spec.dims]
        return NodeArg(spec.name, spec.type or type_name(spec.dtype), sizes)

    return Signature([described(spec) for spec in inputs], [described(spec) for spec in outputs])


def overridable_names(model: ModelProto) -> set[str]:
    """The names of inputs whose default is an initializer, which a call may override."""
    if model.ir_version < 4:
        return set()
    initializers = {tensor.name for tensor in model.graph.initializer}
    return {info.name for info in model.graph.input} & initializers


def of_model(
    model: ModelProto,
    inputs: Iterable[TensorSpec],
    outputs: Iterable[TensorSpec],
    size_of: Callable[[str, str], int | None],
) -> Signature:
    """
    The description of a model of ONNX: declared names and types, with the shapes of outputs that compilation
    inferred.

    Args: `inputs` and `outputs` are those of the compiled model; `size_of` gives the size of an open
    dimension, by its name and denotation, that an option fixes.
    """
    graph, overridable = model.graph, overridable_names(model)
    specs = {spec.name: spec for spec in (*inputs, *outputs)}
    symbols = _open_names(graph)

    def described(info: ValueInfoProto) -> NodeArg:
        declared = _declared_shape(info.type, size_of)
        spec = specs.get(info.name)
        known = [] if spec is None else [_known(str(dim), symbols) for dim in spec.dims]
        if declared is None or len(declared) != len(known):
            declared = declared or known
        else:
            # An inferred number says more than a name, but inputs are as declared: `known` has their numbers.
            pairs = zip(declared, known, strict=True)
            declared = [k if isinstance(k, int) or d is None else d for d, k in pairs]
        has_type = info.type.WhichOneof("value") is not None
        type = _type_text(info.type) if has_type or spec is None else type_name(spec.dtype)
        return NodeArg(info.name, type, declared)

    declared = {tensor.name for tensor in graph.initializer}
    required = [info for info in graph.input if info.name not in declared]
    return Signature(
        [described(info) for info in required],
        [described(info) for info in graph.output],
        [described(info) for info in graph.input if info.name in overridable],
        _metadata(model),
    )


def _open_names(graph: GraphProto) -> set[str]:
    """The names that the model's inputs have for open dimensions."""
    shapes = (info.type.tensor_type.shape.dim for info in graph.input)
    return {dim.dim_param for dims in shapes for dim in dims if dim.dim_param}


def _known(dim: str, symbols: set[str]) -> int | str | None:
    """An inferred size; None for a name that is not the model's."""
    return int(dim) if dim.isdecimal() else dim if dim in symbols else None


def _declared_shape(
    type: TypeProto, size_of: Callable[[str, str], int | None]
) -> list[int | str | None] | None:
    """The shape that a model declares, with the sizes of options; None without a shape."""
    if not type.tensor_type.HasField("shape"):
        return None
    shape: list[int | str | None] = []
    for dim in type.tensor_type.shape.dim:
        if dim.HasField("dim_value"):
            shape.append(dim.dim_value)
        else:
            shape.append(size_of(dim.dim_param, dim.denotation) or dim.dim_param or None)
    return shape


def _type_text(type: TypeProto) -> str:
    """A type of ONNX as ONNX Runtime writes it."""
    match type.WhichOneof("value"):
        case "tensor_type":
            return f"tensor({name_of_number(type.tensor_type.elem_type)})"
        case "sparse_tensor_type":
            return f"sparse_tensor({name_of_number(type.sparse_tensor_type.elem_type)})"
        case "sequence_type":
            return f"seq({_type_text(type.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({_type_text(type.optional_type.elem_type)})"
        case "map_type":
            key = name_of_number(type.map_type.key_type)
            return f"map({key},{_type_text(type.map_type.value_type)})"
        case _:
            return ""


def _metadata(model: ModelProto) -> ModelMetadata:
    return ModelMetadata(
        model.producer_name,
        model.graph.name,
        model.domain,
        model.doc_string,
        model.graph.doc_string,
        model.model_version,
        {entry.key: entry.value for entry in model.metadata_props},
    )
