"""Functions that a process registers, called by nodes of `ai.stepwell.ffi`, → `graph.host_call`."""

from __future__ import annotations

import json
import re
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import dims_of, element_of, tensor_type
from stepwell.lowering.onnx_to_graph.host import DTYPES, FUNCTIONS
from stepwell.lowering.onnx_to_graph.host_calls import HostLowering
from stepwell.lowering.onnx_to_graph.shape_values import block_owner
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.host import FFI

_RESULT = re.compile(r"(?P<dtype>\w+)\[(?P<dims>[\w, ]*)\]")


class FunctionLowering(HostLowering):
    """
    Calls of registered functions; `result` has a type for each output.

    A dimension of a result is a number, a name of an operand's dimension, or a new name: then the function
    decides it.

    ```mlir
    %y = "onnx.Call"(%x) <{
      domain = "ai.stepwell.ffi", op_type = "my.top3", arguments = {result = ["f32[N,3]"]}
    }> : (tensor<?x8xf32, #graph.dims<["N", 8]>>) -> !onnx.any
    // ->
    %y = graph.host_call "ffi" "my.top3" effect payload "…" (%x)
        : (tensor<?x8xf32, #graph.dims<["N", 8]>>) -> tensor<?x3xf32, #graph.dims<["N", 3]>>
    ```
    """

    def converts(self, op: Operation) -> bool:
        """Whether the node is of the domain."""
        return isinstance(op, onnx.CallOp) and op.domain.data == FUNCTIONS

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CallOp, rewriter: PatternRewriter) -> None:
        """Call the function, which may have effects: the call is kept, in its order."""
        if op.domain.data != FUNCTIONS:
            return
        if any(is_opaque(value.type) for value in op.inputs):
            raise StepwellError("unsupported", op, f"{op.title} takes tensors of numbers only")
        known = {name for value in op.inputs for dim in dims_of(value.type) for name in dim.symbols()}
        texts = _results(op)
        made = sorted({name for text in texts for name in _names(op, text)} - known)
        new = dict(zip(made, fresh_symbols(block_owner(rewriter), len(made)), strict=True))
        types = [_type(op, text, new) for text in texts]
        payload = StringAttr(json.dumps({"function": op.op_type.data}))
        call = graph.HostCallOp(
            FFI, op.op_type.data, payload, list(op.inputs), types, list(new.values()), effect=True
        )
        rewriter.insert(call)
        rewriter.replace(op, [], list(call.values))


def _results(op: onnx.CallOp) -> list[str]:
    """The types of results as text. Raises: StepwellError `invalid-model`."""
    found = dict(op.arguments.data)
    types = found.pop("result", None)
    items = cast("ArrayAttr[Attribute]", types) if isinstance(types, ArrayAttr) else ()
    texts = [text.data for text in items if isinstance(text, StringAttr)]
    if found or len(texts) != len(op.outputs) or op.absent is not None or op.absent_outputs is not None:
        message = f"{op.title} needs all inputs and outputs, and `result` alone, a type for each output"
        raise StepwellError("invalid-model", op, message, help='such as result = ["f32[N,3]"]')
    return texts


def _dims(op: onnx.CallOp, text: str) -> tuple[str, list[str]]:
    """Element type and dimensions of a result. Raises: StepwellError `invalid-model`."""
    found = _RESULT.fullmatch(text.strip())
    if found is None or found["dtype"] not in DTYPES:
        message = f"{op.title}: a result is like f32[N,3], found {text!r:.100}"
        raise StepwellError("invalid-model", op, message, note=f"element types are {', '.join(DTYPES)}")
    return DTYPES[found["dtype"]], [dim.strip() for dim in found["dims"].split(",") if dim.strip()]


def _names(op: onnx.CallOp, text: str) -> list[str]:
    return [dim for dim in _dims(op, text)[1] if not dim.isdecimal()]


def _type(op: onnx.CallOp, text: str, new: dict[str, str]) -> Attribute:
    dtype, dims = _dims(op, text)
    sizes = [Dim.of(int(dim)) if dim.isdecimal() else Dim.symbol(new.get(dim, dim)) for dim in dims]
    return tensor_type(element_of(dtype), sizes)
