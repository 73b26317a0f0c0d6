"""ONNX operators on lists, optional values, strings and random numbers → `graph.host_call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnrankedTensorType, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.graph.host import is_opaque, numpy_call
from stepwell.dialects.graph.relations import broadcast
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.onnx.types import StringsAttr
from stepwell.dialects.types import Tensor, dims_of, dtype_of, tensor_type
from stepwell.dialects.types import element_of as element_of_dtype
from stepwell.lowering.onnx_to_graph.shape_values import block_owner
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    element_of,
    element_type,
    has_strings,
    shape_of,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

STRING = onnx.StringType()
_STRING_CODE = IntegerAttr(8, i64)  # TensorProto.STRING


def host_results(
    function: str,
    attributes: Mapping[str, object],
    operands: Sequence[SSAValue | None],
    types: Sequence[Attribute],
    rewriter: PatternRewriter,
    *,
    effect: bool = False,
) -> Sequence[SSAValue]:
    """Insert a call of a numpy meaning; unknown dimensions of its results become symbols that it defines."""
    unknown = sum(dim.is_unknown for type in types if not is_opaque(type) for dim in dims_of(type))
    names = fresh_symbols(block_owner(rewriter), unknown)
    rest = iter(names)

    def named(type: Attribute) -> Attribute:
        if is_opaque(type):
            return type
        dims = [Dim.symbol(next(rest)) if dim.is_unknown else dim for dim in dims_of(type)]
        return tensor_type(cast(Tensor, type).element_type, dims)

    result_types = [named(type) for type in types]
    call = numpy_call(function, attributes, operands, result_types, names, effect=effect)
    return rewriter.insert(call).values


def element_of_list(value: SSAValue, op: onnx.OnnxOp) -> Attribute:
    """The type of the elements of a list. Raises: StepwellError `invalid-model` for another value."""
    if not isinstance(value.type, onnx.SequenceType):
        raise StepwellError("invalid-model", op, f"{op.op_type} takes a sequence, found {value.type}")
    return value.type.element


def any_shape(type: Attribute) -> Attribute:
    """A tensor type without what is known of its dimensions but their number."""
    if not isinstance(type, TensorType):
        return type
    return tensor_type(cast(Tensor, type).element_type, ["?"] * len(dims_of(cast(Tensor, type))))


def common_type(types: Sequence[Attribute]) -> Attribute:
    """A type for values of several: tensors of another rank have none in common but the element type."""
    shapes = [any_shape(type) for type in types]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    return UnrankedTensorType(cast(Tensor, types[0]).element_type)


class HostLowering(OnnxLowering):
    """A pattern for what the host computes."""

    ON_HOST = True


class SequenceConstructLowering(HostLowering):
    """`SequenceConstruct`, `SequenceEmpty` → a list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.SequenceConstructOp | onnx.SequenceEmptyOp, rewriter: PatternRewriter
    ) -> None:
        if isinstance(op, onnx.SequenceEmptyOp):
            element = element_type(op.integer("dtype"), op) if op.has("dtype") else f32
            type: Attribute = UnrankedTensorType(element)
        else:
            type = common_type([value.type for value in op.inputs])
        result = onnx.SequenceType(type)
        made = host_results("host.sequence_construct", {}, list(op.operands), [result], rewriter)
        rewriter.replace(op, [], made)


class SequenceInsertLowering(HostLowering):
    """`SequenceInsert` → a longer list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceInsertOp, rewriter: PatternRewriter) -> None:
        element = element_of_list(op.input_sequence, op)
        result = onnx.SequenceType(common_type([element, op.tensor.type]))
        operands = [op.input_sequence, op.tensor, op.position]
        rewriter.replace(op, [], host_results("host.sequence_insert", {}, operands, [result], rewriter))


class SequenceEraseLowering(HostLowering):
    """`SequenceErase` → a shorter list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceEraseOp, rewriter: PatternRewriter) -> None:
        operands = [op.input_sequence, op.position]
        result = op.input_sequence.type
        rewriter.replace(op, [], host_results("host.sequence_erase", {}, operands, [result], rewriter))


class SequenceAtLowering(HostLowering):
    """`SequenceAt` → an element; a tensor of unknown rank stays a value of the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceAtOp, rewriter: PatternRewriter) -> None:
        result = any_shape(element_of_list(op.input_sequence, op))
        operands = [op.input_sequence, op.position]
        rewriter.replace(op, [], host_results("host.sequence_at", {}, operands, [result], rewriter))


class SequenceLengthLowering(HostLowering):
    """`SequenceLength` → a number."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceLengthOp, rewriter: PatternRewriter) -> None:
        result = tensor_type(i64, [])
        rewriter.replace(
            op, [], host_results("host.sequence_length", {}, [op.input_sequence], [result], rewriter)
        )


class SplitToSequenceLowering(HostLowering):
    """`SplitToSequence` → a list of pieces."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SplitToSequenceOp, rewriter: PatternRewriter) -> None:
        rank = len(shape_of(op.input, op))
        keeps = op.split is not None or not op.has("keepdims") or op.integer("keepdims") == 1
        piece = tensor_type(element_of(op.input), ["?"] * (rank if keeps else rank - 1))
        axis = op.integer("axis") if op.has("axis") else 0
        attributes = {"axis": axis, "keepdims": int(keeps)}
        made = host_results(
            "host.split_to_sequence",
            attributes,
            [op.input, op.split],
            [onnx.SequenceType(piece)],
            rewriter,
        )
        rewriter.replace(op, [], made)


class ConcatFromSequenceLowering(HostLowering):
    """`ConcatFromSequence` → one tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConcatFromSequenceOp, rewriter: PatternRewriter) -> None:
        element = element_of_list(op.input_sequence, op)
        stacks = op.has("new_axis") and op.integer("new_axis") == 1
        result: Attribute = element
        if isinstance(element, TensorType):
            tensor = cast(Tensor, element)
            result = tensor_type(tensor.element_type, ["?"] * (len(dims_of(tensor)) + stacks))
        attributes = {"axis": op.integer("axis"), "new_axis": int(stacks)}
        rewriter.replace(
            op,
            [],
            host_results("host.concat_from_sequence", attributes, [op.input_sequence], [result], rewriter),
        )


class OptionalLowering(HostLowering):
    """`Optional` → a value or none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OptionalOp, rewriter: PatternRewriter) -> None:
        inner = op.type if op.input is None else op.input.type
        if inner is None:
            raise StepwellError("invalid-model", op, "Optional needs a value or a type")
        result = onnx.OptionalType(any_shape(inner))
        rewriter.replace(op, [], host_results("host.optional", {}, [op.input], [result], rewriter))


class OptionalHasElementLowering(HostLowering):
    """`OptionalHasElement` → whether there is a value; known for one that is no optional, and for none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OptionalHasElementOp, rewriter: PatternRewriter) -> None:
        if op.input is not None and isinstance(op.input.type, onnx.OptionalType):
            result = tensor_type(i1, [])
            made = host_results("host.optional_has_element", {}, [op.input], [result], rewriter)
            rewriter.replace(op, [], made)
        else:
            rewriter.replace(op, [], [self.scalar(op.input is not None, i1, rewriter)])


class OptionalGetElementLowering(HostLowering):
    """`OptionalGetElement` → the value; an error at run time when there is none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OptionalGetElementOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.input.type, onnx.OptionalType):
            rewriter.replace(op, [], [op.input])
            return
        result = any_shape(op.input.type.element)
        made = host_results("host.optional_get_element", {}, [op.input], [result], rewriter)
        rewriter.replace(op, [], made)


class StringConstantLowering(HostLowering):
    """`Constant` of strings → a call that makes them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConstantOp, rewriter: PatternRewriter) -> None:
        if isinstance(op.value, StringsAttr):
            values = [value.decode(errors="replace") for value in op.value.values()]
            shape = list(op.value.type.get_shape())
        elif op.has("value_string"):
            values, shape = [op.string("value_string")], []
        elif op.has("value_strings"):
            values = _texts(op, "value_strings")
            shape = [len(values)]
        else:
            return
        attributes = {"values": values, "shape": shape}
        result = tensor_type(STRING, shape)
        rewriter.replace(op, [], host_results("host.strings", attributes, [], [result], rewriter))


def _texts(op: onnx.OnnxOp, name: str) -> list[str]:
    """An attribute that is a list of strings."""
    return [value.decode(errors="replace") for value in op.strings(name)]


class StringEqualLowering(HostLowering):
    """`Equal` of strings."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.EqualOp, rewriter: PatternRewriter) -> None:
        if has_strings(op):
            result = tensor_type(i1, broadcast([shape_of(op.A, op), shape_of(op.B, op)]))
            rewriter.replace(op, [], host_results("host.string_equal", {}, [op.A, op.B], [result], rewriter))


class StringWhereLowering(HostLowering):
    """`Where` between strings."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.WhereOp, rewriter: PatternRewriter) -> None:
        if has_strings(op):
            values = [op.condition, op.X, op.Y]
            result = tensor_type(STRING, broadcast([shape_of(value, op) for value in values]))
            rewriter.replace(op, [], host_results("host.string_where", {}, values, [result], rewriter))


class StringCastLowering(HostLowering):
    """`Cast` and `CastLike` from strings and to them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CastOp | onnx.CastLikeOp, rewriter: PatternRewriter) -> None:
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
    """`StringConcat` → strings one behind the other."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.StringConcatOp, rewriter: PatternRewriter) -> None:
        result = tensor_type(STRING, broadcast([shape_of(op.X, op), shape_of(op.Y, op)]))
        rewriter.replace(op, [], host_results("host.string_concat", {}, [op.X, op.Y], [result], rewriter))


class RegexFullMatchLowering(HostLowering):
    """`RegexFullMatch` → whether each string matches."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.RegexFullMatchOp, rewriter: PatternRewriter) -> None:
        result = tensor_type(i1, shape_of(op.X, op))
        attributes = {"pattern": op.string("pattern")}
        rewriter.replace(
            op, [], host_results("host.regex_full_match", attributes, [op.X], [result], rewriter)
        )


class StringSplitLowering(HostLowering):
    """`StringSplit` → parts, and how many."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.StringSplitOp, rewriter: PatternRewriter) -> None:
        dims = shape_of(op.X, op)
        attributes = {
            "delimiter": op.string("delimiter") if op.has("delimiter") else "",
            "maxsplit": op.integer("maxsplit") if op.has("maxsplit") else -1,
        }
        types = [tensor_type(STRING, [*dims, "?"]), tensor_type(i64, dims)]
        rewriter.replace(op, [], host_results("host.string_split", attributes, [op.X], types, rewriter))


class StringNormalizerLowering(HostLowering):
    """`StringNormalizer` → words without stop words, in one case."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.StringNormalizerOp, rewriter: PatternRewriter) -> None:
        attributes = {
            "case": op.string("case_change_action") if op.has("case_change_action") else "NONE",
            "is_case_sensitive": op.integer("is_case_sensitive") if op.has("is_case_sensitive") else 0,
            "stopwords": _texts(op, "stopwords") if op.has("stopwords") else [],
        }
        leading = [1] if len(shape_of(op.X, op)) == 2 else []
        result = tensor_type(STRING, [*leading, "?"])
        rewriter.replace(
            op, [], host_results("host.string_normalizer", attributes, [op.X], [result], rewriter)
        )


class TfIdfVectorizerLowering(HostLowering):
    """`TfIdfVectorizer` → counts of n-grams."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TfIdfVectorizerOp, rewriter: PatternRewriter) -> None:
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


class NonMaxSuppressionLowering(HostLowering):
    """`NonMaxSuppression` → the boxes that stay."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.NonMaxSuppressionOp, rewriter: PatternRewriter) -> None:
        limits = (op.max_output_boxes_per_class, op.iou_threshold, op.score_threshold)
        center = op.has("center_point_box") and op.integer("center_point_box") == 1
        attributes = {"center": center}
        operands = [op.boxes, op.scores, *limits]
        result = tensor_type(i64, ["?", 3])
        name = "host.non_max_suppression"
        rewriter.replace(op, [], host_results(name, attributes, operands, [result], rewriter))


class ImageDecoderLowering(HostLowering):
    """`ImageDecoder` → pixels, by the image library of the machine that runs the model."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ImageDecoderOp, rewriter: PatternRewriter) -> None:
        pixel_format = op.string("pixel_format") if op.has("pixel_format") else "RGB"
        if pixel_format not in ("RGB", "BGR", "Grayscale"):
            raise StepwellError("invalid-model", op, f"ImageDecoder: unknown pixel format {pixel_format!r}")
        result = tensor_type(element_of_dtype("uint8"), ["?", "?", 1 if pixel_format == "Grayscale" else 3])
        attributes = {"pixel_format": pixel_format}
        made = host_results("host.image_decoder", attributes, [op.encoded_stream], [result], rewriter)
        rewriter.replace(op, [], made)


@dataclass(frozen=True)
class _Distribution:
    function: str
    parameters: Mapping[str, float]


_NORMAL = _Distribution("host.random_normal", {"mean": 0.0, "scale": 1.0})
_UNIFORM = _Distribution("host.random_uniform", {"low": 0.0, "high": 1.0})


class RandomLowering(HostLowering):
    """`RandomNormal`, `RandomUniform`, and those like a tensor → random numbers."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: onnx.RandomNormalOp | onnx.RandomUniformOp | onnx.RandomNormalLikeOp | onnx.RandomUniformLikeOp,
        rewriter: PatternRewriter,
    ) -> None:
        is_normal = isinstance(op, onnx.RandomNormalOp | onnx.RandomNormalLikeOp)
        kind = _NORMAL if is_normal else _UNIFORM
        like = op.operands[0] if op.operands else None
        element: Attribute = f32 if like is None else element_of(like)
        if op.has("dtype"):
            element = element_type(op.integer("dtype"), op)
        shape = [] if like is not None else list(op.integers("shape"))
        result = tensor_type(element, shape if like is None else shape_of(like, op))
        given = {name: op.floating(name) if op.has(name) else x for name, x in kind.parameters.items()}
        attributes = {**given, "shape": shape, **_seed_and_type(op, element)}
        made = host_results(kind.function, attributes, [like], [result], rewriter, effect=True)
        rewriter.replace(op, [], made)


class DrawLowering(HostLowering):
    """`Bernoulli`, `Multinomial` → draws by the probabilities of a tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.BernoulliOp | onnx.MultinomialOp, rewriter: PatternRewriter) -> None:
        dims = list(shape_of(op.input, op))
        element = element_of(op.input) if isinstance(op, onnx.BernoulliOp) else i32
        if op.has("dtype"):
            element = element_type(op.integer("dtype"), op)
        attributes = _seed_and_type(op, element)
        if isinstance(op, onnx.MultinomialOp):
            count = op.integer("sample_size") if op.has("sample_size") else 1
            dims, attributes = [dims[0], Dim.of(count)], {**attributes, "sample_size": count}
        name = "host.bernoulli" if isinstance(op, onnx.BernoulliOp) else "host.multinomial"
        result = tensor_type(element, dims)
        rewriter.replace(op, [], host_results(name, attributes, [op.input], [result], rewriter, effect=True))


def _seed_and_type(op: onnx.OnnxOp, element: Attribute) -> dict[str, object]:
    return {"seed": op.floating("seed") if op.has("seed") else None, "to": dtype_of(element)}


PATTERNS: list[type[OnnxLowering]] = [
    SequenceConstructLowering,
    SequenceInsertLowering,
    SequenceEraseLowering,
    SequenceAtLowering,
    SequenceLengthLowering,
    SplitToSequenceLowering,
    ConcatFromSequenceLowering,
    OptionalLowering,
    OptionalHasElementLowering,
    OptionalGetElementLowering,
    StringConstantLowering,
    StringEqualLowering,
    StringWhereLowering,
    StringCastLowering,
    StringConcatLowering,
    RegexFullMatchLowering,
    StringSplitLowering,
    StringNormalizerLowering,
    TfIdfVectorizerLowering,
    NonMaxSuppressionLowering,
    ImageDecoderLowering,
    RandomLowering,
    DrawLowering,
]
