"""Edits of a model, each a function from a case to simpler cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper

from stepwell.frontend.sorting import subgraphs, used_names
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.debug.references import reference_values
from stepwell.tools.reduce.onnx_case import ModelCase

Edit = Callable[[ModelCase], Iterator[ModelCase]]
_FLOAT32 = np.dtype(np.float32)
_OTHER_FLOATS = ("float16", "float64", "bfloat16")


def evaluated(model: ModelProto, feeds: Mapping[str, Array]) -> ModelCase:
    """A model with the values of the reference, as far as it can compute them."""
    try:
        values = reference_values("reference", model, feeds).values
    except (StepwellError, ValueError):
        values = {}
    return ModelCase(model, {**values, **feeds})


def fewer_outputs(case: ModelCase) -> Iterator[ModelCase]:
    """Without an output, and without nodes for this output alone."""
    outputs = case.model.graph.output
    for index in reversed(range(len(outputs) if len(outputs) > 1 else 0)):
        copy = _copy(case)
        del copy.graph.output[index]
        yield _pruned(copy, case.feeds)


def without_node(case: ModelCase) -> Iterator[ModelCase]:
    """With an input of a node in the place of its output of the same type."""
    outputs = {info.name for info in case.model.graph.output}
    for index, node in enumerate(case.model.graph.node):
        if len(node.output) != 1 or node.output[0] in outputs:
            continue
        made = case.values.get(node.output[0])
        for name in dict.fromkeys(filter(None, node.input)):
            read = case.values.get(name)
            if made is None or read is None or (made.dtype, made.shape) != (read.dtype, read.shape):
                continue
            copy = _copy(case)
            del copy.graph.node[index]
            _rename(copy.graph, {node.output[0]: name})
            yield _pruned(copy, case.feeds)


def without_optional_input(case: ModelCase) -> Iterator[ModelCase]:
    """Without one of the inputs that a node may lack."""
    for index, node in enumerate(case.model.graph.node):
        for position in reversed(range(_least_inputs(case.model, node), len(node.input))):
            if not node.input[position]:
                continue
            copy = _copy(case)
            inputs = copy.graph.node[index].input
            inputs[position] = ""
            while inputs and not inputs[-1]:
                del inputs[-1]
            yield _pruned(copy, case.feeds)


def without_attribute(case: ModelCase) -> Iterator[ModelCase]:
    """With the default in the place of an attribute."""
    for index, node in enumerate(case.model.graph.node):
        for position, attribute in enumerate(node.attribute):
            if attribute.type not in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
                copy = _copy(case)
                del copy.graph.node[index].attribute[position]
                yield _pruned(copy, case.feeds)


def inlined_body(case: ModelCase) -> Iterator[ModelCase]:
    """With the nodes of a branch, or of the first iteration of a body, in the place of an `If` or `Loop`."""
    for index, node in enumerate(case.model.graph.node):
        for body in subgraphs(node) if node.op_type in ("If", "Loop") else ():
            copy = _copy(case)
            inner = GraphProto()
            inner.CopyFrom(body)
            names = {info.name: f"{node.output[0]}/{info.name}" for info in inner.input}
            names |= {name: f"{node.output[0]}/{name}" for each in inner.node for name in each.output if name}
            names |= {tensor.name: f"{node.output[0]}/{tensor.name}" for tensor in inner.initializer}
            skipped = 1 if node.op_type == "Loop" else 0
            shown = zip(list(inner.output)[skipped:], node.output, strict=False)
            if node.op_type == "Loop":
                given = ["", "", *node.input[2:]]
                names |= {info.name: name for info, name in zip(inner.input, given, strict=False) if name}
                _add_first_iteration(copy.graph, inner, names)
            copies = [(info.name, output) for info, output in shown if output]
            names |= {old: new for old, new in copies if any(old in n.output for n in inner.node)}
            _rename(inner, names)
            passed = [
                helper.make_node("Identity", [names.get(old, old)], [new])
                for old, new in copies
                if names.get(old, old) != new
            ]
            nodes = [*copy.graph.node[:index], *inner.node, *passed, *copy.graph.node[index + 1 :]]
            del copy.graph.node[:]
            copy.graph.node.extend(nodes)
            copy.graph.initializer.extend(inner.initializer)
            for output in copy.graph.output:
                output.ClearField("type")
            yield _pruned(copy, case.feeds)


def _add_first_iteration(graph: GraphProto, body: GraphProto, names: Mapping[str, str]) -> None:
    """Initializers for the number of the first iteration of a `Loop`, and for its condition."""
    for info, array in zip(body.input, (np.array(0, np.int64), np.array(True)), strict=False):
        graph.initializer.append(numpy_helper.from_array(array, names[info.name]))


def plain_weights(case: ModelCase) -> Iterator[ModelCase]:
    """With ones or zeros in the place of the numbers of an initializer."""
    for index, tensor in enumerate(case.model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind != "f" or array.size < 2 or (array == array.flat[0]).all():
            continue
        for fill in (1, 0):
            copy = _copy(case)
            plain = numpy_helper.from_array(np.full_like(array, fill), tensor.name)
            copy.graph.initializer[index].CopyFrom(plain)
            yield _pruned(copy, case.feeds)


def halved_sizes(case: ModelCase) -> Iterator[ModelCase]:
    """With half the size in the place of each dimension of one size, in all inputs and initializers."""
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in case.model.graph.initializer}
    sizes = {size for array in [*case.feeds.values(), *weights.values()] for size in array.shape if size > 1}
    for size in sorted(sizes, reverse=True):
        for smaller in dict.fromkeys((1, size // 2)):
            copy = _copy(case)
            for tensor in copy.graph.initializer:
                array = _sliced(weights[tensor.name], size, smaller)
                if array.dtype == np.int64 and array.ndim == 1:  # it may be a shape
                    array = np.where(array == size, smaller, array)
                tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))
            feeds = {name: _sliced(array, size, smaller) for name, array in case.feeds.items()}
            _set_types(copy.graph, feeds)
            yield _pruned(copy, feeds)


def _sliced(array: Array, size: int, smaller: int) -> Array:
    return array[tuple(slice(smaller if dim == size else dim) for dim in array.shape)]


def in_float32(case: ModelCase) -> Iterator[ModelCase]:
    """With float32 in the place of all other types of floating-point numbers."""
    copy, changed = _copy(case), False
    for tensor in copy.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype.name in _OTHER_FLOATS:
            tensor.CopyFrom(numpy_helper.from_array(array.astype(_FLOAT32), tensor.name))
            changed = True
    feeds = dict(case.feeds)
    for name, array in case.feeds.items():
        if array.dtype.name in _OTHER_FLOATS:
            feeds[name] = array.astype(_FLOAT32)
            changed = True
    for node in copy.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i in (TensorProto.FLOAT16, TensorProto.DOUBLE):
                attribute.i, changed = TensorProto.FLOAT, True
    if changed:
        _set_types(copy.graph, feeds)
        yield _pruned(copy, feeds)


def short_names(case: ModelCase) -> Iterator[ModelCase]:
    """With short names of values, and none of nodes."""
    copy = _copy(case)
    graph = copy.graph
    made = [name for node in graph.node for name in node.output if name]
    outside = [info.name for info in graph.input] + [tensor.name for tensor in graph.initializer]
    names = {name: f"v{number}" for number, name in enumerate(dict.fromkeys([*outside, *made]))}
    if all(old == new for old, new in names.items()) and not any(node.name for node in graph.node):
        return
    for node in graph.node:
        node.name = ""
    _rename(graph, names)
    yield _pruned(copy, {names[name]: array for name, array in case.feeds.items()})


SIMPLER: tuple[Edit, ...] = (
    fewer_outputs,
    without_node,
    inlined_body,
    without_optional_input,
    without_attribute,
    halved_sizes,
    in_float32,
    plain_weights,
    short_names,
)
"""The edits in the order in which they are tried."""


def _copy(case: ModelCase) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(case.model)
    return copy


def _least_inputs(model: ModelProto, node: NodeProto) -> int:
    """The number of inputs that a node needs; all of them for an operator without a schema."""
    version = next((entry.version for entry in model.opset_import if entry.domain == node.domain), 1)
    try:
        return defs.get_schema(node.op_type, version, node.domain).min_input
    except defs.SchemaError:
        return len(node.input)


def _rename(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Rename values, also where bodies use them."""
    for info in (*graph.input, *graph.output, *graph.initializer):
        info.name = names.get(info.name, info.name)
    for node in graph.node:
        for values in (node.input, node.output):
            renamed = [names.get(name, name) for name in values]
            del values[:]
            values.extend(renamed)
        for body in subgraphs(node):
            own = {info.name for info in (*body.input, *body.initializer)}
            own |= {name for inner in body.node for name in inner.output}
            _rename(body, {old: new for old, new in names.items() if old not in own})


def _set_types(graph: GraphProto, feeds: Mapping[str, Array]) -> None:
    """Give the inputs the types of their arrays, symbols where they were; the outputs' follow from nodes."""
    for info in graph.input:
        if (array := feeds.get(info.name)) is None:
            continue
        symbols = [dim.dim_param for dim in info.type.tensor_type.shape.dim]
        shape = [symbol or size for symbol, size in zip(symbols, array.shape, strict=True)]
        type = helper.np_dtype_to_tensor_dtype(array.dtype)
        info.CopyFrom(helper.make_tensor_value_info(info.name, type, shape))
    for info in graph.output:
        info.ClearField("type")


def _pruned(model: ModelProto, feeds: Mapping[str, Array]) -> ModelCase:
    """A case of a model without what no output needs."""
    graph = model.graph
    needed = {info.name for info in graph.output}
    nodes: list[NodeProto] = []
    for node in reversed(graph.node):
        if not needed.isdisjoint(node.output):
            needed.update(used_names(node))
            nodes.insert(0, node)
    kept = (
        nodes,
        [i for i in graph.input if i.name in needed],
        [t for t in graph.initializer if t.name in needed],
    )
    bare = GraphProto(name=graph.name, output=graph.output, node=kept[0], input=kept[1], initializer=kept[2])
    graph.CopyFrom(bare)
    return evaluated(model, {name: array for name, array in feeds.items() if name in needed})
