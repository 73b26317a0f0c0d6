"""The first node of a model whose value differs from the reference, found by bisection."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import allowed_of_model, relative_difference
from stepwell.tools.check.reference import reference_evaluator
from stepwell.tools.driver.compile import compile


def first_difference(path: Path, feeds: Mapping[str, object]) -> str:
    """
    Names the first node, in the model's order, whose value differs by more than the tolerance; returns a line
    of text.

    Each probe compiles the model up to one node; kernels that probes share come from the cache. Differences
    are assumed to persist downstream, so a node whose difference a later node hides can be missed.
    """
    model: onnx.ModelProto = onnx.load(str(path))  # pyright: ignore[reportUnknownMemberType]
    nodes = [node for node in model.graph.node if node.output and node.output[0]]
    reference = _reference_values(model, [node.output[0] for node in nodes], feeds)
    low, high = 0, len(nodes)
    while low < high:
        middle = (low + high) // 2
        name = nodes[middle].output[0]
        if _departs(model, name, reference[name], feeds):
            high = middle
        else:
            low = middle + 1
    if low == len(nodes):
        return "no single node departs: only the whole model does"
    node = nodes[low]
    return f'first departs: node "{node.name or node.op_type}" ({node.op_type}), value {node.output[0]!r}'


def _reference_values(
    model: onnx.ModelProto, names: list[str], feeds: Mapping[str, object]
) -> dict[str, Array]:
    evaluator: Any = reference_evaluator(_with_outputs(model, names))
    values: list[object] = evaluator.run(None, dict(feeds))
    return {name: np.asarray(value) for name, value in zip(names, values, strict=True)}


def _departs(model: onnx.ModelProto, name: str, expected: Array, feeds: Mapping[str, object]) -> bool:
    found = compile(_with_outputs(model, [name])).run(feeds)[name]
    return relative_difference(found, expected) > allowed_of_model(expected.dtype)


def _with_outputs(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """A copy of the model with other values as its outputs; their types follow from the nodes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return copy
