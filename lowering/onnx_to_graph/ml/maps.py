"""Dictionaries of `ai.onnx.ml` → tensors, by the host."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.types import Tensor, dtype_of, tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import STRING, HostLowering, host_results
from stepwell.runtime.errors import StepwellError

_TARGETS = {"TO_FLOAT": f32, "TO_INT64": i64, "TO_STRING": STRING}


def _dtype(element: Attribute) -> np.dtype[np.generic] | None:
    """The numpy type of numbers; None for strings."""
    return None if isinstance(element, onnx.StringType) else dtype_of(element)


def _map_of(op: onnx.DictVectorizerOp | onnx.CastMapOp) -> onnx.MapType:
    """The type of the input. Raises: StepwellError `invalid-model` for any type but a dictionary."""
    if not isinstance(op.X.type, onnx.MapType):
        raise StepwellError("invalid-model", op, f"{op.op_type} takes a map, found {op.X.type}")
    return op.X.type


class DictVectorizerLowering(HostLowering):
    """`DictVectorizer` → the values of a vocabulary's keys in a row [1, keys]; 0 or "" for missing keys."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DictVectorizerOp, rewriter: PatternRewriter) -> None:
        """Call `host.map_values` with the vocabulary as keys."""
        element = _map_of(op).element
        if not isinstance(element, TensorType):
            raise StepwellError("invalid-model", op, f"DictVectorizer of a map to {element}")
        element_type = cast(Tensor, element).element_type
        keys: list[object] = []
        if op.has("string_vocabulary"):
            keys += [text.decode() for text in op.strings("string_vocabulary")]
        elif op.has("int64_vocabulary"):
            keys += op.integers("int64_vocabulary")
        attributes = {"keys": keys, "dtype": _dtype(element_type)}
        result = tensor_type(element_type, [1, len(keys)])
        rewriter.replace(op, [], host_results("host.map_values", attributes, [op.X], [result], rewriter))


class CastMapLowering(HostLowering):
    """
    `CastMap` → the values of a dictionary in a row, by ascending keys, or at the positions of their keys.

    The sparse form has `max_map` positions, with 0 where there is no key.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CastMapOp, rewriter: PatternRewriter) -> None:
        """Call `host.cast_map`; a sparse result has `max_map` elements, a dense one a size that is data."""
        _map_of(op)
        if (target := _TARGETS.get(op.string("cast_to"))) is None:
            raise StepwellError("invalid-model", op, f"CastMap: no type is named {op.string('cast_to')}")
        is_sparse = op.string("map_form") == "SPARSE"
        positions = op.integer("max_map") if is_sparse else 0
        attributes = {"places": positions, "dtype": _dtype(target)}
        result = tensor_type(target, [1, positions if is_sparse else "?"])
        rewriter.replace(op, [], host_results("host.cast_map", attributes, [op.X], [result], rewriter))
