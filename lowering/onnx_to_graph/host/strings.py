"""ONNX operators on strings → `graph.host_call`."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, f32, i1, i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.graph.relations import broadcast
from stepwell.dialects.types import dtype_of, tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import STRING, HostLowering, host_results, sized_strings
from stepwell.lowering.onnx_to_graph.support import element_of, element_type, has_strings, shape_of

_STRING_CODE = IntegerAttr(8, i64)  # TensorProto.STRING


def _texts(op: onnx.OnnxOp, name: str) -> list[str]:
    """An attribute that is a list of strings."""
    return [value.decode(errors="replace") for value in op.strings(name)]


class StringEqualLowering(HostLowering):
    """`Equal` of strings, by the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.EqualOp, rewriter: PatternRewriter) -> None:
        """Call `host.string_equal`; other element types are left to `BinaryLowering`."""
        if has_strings(op):
            result = tensor_type(i1, broadcast([shape_of(op.A, op), shape_of(op.B, op)]))
            rewriter.replace(op, [], host_results("host.string_equal", {}, [op.A, op.B], [result], rewriter))


class StringWhereLowering(HostLowering):
    """`Where` between strings, by the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.WhereOp, rewriter: PatternRewriter) -> None:
        """Call `host.string_where`; other element types are left to `WhereLowering`."""
        if has_strings(op):
            values = [op.condition, op.X, op.Y]
            result = tensor_type(STRING, broadcast([shape_of(value, op) for value in values]))
            rewriter.replace(op, [], host_results("host.string_where", {}, values, [result], rewriter))


class StringCastLowering(HostLowering):
    """`Cast` and `CastLike` from and to strings, by the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CastOp | onnx.CastLikeOp, rewriter: PatternRewriter) -> None:
        """
        Call the conversion between strings and numbers; casts between numbers are left to `CastLowering`.
        """
        x = op.operands[0]
        dims, from_strings = shape_of(x, op), isinstance(element_of(x), onnx.StringType)
        if isinstance(op, onnx.CastLikeOp):
            to_strings = isinstance(element_of(op.target_type), onnx.StringType)
        else:
            to_strings = op.has("to") and op.attribute("to") == _STRING_CODE
        if to_strings:
            name = "host.identity" if from_strings else "host.number_to_string"
            result = tensor_type(STRING, dims)
            rewriter.replace(op, [], host_results(name, {}, [x], [result], rewriter))
        elif from_strings:
            like = isinstance(op, onnx.CastLikeOp)
            element = element_of(op.operands[1]) if like else element_type(op.integer("to"), op)
            attributes = {"to": dtype_of(element)}
            result = tensor_type(element, dims)
            made = host_results("host.string_to_number", attributes, [x], [result], rewriter)
            rewriter.replace(op, [], made)


class StringConcatLowering(HostLowering):
    """`StringConcat` → strings concatenated elementwise."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.StringConcatOp, rewriter: PatternRewriter) -> None:
        """Call `host.string_concat` on operands that broadcast."""
        result = tensor_type(STRING, broadcast([shape_of(op.X, op), shape_of(op.Y, op)]))
        rewriter.replace(op, [], host_results("host.string_concat", {}, [op.X, op.Y], [result], rewriter))


class RegexFullMatchLowering(HostLowering):
    """`RegexFullMatch` → whether each string matches."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.RegexFullMatchOp, rewriter: PatternRewriter) -> None:
        """Call `host.regex_full_match` with the pattern as an attribute."""
        result = tensor_type(i1, shape_of(op.X, op))
        attributes = {"pattern": op.string("pattern")}
        rewriter.replace(
            op, [], host_results("host.regex_full_match", attributes, [op.X], [result], rewriter)
        )


class StringSplitLowering(HostLowering):
    """`StringSplit` → the parts of each string, and their number."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.StringSplitOp, rewriter: PatternRewriter) -> None:
        """Call `host.string_split`; the greatest number of parts is data."""
        dims = shape_of(op.X, op)
        attributes = {
            "delimiter": op.string("delimiter") if op.has("delimiter") else "",
            "maxsplit": op.integer("maxsplit") if op.has("maxsplit") else -1,
        }
        types = [tensor_type(STRING, [*dims, "?"]), tensor_type(i64, dims)]
        rewriter.replace(op, [], host_results("host.string_split", attributes, [op.X], types, rewriter))


class StringNormalizerLowering(HostLowering):
    """`StringNormalizer` → strings without stop words, converted to one case."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.StringNormalizerOp, rewriter: PatternRewriter) -> None:
        """Call `host.string_normalizer`; the number of remaining strings is data."""
        attributes = {
            "case": op.string("case_change_action") if op.has("case_change_action") else "NONE",
            "is_case_sensitive": op.integer("is_case_sensitive") if op.has("is_case_sensitive") else 0,
            "stopwords": _texts(op, "stopwords") if op.has("stopwords") else [],
        }
        leading = [1] if len(shape_of(op.X, op)) == 2 else []
        result = tensor_type(STRING, [*leading, "?"])
        (texts,) = host_results("host.string_normalizer", attributes, [op.X], [result], rewriter)
        rewriter.replace(op, [], [sized_strings(texts, rewriter)])


class TfIdfVectorizerLowering(HostLowering):
    """`TfIdfVectorizer` of strings, or of rows of open length → counts of n-grams."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TfIdfVectorizerOp, rewriter: PatternRewriter) -> None:
        """Call `host.tf_idf` with the pool of n-grams, of strings or integers, as attributes."""
        indexes = op.integers("ngram_indexes")
        strings = op.has("pool_strings")
        attributes = {
            "mode": op.string("mode"),
            **{name: op.integer(name) for name in ("min_gram_length", "max_gram_length", "max_skip_count")},
            "ngram_counts": list(op.integers("ngram_counts")),
            "ngram_indexes": list(indexes),
            "pool": _texts(op, "pool_strings") if strings else list(op.integers("pool_int64s")),
            "weights": list(op.floats("weights")) if op.has("weights") else [],
        }
        rows = list(shape_of(op.X, op))[:-1]
        result = tensor_type(f32, [*rows, max(indexes, default=-1) + 1])
        rewriter.replace(op, [], host_results("host.tf_idf", attributes, [op.X], [result], rewriter))
