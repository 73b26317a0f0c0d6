"""Preparation of features in `ai.onnx.ml` → `graph`: scaling, imputing, encoding of categories and labels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx, types
from stepwell.dialects.constants import array_of
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dims_of, dtype_of, tensor_type
from stepwell.lowering.onnx_to_graph.constant_tables import Table, constant_table, found_in
from stepwell.lowering.onnx_to_graph.host_calls import STRING, host_results
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    as_f32,
    element_of,
    emit,
    has_strings,
    required_attribute,
    shape_of,
)
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class ScalerLowering(OnnxLowering):
    """`Scaler` → (x - offset) * scale, in f32."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ScalerOp, rewriter: PatternRewriter) -> None:
        """Subtract the offset and multiply by the scale, as far as given."""
        x = as_f32(op.X, rewriter)
        for name, combine in (("offset", graph.SubtractOp), ("scale", graph.MultiplyOp)):
            if op.has(name):
                numbers = self.constant(np.array(op.floats(name), np.float32), rewriter)
                x = emit(combine(x, numbers), rewriter)
        rewriter.replace(op, [], [x])


class NormalizerLowering(OnnxLowering):
    """`Normalizer` → rows divided by their norm; a row of norm 0 is unchanged."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.NormalizerOp, rewriter: PatternRewriter) -> None:
        """Divide by the norm along the last axis, with 0 replaced by 1."""
        x, last = as_f32(op.X, rewriter), len(shape_of(op.X, op)) - 1
        kinds = {"L1": "l1", "L2": "l2", "MAX": "max"}
        kind = kinds.get(name := op.string("norm"))
        if kind is None:
            raise StepwellError("invalid-model", op, f"Normalizer: no norm is named {name}")
        norm = emit(graph.ReduceOp(x, kind, [last], keep_dims=True), rewriter)
        zero, one = (self.scalar(n, f32, rewriter) for n in (0, 1))
        is_zero = emit(graph.EqualOp(norm, zero), rewriter)
        divisor = emit(graph.WhereOp(is_zero, one, norm), rewriter)
        rewriter.replace(op, graph.DivideOp(x, divisor))


class BinarizerLowering(OnnxLowering):
    """`Binarizer` → 1 strictly above a threshold, else 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.BinarizerOp, rewriter: PatternRewriter) -> None:
        """Compare with the threshold, and cast to the input's type."""
        element = element_of(op.X)
        limit = self.scalar(op.floating("threshold"), element, rewriter)
        rewriter.replace(op, graph.CastOp(emit(graph.LessOp(limit, op.X), rewriter), element))


class ImputerLowering(OnnxLowering):
    """`Imputer` → a value, possibly NaN, replaced by others, one per feature."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ImputerOp, rewriter: PatternRewriter) -> None:
        """Select the replacement where the element equals the replaced value, or is NaN if that is NaN."""
        element = element_of(op.X)
        floats = is_float(element)
        name = "imputed_value_floats" if floats else "imputed_value_int64s"
        numbers: Sequence[float] = op.floats(name) if floats else op.integers(name)
        lost = op.floating("replaced_value_float") if floats else op.integer("replaced_value_int64")
        if np.isnan(lost):
            is_lost = emit(graph.IsNanOp(op.X), rewriter)
        else:
            is_lost = emit(graph.EqualOp(op.X, self.scalar(lost, element, rewriter)), rewriter)
        filling = self.constant(np.array(numbers).astype(dtype_of(element)), rewriter)
        rewriter.replace(op, graph.WhereOp(is_lost, filling, op.X))


class ArrayFeatureExtractorLowering(OnnxLowering):
    """`ArrayFeatureExtractor` → selected features along the last axis; a vector is one row."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ArrayFeatureExtractorOp, rewriter: PatternRewriter) -> None:
        """Flatten the indices and gather along the last axis."""
        dims, count = shape_of(op.X, op), prod(shape_of(op.Y, op), start=Dim.of(1))
        picked = emit(graph.ReshapeOp(op.Y, [count]), rewriter)
        x = op.X if len(dims) > 1 else emit(graph.ExpandDimsOp(op.X, [0]), rewriter)
        rewriter.replace(op, graph.GatherOp(x, picked, max(1, len(dims) - 1)))


class FeatureVectorizerLowering(OnnxLowering):
    """`FeatureVectorizer` → features side by side, in f32; a vector has one feature per row."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.FeatureVectorizerOp, rewriter: PatternRewriter) -> None:
        """Cast to f32, make vectors columns, and concatenate along axis 1."""
        parts = [as_f32(x, rewriter) for x in op.X]
        columns = [
            x if len(dims_of(x.type)) > 1 else emit(graph.ExpandDimsOp(x, [1]), rewriter) for x in parts
        ]
        rewriter.replace(op, graph.ConcatOp(columns, 1))


class OneHotEncoderLowering(OnnxLowering):
    """
    `OneHotEncoder` → 1 where a value equals a category, along a new axis; the host compares strings.

    With `zeros` 0 a value without category should be an error; it gets zeros as well, as in ONNX Runtime.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OneHotEncoderOp, rewriter: PatternRewriter) -> None:
        """Compare each element with all categories along a new last axis."""
        dims = list(shape_of(op.X, op))
        if has_strings(op):
            texts = [text.decode() for text in op.strings("cats_strings")]
            type = tensor_type(i64, dims)
            attributes = _mapping(texts, [*range(len(texts))], -1)
            x = host_results("host.encode_labels", attributes, [op.X], [type], rewriter)[0]
            categories = np.arange(len(texts))
        else:
            x, categories = op.X, np.array(op.integers("cats_int64s"))
        table = self.constant(categories.astype(dtype_of(element_of(x))), rewriter)
        equal = emit(graph.EqualOp(emit(graph.ExpandDimsOp(x, [len(dims)]), rewriter), table), rewriter)
        rewriter.replace(op, graph.CastOp(equal, f32))


def _mapping(keys: Sequence[object], values: Sequence[object], default: object) -> dict[str, object]:
    """The attributes of `host.encode_labels`."""
    return {"keys": [*keys], "values": [*values], "default": default}


class LabelEncoderLowering(OnnxLowering):
    """
    `LabelEncoder`, `CategoryMapper` → the value of each key: by binary search, or by the host for strings.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.LabelEncoderOp | onnx.CategoryMapperOp, rewriter: PatternRewriter
    ) -> None:
        """Look up the keys, or call `host.encode_labels` if keys or values are strings."""
        keys, values, default = self._tables(op)
        if len(keys) != len(values):
            message = f"{op.op_type}: {len(keys)} keys for {len(values)} values"
            raise StepwellError("invalid-model", op, message)
        dims = shape_of(op.operands[0], op)
        if has_strings(op) or isinstance(default, str):
            is_text = isinstance(default, str)
            element = STRING if is_text else types.element_of(default.dtype)
            rest = default if is_text else default.item()
            attributes = _mapping(_listed(keys), _listed(values), rest)
            type = tensor_type(element, dims)
            rewriter.replace(
                op, [], host_results("host.encode_labels", attributes, [op.operands[0]], [type], rewriter)
            )
            return
        x = Formula(self, rewriter).value(op.operands[0])
        rewriter.replace(op, [], [_looked_up(x, keys, values, default).ssa])

    def _tables(self, op: onnx.LabelEncoderOp | onnx.CategoryMapperOp) -> tuple[Table, Table, Any]:
        """The keys, the values, and the default for other keys."""
        if isinstance(op, onnx.CategoryMapperOp):
            texts, numbers = self._list(op, "cats", "strings"), self._list(op, "cats", "int64s")
            if has_strings(op):
                return texts, numbers, np.int64(op.integer("default_int64"))
            return numbers, texts, op.string("default_string")
        if op.has("classes_strings"):  # opset 1
            texts = self._list(op, "classes", "strings")
            indices = np.arange(len(texts))
            if has_strings(op):
                return texts, indices, np.int64(op.integer("default_int64"))
            return indices, texts, op.string("default_string")
        keys, values = self._any_list(op, "keys"), self._any_list(op, "values")
        if op.has("default_tensor"):
            return keys, values, self._tensor(op, "default_tensor").reshape(-1)[0]
        if values.dtype == object:
            return keys, values, op.string("default_string") if op.has("default_string") else "_Unused"
        if values.dtype == np.float32:
            return keys, values, np.float32(op.floating("default_float") if op.has("default_float") else -0.0)
        if op.has("default_int64"):
            return keys, values, values.dtype.type(op.integer("default_int64"))
        return keys, values, values.dtype.type(-1)

    def _any_list(self, op: onnx.OnnxOp, name: str) -> Table:
        """The keys or values from whichever attribute the model has."""
        for kind in ("strings", "int64s", "floats"):
            if op.has(f"{name}_{kind}"):
                return self._list(op, name, kind)
        return self._tensor(op, f"{name}_tensor").reshape(-1)

    def _list(self, op: onnx.OnnxOp, name: str, kind: str) -> Table:
        """The keys or values from a list attribute of a kind."""
        match kind:
            case "strings":
                return np.array([text.decode() for text in op.strings(f"{name}_strings")], object)
            case "int64s":
                return np.array(op.integers(f"{name}_int64s"), np.int64)
            case _:
                return np.array(op.floats(f"{name}_floats"), np.float32)

    def _tensor(self, op: onnx.OnnxOp, name: str) -> Table:
        """The keys or values from a tensor attribute."""
        value = required_attribute(op, name)
        if isinstance(value, onnx.StringsAttr):
            return np.array([text.decode() for text in value.values()], object)
        return array_of(value, self.weights)


def _listed(table: Table) -> list[object]:
    """A table as a Python list."""
    return cast("list[object]", table.tolist())


def _looked_up(x: Value, keys: Table, values: Table, default: Any) -> Value:
    """The value of the first key that equals each element; NaN is a key like others."""
    at = x.formula
    typed, first = np.unique(keys.astype(dtype_of(x.element)), return_index=True)
    is_nan = np.isnan(typed) if typed.dtype.kind == "f" else np.zeros(len(typed), bool)
    result = at.number(default, types.element_of(values.dtype))
    if not is_nan.all():
        position, is_key = found_in(typed[~is_nan], x)
        found = constant_table(at, values[first[~is_nan]]).gather(position, 0)
        result = at.where(is_key, found, result)
    if is_nan.any():
        of_nan = constant_table(at, values[first[is_nan][0]].reshape(()))
        result = at.where(x.apply(graph.IsNanOp), of_nan, result)
    return result.broadcast_to(x.dims)
