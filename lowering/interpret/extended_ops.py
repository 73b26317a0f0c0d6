"""`linalg_ext`: structured ops on tensors by the numpy meaning of the graph op of the same name."""

from __future__ import annotations

from stepwell.dialects import linalg_ext
from stepwell.dialects.graph.base import plain, plain_properties
from stepwell.dialects.types import dtype_of
from stepwell.lowering.interpret.engine import Step, Value, implements, packed
from stepwell.runtime.dims import Dim
from stepwell.runtime.meaning import evaluate


@implements("linalg_ext.attention")
def prepare_attention(op: linalg_ext.AttentionOp) -> Step:
    """The values weighed by the softmax of the scores, as a new array."""
    scale, zero_masked = op.scale.value.data, op.zero_masked is not None

    def run(q: Value, k: Value, v: Value, _init: Value, mask: Value | None = None) -> Value:
        properties = {"scale": scale, "zero_masked": zero_masked}
        return evaluate("graph.attention", [q, k, v, mask], properties)[0]

    return run


@implements("linalg_ext.winograd_conv")
def prepare_winograd_conv(op: linalg_ext.WinogradConvOp) -> Step:
    """The convolution with transformed filters, as a new array."""
    properties = plain_properties(op)

    def run(x: Value, u: Value, _init: Value) -> Value:
        return evaluate("graph.winograd_conv", [x, u], properties)[0]

    return run


@implements("linalg_ext.matmul_nbits")
def prepare_matmul_nbits(op: linalg_ext.MatmulNbitsOp) -> Step:
    """The product with unpacked weights, as a new array."""
    properties = {"bits": op.bits.value.data, "block": op.block.value.data, "columns": op.columns}
    before = [] if op.zero_points is not None else [None]

    def run(x: Value, codes: Value, scales: Value, _init: Value, *others: Value) -> Value:
        points, x_scales = [*before, *others, None][:2]
        return evaluate("graph.matmul_nbits", [x, codes, scales, points, x_scales], properties)[0]

    return run


@implements("linalg_ext.pool")
def prepare_pool(op: linalg_ext.PoolOp) -> Step:
    """The maxima or means of windows, as a new array."""
    properties = {name: plain(op.properties[name]) for name in ("kind", "kernel", "strides", "pads")}
    properties |= {"dilations": [1, 1], "ceil": op.ceil, "count_include_pad": op.with_pads is not None}
    properties |= {"p": 2, "indices": "none", "data_layout": "NCHW"}

    def run(x: Value, _init: Value) -> Value:
        return evaluate("graph.pool", [x], properties)[0]

    return run


@implements("linalg_ext.tree_ensemble")
def prepare_tree_ensemble(op: linalg_ext.TreeEnsembleOp) -> Step:
    """The aggregate of the leaves, as a new array."""
    properties = plain_properties(op)

    def run(x: Value, nodes: Value, trees: Value, weights: Value, _init: Value, *_: Value) -> Value:
        return evaluate("graph.tree_ensemble", [x, nodes, trees, weights], properties)[0]

    return run


@implements("linalg_ext.resize", "linalg_ext.rnn", "linalg_ext.scan", "linalg_ext.top_k")
def prepare_graph_op(op: linalg_ext.GraphFormsOp) -> Step:
    """The results of the graph op, as new arrays; elements that are stored as another type are views."""
    properties = {name: value for name, value in plain_properties(op).items() if name != "of"}
    names = [name for name, _ in op.GRAPH_OP.get_irdl_definition().operands]
    present = [getattr(op, name, None) is not None for name in names]
    typed = None if op.of is None else dtype_of(op.of)

    def run(*values: Value) -> Value:
        given, inputs = iter(values), list[Value]()
        for name, is_present in zip(names, present, strict=True):
            value: Value = next(given) if is_present else None
            inputs.append(value if value is None or typed is None or name in op.PLAIN else value.view(typed))
        inits = list(given)
        sizes = op.size_properties([[Dim.of(size) for size in init.shape] for init in inits])
        known = {**properties, **{name: plain(value) for name, value in sizes.items()}}
        found = evaluate(op.GRAPH_OP.name, inputs, known)
        return packed([new.view(init.dtype) for new, init in zip(found, inits, strict=True)])

    return run
