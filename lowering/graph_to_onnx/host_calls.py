"""`graph.host_call` → the operators of ONNX that are computed on the host: strings, lists, maps, images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.lowering.graph_to_onnx.host_nodes import HostNode
from stepwell.lowering.graph_to_onnx.host_operators import FORMS
from stepwell.lowering.graph_to_onnx.support import OnnxExport
from stepwell.lowering.onnx_to_graph import DTYPES, FUNCTIONS
from stepwell.runtime.host import FFI, NUMPY


class HostCallExport(OnnxExport):
    """
    `graph.host_call` of a function that stands for an operator → the operator; `ffi` → its node.

    ```mlir
    %y = graph.host_call "numpy" "host.string_concat" payload "…" (%a, %b) : …
    // ->
    %y = "onnx.StringConcat"(%a, %b) : …
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.HostCallOp, rewriter: PatternRewriter) -> None:
        """Look up the function; decline functions without operator, and sizes that are used as numbers."""
        if any(result.uses for result in op.results[len(op.values) :]):
            return
        if op.kind.data == FFI:
            made = _call_of_function(op, rewriter, self)
        elif op.kind.data == NUMPY:
            made = _operator(op, rewriter, self)
        else:
            return
        if made is not None:
            sizes = op.results[len(op.values) :]
            rewriter.replace(op, [], [*made, *[None] * len(sizes)])


def _operator(
    op: graph.HostCallOp, rewriter: PatternRewriter, export: OnnxExport
) -> Sequence[SSAValue] | None:
    """The results of the operator that a function stands for; None where there is none."""
    assert isinstance(op.payload, StringAttr)
    described = json.loads(op.payload.data)
    if (form := FORMS.get(described["op"])) is None:
        return None
    absent = set(described.get("absent", ()))
    given = iter(op.arguments)
    count = len(op.arguments) + len(absent)
    operands = [None if place in absent else next(given) for place in range(count)]
    types = [value.type for value in op.values]
    return form(HostNode(described["op"], described["attributes"], operands, types, rewriter, export))


def _call_of_function(
    op: graph.HostCallOp, rewriter: PatternRewriter, export: OnnxExport
) -> Sequence[SSAValue] | None:
    """A node of a registered function, with the types of its results as text; None for computed sizes."""
    texts = [_type_text(value.type) for value in op.values]
    if any(text is None for text in texts):
        return None
    types = [value.type for value in op.values]
    node = HostNode(op.callee.data, {}, list(op.arguments), types, rewriter, export)
    results = ArrayAttr([StringAttr(text) for text in texts if text is not None])
    return node.insert_call(FUNCTIONS, op.callee.data, {"result": results})


def _type_text(type: Attribute) -> str | None:
    """A type as in `f32[N,3]`; None where a dimension is neither a number nor a name."""
    if is_opaque(type):
        return None
    names = {dtype: name for name, dtype in DTYPES.items()}
    dims = [str(dim) for dim in dims_of(type)]
    name = names.get(dtype_of(cast(Tensor, type).element_type).name)
    if name is None or not all(dim.isdecimal() or dim.isidentifier() for dim in dims):
        return None
    return f"{name}[{','.join(dims)}]"
