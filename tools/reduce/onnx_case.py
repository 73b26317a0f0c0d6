"""Parts of an ONNX model that are models: their inputs are recorded values of the whole."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto, helper, numpy_helper, shape_inference

from stepwell.frontend.sorting import node_name, used_names
from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from typing import Any

_RANDOM = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"})
_RANDOM_OPS = _RANDOM | {"Bernoulli", "Multinomial"}
_SAVED = frozenset("biufc")
"""The kinds of elements that a .npz file can have."""


@dataclass(frozen=True)
class ModelCase:
    """
    A model with inputs.

    Args: `values` has the reference's arrays by name, those of inputs too; a value that was not computed has
    none.
    """

    model: ModelProto
    values: Mapping[str, Array]

    @property
    def feeds(self) -> dict[str, Array]:
        """The arrays of the inputs that have one."""
        names = (info.name for info in self.model.graph.input)
        return {name: self.values[name] for name in names if name in self.values}

    @property
    def has_outputs(self) -> bool:
        """Whether the arrays of all outputs are known."""
        return self.values.keys() >= {info.name for info in self.model.graph.output}

    @property
    def key(self) -> bytes:
        """A hash of the model and its inputs."""
        digest = hashlib.blake2b(self.model.SerializeToString(deterministic=True), digest_size=16)
        for name, array in self.feeds.items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def __len__(self) -> int:
        return len(self.model.graph.node)

    @property
    def op_types(self) -> dict[str, str]:
        """The op type of each node by its name, and `value` for each value's name."""
        types: dict[str, str] = {}
        for index, node in enumerate(self.model.graph.node):
            types |= dict.fromkeys(filter(None, [*node.output, *node.input]), "value")
            types[node_name(node, index)] = node.op_type
        return types


@dataclass
class Parts:
    """
    The parts of a model, by indices of its nodes.

    A part's values from outside are its inputs, with the recorded arrays: an error cannot come in from
    outside, and dimensions stay symbolic where they were. Values that no input has decided are initializers.
    A part's outputs are those of the model, and the values that none of its nodes reads.
    """

    whole: ModelCase
    _types: dict[str, TypeProto] = field(init=False)
    _fixed: set[str] = field(init=False)

    def __post_init__(self) -> None:
        graph = self.whole.model.graph
        self._types = _types_of(self.whole.model)
        self._weights = {tensor.name: tensor for tensor in graph.initializer}
        self._outputs = {info.name for info in graph.output}
        self.reads = [set(used_names(node)) for node in graph.node]
        self._fixed = set(self._weights)
        for node, reads in zip(graph.node, self.reads, strict=True):
            if node.op_type not in _RANDOM_OPS and reads <= self._fixed:
                self._fixed.update(node.output)

    @property
    def nodes(self) -> Sequence[NodeProto]:
        """The nodes of the whole."""
        return self.whole.model.graph.node

    def part(self, indices: Iterable[int]) -> ModelCase | None:
        """The nodes with some indices as a model; None where a value from outside was not recorded."""
        chosen = sorted(indices)
        reads = [name for index in chosen for name in sorted(self.reads[index])]
        made = [name for index in chosen for name in self.nodes[index].output if name]
        outside = [name for name in dict.fromkeys(reads) if name not in {*made}]
        inputs = [name for name in outside if name not in self._fixed]
        infos = [self._info(name) for name in inputs]
        read = set(reads)
        shown = [n for n in made if n not in read or n in self._outputs]
        if not shown or not all(info is not None for info in infos):
            return None
        part = ModelProto()
        part.CopyFrom(_without_graph(self.whole.model))
        graph = part.graph
        graph.node.extend(self.nodes[index] for index in chosen)
        graph.input.extend(info for info in infos if info is not None)
        for name in outside:
            if name in self._fixed and not self._add_weight(graph, name):
                return None
        graph.output.extend(self._output(name) for name in shown)
        return ModelCase(part, self.whole.values)

    def _add_weight(self, graph: Any, name: str) -> bool:
        """Add an initializer, or the value of a constant computation; false where there is neither."""
        if name in self._weights:
            graph.initializer.append(self._weights[name])
        elif _is_saved(array := self.whole.values.get(name)):
            graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
        else:
            return False
        return True

    def _info(self, name: str) -> ValueInfoProto | None:
        """The type of a value as an input: symbolic dimensions where its recorded array fits."""
        array, type = self.whole.values.get(name), self._types.get(name)
        if array is None:
            return None if type is None else ValueInfoProto(name=name, type=type)
        if not _is_saved(array):
            return None
        made = helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        if type is not None and _fits(type, made.type):
            made.type.CopyFrom(type)
        return made

    def _output(self, name: str) -> ValueInfoProto:
        """The type of a value as an output, as far as it is known."""
        type = self._types.get(name)
        return ValueInfoProto(name=name) if type is None else ValueInfoProto(name=name, type=type)

    def near(self, names: Collection[str], hops: int) -> list[int]:
        """The indices of the nodes with some names, or outputs of these names, and of nodes near them."""
        found = {
            index
            for index, node in enumerate(self.nodes)
            if node_name(node, index) in names or not {*names}.isdisjoint(node.output)
        }
        for _ in range(hops):
            read = {name for index in found for name in self.reads[index]}
            made = {name for index in found for name in self.nodes[index].output}
            found |= {
                index
                for index, node in enumerate(self.nodes)
                if not read.isdisjoint(node.output) or not made.isdisjoint(self.reads[index])
            }
        return sorted(found)


def _is_saved(array: Array | None) -> bool:
    """Whether an array goes into a file of arrays without pickling."""
    return array is not None and np.asarray(array).dtype.kind in _SAVED


def _without_graph(model: ModelProto) -> ModelProto:
    """The opsets, functions and properties of a model, and the name of its graph."""
    bare = ModelProto(ir_version=model.ir_version, producer_name=model.producer_name)
    bare.opset_import.extend(model.opset_import)
    bare.functions.extend(model.functions)
    bare.graph.name = model.graph.name
    return bare


def _types_of(model: ModelProto) -> dict[str, TypeProto]:
    """The types of values, as far as they are declared or follow from nodes of known operators."""
    known = _copy_with_known_nodes(model)
    try:
        graph = shape_inference.infer_shapes(known, data_prop=True).graph
    except Exception:  # a model that is wrong, or above the largest size of a message
        graph = model.graph
    infos = [*graph.value_info, *graph.input, *graph.output]
    return {info.name: info.type for info in infos if info.type.WhichOneof("value") is not None}


def _copy_with_known_nodes(model: ModelProto) -> ModelProto:
    """A copy of a model without nodes of domains without an opset: inference refuses them."""
    domains = {"" if entry.domain == "ai.onnx" else entry.domain for entry in model.opset_import}
    known = ModelProto()
    known.CopyFrom(model)
    del known.graph.node[:]
    known.graph.node.extend(node for node in model.graph.node if node.domain in domains)
    return known


def _fits(type: TypeProto, recorded: TypeProto) -> bool:
    """Whether a tensor type has the element type, the rank and the known sizes of a recorded array's."""
    if type.WhichOneof("value") != "tensor_type" or not type.tensor_type.HasField("shape"):
        return False
    dims, sizes = type.tensor_type.shape.dim, recorded.tensor_type.shape.dim
    return (
        type.tensor_type.elem_type == recorded.tensor_type.elem_type
        and len(dims) == len(sizes)
        and all(
            not dim.HasField("dim_value") or dim.dim_value == size.dim_value
            for dim, size in zip(dims, sizes, strict=True)
        )
    )
