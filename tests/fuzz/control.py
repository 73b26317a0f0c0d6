"""Random control flow: nodes with graphs of a few nodes inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from tests.fuzz.builder import GraphBuilder
from tests.fuzz.operators import Adder

_UNARY = ("Relu", "Tanh", "Sigmoid", "Neg", "Abs")


def branch(g: GraphBuilder) -> None:
    """One of two computations on a value from outside, by a condition that is data."""
    value = g.pick(lambda v: v.dtype == "float32")
    condition = g.pick(lambda v: v.dtype == "bool" and v.exact)
    if condition.array.size == 0:
        return
    if condition.array.ndim:
        g.node("Reshape", [condition, g.ints(-1)], exact=True)
        g.node("Gather", [g.values[-1], g.constant(np.array(0))], exact=True)
        condition = g.values[-1]
    graphs: dict[str, Any] = {
        name: _chain(g, f"{name}{len(g.nodes)}", value.name) for name in ("then_branch", "else_branch")
    }
    g.node("If", [condition], captured=[value], **graphs)


def loop(g: GraphBuilder) -> None:
    """A few rounds over a value; each round's is kept as well."""
    value = g.pick(lambda v: v.dtype == "float32" and v.array.size <= 64)
    name = f"body{len(g.nodes)}"
    nodes = _nodes(g, name, f"{name}_in")
    last = nodes[-1].output[0]
    nodes.append(helper.make_node("Identity", [f"{name}_go"], [f"{name}_on"]))
    nodes.append(helper.make_node("Identity", [last], [f"{name}_seen"]))
    body = helper.make_graph(
        nodes,
        name,
        [
            helper.make_tensor_value_info(f"{name}_i", TensorProto.INT64, []),
            helper.make_tensor_value_info(f"{name}_go", TensorProto.BOOL, []),
            _info(f"{name}_in", value.shape),
        ],
        [
            helper.make_tensor_value_info(f"{name}_on", TensorProto.BOOL, []),
            _info(last, value.shape),
            _info(f"{name}_seen", value.shape),
        ],
    )
    rounds, go = g.constant(np.array(g.integer(1, 4))), g.constant(np.array(True))
    g.node("Loop", [rounds, go, value], outputs=2, body=body)


def scan(g: GraphBuilder) -> None:
    """A running value over the rows of another one."""
    rows = g.pick(lambda v: v.dtype == "float32" and v.array.ndim >= 1 and 0 < v.array.size <= 256)
    state = g.constant(g.draw("float32", rows.shape[1:]))
    name = f"scan{len(g.nodes)}"
    add = helper.make_node("Add", [f"{name}_state", f"{name}_row"], [f"{name}_sum"])
    nodes = [add, *_nodes(g, name, f"{name}_sum")]
    last = nodes[-1].output[0]
    nodes.append(helper.make_node("Identity", [last], [f"{name}_seen"]))
    shape = rows.shape[1:]
    body = helper.make_graph(
        nodes,
        name,
        [_info(f"{name}_state", shape), _info(f"{name}_row", shape)],
        [_info(last, shape), _info(f"{name}_seen", shape)],
    )
    directions = [g.integer(0, 1)]
    g.node("Scan", [state, rows], outputs=2, body=body, num_scan_inputs=1, scan_input_directions=directions)


def mapped(g: GraphBuilder) -> None:
    """The halves of a value as a sequence, each computed on, one of them taken."""
    value = g.pick(lambda v: v.dtype == "float32" and v.array.ndim >= 1 and v.shape[0] in (2, 4))
    name = f"map{len(g.nodes)}"
    nodes = _nodes(g, name, f"{name}_in")
    shape = (value.shape[0] // 2, *value.shape[1:])
    body = helper.make_graph(nodes, name, [_info(f"{name}_in", shape)], [_info(nodes[-1].output[0], shape)])
    halves, taken = [f"{name}_a", f"{name}_b"], g.constant(np.array(g.integer(0, 1)))
    chain = [
        helper.make_node("Split", [value.name], halves, axis=0, num_outputs=2),
        helper.make_node("SequenceConstruct", halves, [f"{name}_s"]),
        helper.make_node("SequenceMap", [f"{name}_s"], [f"{name}_t"], body=body),
        helper.make_node("SequenceAt", [f"{name}_t", taken.name], [f"{name}_out"]),
    ]
    g.add(chain, [value, taken], [f"{name}_out"])


def _chain(g: GraphBuilder, name: str, value: str) -> GraphProto:
    nodes = _nodes(g, name, value)
    return helper.make_graph(nodes, name, [], [_info(nodes[-1].output[0], None)])


def _nodes(g: GraphBuilder, name: str, value: str) -> list[NodeProto]:
    """One to three functions of each element."""
    nodes: list[NodeProto] = []
    for i in range(g.integer(1, 3)):
        nodes.append(helper.make_node(g.choice(_UNARY), [value], [f"{name}_{i}"], f"{name}_n{i}"))
        value = f"{name}_{i}"
    return nodes


def _info(name: str, shape: Sequence[int] | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


CONTROL: Mapping[Adder, float] = {branch: 0.6, loop: 0.5, scan: 0.5, mapped: 0.3}
"""How often each is tried."""
