"""The operators of ONNX that host functions stand for, by the name of the function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, f32, i64
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import onnx
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.types import Tensor, dims_of, dtype_of, tensor_type
from stepwell.lowering.graph_to_onnx.host_nodes import MICROSOFT, HostForm, HostNode
from stepwell.lowering.graph_to_onnx.nodes import insert_constant, insert_integers, insert_node, vector_type
from stepwell.lowering.onnx_to_graph import ELEMENT_NUMBERS
from stepwell.runtime.dims import UNKNOWN, Dim

_STRING = 8
"""The number of strings among ONNX's element types."""
_OPEN = tensor_type(i64, [Dim.symbol(UNKNOWN)])


def _plain(op_class: type[onnx.OnnxOp], **names: str) -> HostForm:
    """An operator on the call's operands; `names` maps its attributes to keyword arguments."""

    def form(node: HostNode) -> Sequence[SSAValue]:
        return node.insert(op_class, {name: node.attributes[ours] for name, ours in names.items()})

    return form


def _element(type: Attribute) -> Attribute:
    return cast(Tensor, type).element_type


def _sequence(node: HostNode) -> Sequence[SSAValue]:
    """`SequenceConstruct`, or `SequenceEmpty` of the element's type."""
    if node.operands:
        return node.insert(onnx.SequenceConstructOp)
    element = cast(onnx.SequenceType, node.types[0]).element
    number = ELEMENT_NUMBERS.get(_element(element), _STRING)
    return node.insert(onnx.SequenceEmptyOp, {"dtype": number})


def _optional(node: HostNode) -> Sequence[SSAValue]:
    """`Optional` of a value, or of a type."""
    if node.operands and node.operands[0] is not None:
        return node.insert(onnx.OptionalOp)
    return node.insert(onnx.OptionalOp, {"type": cast(onnx.OptionalType, node.types[0]).element})


def _split(node: HostNode) -> Sequence[SSAValue]:
    """`StringSplit`; no limit of the parts is an absent attribute."""
    most = node.number("maxsplit")
    limit = None if most < 0 else most
    return node.insert(onnx.StringSplitOp, {"delimiter": node.text("delimiter"), "maxsplit": limit})


def _cast(node: HostNode) -> Sequence[SSAValue]:
    """`Cast` from or to strings."""
    return node.insert(onnx.CastOp, {"to": ELEMENT_NUMBERS.get(_element(node.types[0]), _STRING)})


def _strings(node: HostNode) -> Sequence[SSAValue]:
    """A constant of strings."""
    return [_constant(node, node.list("values"), cast("Sequence[int]", node.list("shape")))]


def _constant(node: HostNode, values: Sequence[object], shape: Sequence[int]) -> SSAValue:
    type = tensor_type(onnx.StringType(), shape)
    value = onnx.StringsAttr([str(text).encode() for text in values], type)
    made = onnx.ConstantOp.build(result_types=[type], properties={"value": value})
    return node.rewriter.insert(made).results[0]


def _take_string(node: HostNode) -> Sequence[SSAValue]:
    """`Gather` from a constant of strings."""
    values = node.list("values")
    return node.insert(onnx.GatherOp, {"axis": 0}, [_constant(node, values, [len(values)]), node.first])


def _take(node: HostNode) -> Sequence[SSAValue]:
    """`Gather` from the elements in a row."""
    whole = tensor_type(_element(node.first.type), [Dim.symbol(UNKNOWN)])
    operands = [node.first, insert_integers(node.rewriter, [-1])]
    flat = insert_node(node.rewriter, onnx.ReshapeOp, operands, whole)
    return node.insert(onnx.GatherOp, {"axis": 0}, [flat, node.operands[1]])


def _positions(node: HostNode) -> Sequence[SSAValue]:
    """A `Range` as long as the tensor, in its shape."""
    at = node.rewriter
    zero, one = (insert_constant(at, np.array(number, np.int64)) for number in (0, 1))
    size = insert_node(at, onnx.SizeOp, [node.first], tensor_type(i64, []))
    numbers = insert_node(at, onnx.RangeOp, [zero, size, one], _OPEN)
    shape = insert_node(at, onnx.ShapeOp, [node.first], vector_type(len(dims_of(node.types[0]))))
    return node.insert(onnx.ReshapeOp, {"allowzero": 1}, [numbers, shape])


def _labels(node: HostNode) -> Sequence[SSAValue]:
    """`LabelEncoder`, with the tables for the element types of both sides."""
    inside, outside = _element(node.first.type), _element(node.types[0])
    keys, values = (node.list(name) for name in ("keys", "values"))
    tables = {**_table("keys", keys, inside, node), **_table("values", values, outside, node)}
    default = node.attributes["default"]
    if (kind := _KINDS.get(outside)) is not None:
        names = {"floats": "default_float", "int64s": "default_int64", "strings": "default_string"}
        tables[names[kind]] = default
    else:
        tables["default_tensor"] = _numbers([default], outside, node)
    return node.insert(onnx.LabelEncoderOp, tables)


_KINDS: Mapping[Attribute, str] = {f32: "floats", i64: "int64s", onnx.StringType(): "strings"}
"""Element types with lists of their own among the attributes of `LabelEncoder`; others are tensors."""


def _table(name: str, values: Sequence[object], element: Attribute, node: HostNode) -> dict[str, object]:
    """An attribute of `LabelEncoder` with keys or values of an element type."""
    if (kind := _KINDS.get(element)) is not None:
        return {f"{name}_{kind}": values}
    return {f"{name}_tensor": _numbers(values, element, node)}


def _numbers(values: Sequence[object], element: Attribute, node: HostNode) -> Attribute:
    return constant_attr(np.array(values).astype(dtype_of(element)), "", node.export.weights)


def _zip_map(node: HostNode) -> Sequence[SSAValue]:
    """`ZipMap`, by labels that are text or numbers."""
    labels = node.list("labels")
    kind = "strings" if labels and isinstance(labels[0], str) else "int64s"
    return node.insert(onnx.ZipMapOp, {f"classlabels_{kind}": labels})


def _vectorized(node: HostNode) -> Sequence[SSAValue]:
    """`DictVectorizer`, by a vocabulary of text or numbers."""
    keys = node.list("keys")
    kind = "string" if keys and isinstance(keys[0], str) else "int64"
    return node.insert(onnx.DictVectorizerOp, {f"{kind}_vocabulary": keys})


def _cast_map(node: HostNode) -> Sequence[SSAValue]:
    """`CastMap`; without positions the dense form."""
    places = node.number("places")
    kinds: dict[Attribute, str] = {f32: "TO_FLOAT", i64: "TO_INT64"}
    to = kinds.get(_element(node.types[0]), "TO_STRING")
    form = "SPARSE" if places else "DENSE"
    return node.insert(onnx.CastMapOp, {"cast_to": to, "map_form": form, "max_map": places or None})


def _counted(node: HostNode) -> Sequence[SSAValue]:
    """`TfIdfVectorizer`, with a pool of text or numbers."""
    pool = node.list("pool")
    kind = "strings" if pool and isinstance(pool[0], str) else "int64s"
    names = ("mode", "min_gram_length", "max_gram_length", "max_skip_count")
    given = {name: node.attributes[name] for name in (*names, "ngram_counts", "ngram_indexes")}
    tables = {f"pool_{kind}": pool, "weights": node.list("weights") or None}
    return node.insert(onnx.TfIdfVectorizerOp, given | tables)


def _normalized(node: HostNode) -> Sequence[SSAValue]:
    """`StringNormalizer`; no stop words are an absent attribute."""
    given = {
        "case_change_action": node.text("case"),
        "is_case_sensitive": node.number("is_case_sensitive"),
        "stopwords": node.list("stopwords") or None,
    }
    return node.insert(onnx.StringNormalizerOp, given)


def _tokenized(node: HostNode) -> Sequence[SSAValue]:
    """`com.microsoft.Tokenizer`."""
    separators = [StringAttr(str(text)) for text in node.list("separators")]
    given: dict[str, Attribute] = {
        "mark": IntegerAttr(node.number("mark"), i64),
        "mincharnum": IntegerAttr(node.number("mincharnum"), i64),
        "pad_value": StringAttr(node.text("pad_value")),
    }
    if separators:
        given["separators"] = ArrayAttr(separators)
    else:
        given["tokenexp"] = StringAttr(node.text("tokenexp"))
    return node.insert_call(MICROSOFT, "Tokenizer", given)


FORMS: Mapping[str, HostForm] = {
    "graph.concat": _plain(onnx.ConcatOp, axis="axis"),
    "host.cast_map": _cast_map,
    "host.concat_from_sequence": _plain(onnx.ConcatFromSequenceOp, axis="axis", new_axis="new_axis"),
    "host.encode_labels": _labels,
    "host.identity": _plain(onnx.IdentityOp),
    "host.image_decoder": _plain(onnx.ImageDecoderOp, pixel_format="pixel_format"),
    "host.inverse": lambda node: node.insert_call(MICROSOFT, "Inverse", {}),
    "host.map_values": _vectorized,
    "host.number_to_string": _cast,
    "host.optional": _optional,
    "host.optional_get_element": _plain(onnx.OptionalGetElementOp),
    "host.optional_has_element": _plain(onnx.OptionalHasElementOp),
    "host.positions": _positions,
    "host.regex_full_match": _plain(onnx.RegexFullMatchOp, pattern="pattern"),
    "host.sequence_at": _plain(onnx.SequenceAtOp),
    "host.sequence_construct": _sequence,
    "host.sequence_erase": _plain(onnx.SequenceEraseOp),
    "host.sequence_insert": _plain(onnx.SequenceInsertOp),
    "host.sequence_length": _plain(onnx.SequenceLengthOp),
    "host.split_to_sequence": _plain(onnx.SplitToSequenceOp, axis="axis", keepdims="keepdims"),
    "host.string_concat": _plain(onnx.StringConcatOp),
    "host.string_equal": _plain(onnx.EqualOp),
    "host.string_normalizer": _normalized,
    "host.string_split": _split,
    "host.string_to_number": _cast,
    "host.string_where": _plain(onnx.WhereOp),
    "host.strings": _strings,
    "host.take": _take,
    "host.take_string": _take_string,
    "host.tf_idf": _counted,
    "host.tokenizer": _tokenized,
    "host.zip_map": _zip_map,
}
"""The operator of each host function that ONNX has one for."""
