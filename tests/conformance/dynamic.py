"""
The cases once more, with shapes that are known only when the model runs.

A case `test_relu@one` is `test_relu` with one dimension of each input symbolic (drawn by the names of the
case and the input), `test_relu@all` with every dimension; each symbol has a name of its own: nothing is
known to be equal. Data, attributes, constants and initializers stay as they are; of the shapes that the model
declares for other values only the ranks of outputs stay. Inputs whose *length* gives a rank, as a Reshape's
`shape`, keep their shape, and indices whose last dimension does, as a GatherND's, keep that: without it
ONNX's own shape inference knows no rank either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

from onnx import GraphProto, ModelProto, NodeProto, TensorShapeProto, TypeProto, ValueInfoProto

MODES = ("one", "all")
"""One dimension of each input is symbolic, or every one."""

_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
SHAPE_OPERANDS = {
    "AffineGrid": (1,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "MaxUnpool": (2,),
    "Pad": (1, 3),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    **{f"Reduce{kind}": (1,) for kind in _REDUCTIONS},
}
"""Operands by position that are a list of extents, axes or positions: their length is or selects a rank."""

INDEX_OPERANDS = {"GatherND": 1, "ScatterND": 1}
"""Operands whose last dimension says how many dimensions an index has."""


def made_dynamic(model: ModelProto, mode: str, seed: str) -> ModelProto:
    """A copy of a model with symbolic input dimensions; `seed` draws which one in mode `one`."""
    found = ModelProto()
    found.CopyFrom(model)
    graph = found.graph
    kept = {tensor.name for tensor in graph.initializer} | _shape_data(graph.node)
    indices = {n.input[INDEX_OPERANDS[n.op_type]] for n in graph.node if n.op_type in INDEX_OPERANDS}
    for info in graph.input:
        for shape in _shapes(info.type) if info.name not in kept else ():
            rank = len(shape.dim) - (info.name in indices)
            axes: Iterable[int] = range(rank)
            if mode == "one" and rank:
                axes = [crc32(f"{seed} {info.name}".encode()) % rank]
            for axis in axes:
                shape.dim[axis].dim_param = f"{info.name}_{axis}"
    _forget(graph.output)
    del graph.value_info[:]
    for body in _bodies(graph.node):
        _forget([*body.input, *body.output])
        del body.value_info[:]
    return found


def _shape_data(nodes: Iterable[NodeProto]) -> set[str]:
    """The values that decide ranks by their length."""
    operands = ((node, i) for node in nodes for i in SHAPE_OPERANDS.get(node.op_type, ()))
    return {node.input[i] for node, i in operands if i < len(node.input)}


def _shapes(type: TypeProto) -> Sequence[TensorShapeProto]:
    """The shape in a type: that of a tensor, or of the tensors of a sequence or an optional."""
    match type.WhichOneof("value"):
        case "tensor_type":
            return [type.tensor_type.shape] if type.tensor_type.HasField("shape") else []
        case "sequence_type":
            return _shapes(type.sequence_type.elem_type)
        case "optional_type":
            return _shapes(type.optional_type.elem_type)
        case _:
            return []


def _forget(values: Iterable[ValueInfoProto]) -> None:
    """Leave of declared shapes the ranks."""
    for value in values:
        for shape in _shapes(value.type):
            for dim in shape.dim:
                dim.Clear()


def _bodies(nodes: Iterable[NodeProto]) -> Iterator[GraphProto]:
    """The graphs that nodes carry, and those of nodes inside them."""
    for node in nodes:
        for attribute in node.attribute:
            for body in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield body
                yield from _bodies(body.node)
