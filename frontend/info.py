"""The parts of a model besides its computation, as attributes: doc strings, metadata, denotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute

from stepwell.frontend.messages import StringStringEntryProto, TypeProto, ValueInfoProto

Attributes: TypeAlias = dict[str, Attribute]

DOC = "onnx.doc_string"
METADATA = "onnx.metadata"
DENOTATION = "onnx.denotation"
DIM_DENOTATIONS = "onnx.dim_denotations"


def legible(text: object) -> str:
    """A string of a model, decoded if protobuf gives bytes because it is not UTF-8."""
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


def text_attr(text: object) -> StringAttr:
    """A string of a model as an attribute."""
    return StringAttr(legible(text))


def string_array(values: Iterable[str]) -> ArrayAttr[StringAttr]:
    """Names as an attribute."""
    return ArrayAttr([text_attr(value) for value in values])


class Documented(Protocol):
    """A message of ONNX that has a doc string."""

    doc_string: str


def describe(proto: Documented, metadata: Iterable[StringStringEntryProto] = ()) -> Attributes:
    """The doc string and metadata of a message as attributes, as far as present."""
    attributes: Attributes = {}
    if proto.doc_string:
        attributes[DOC] = text_attr(proto.doc_string)
    if entries := {legible(entry.key): text_attr(entry.value) for entry in metadata}:
        attributes[METADATA] = DictionaryAttr(entries)
    return attributes


def describe_value(info: ValueInfoProto) -> Attributes:
    """The doc string, metadata and denotations of a value as attributes."""
    attributes = describe(info, info.metadata_props)
    if info.type.denotation:
        attributes[DENOTATION] = text_attr(info.type.denotation)
    dims = info.type.tensor_type.shape.dim
    if any(dim.denotation for dim in dims):
        attributes[DIM_DENOTATIONS] = string_array(dim.denotation for dim in dims)
    return attributes


def restore_doc(proto: Documented, attributes: Mapping[str, Attribute]) -> None:
    """Set the doc string of a message from the attributes of `describe`."""
    if isinstance(doc := attributes.get(DOC), StringAttr):
        proto.doc_string = doc.data


def metadata_of(attributes: Mapping[str, Attribute]) -> list[StringStringEntryProto]:
    """The metadata in the attributes of `describe`."""
    return string_entries(attributes.get(METADATA))


def string_entries(attribute: Attribute | None) -> list[StringStringEntryProto]:
    """A dictionary of strings as entries of ONNX."""
    return [
        StringStringEntryProto(key=key, value=cast(StringAttr, value).data)
        for key, value in entries_of(attribute).items()
    ]


def restore_value(info: ValueInfoProto, attributes: Mapping[str, Attribute]) -> None:
    """
    Set the doc string, metadata and denotations of a value's info from the attributes of `describe_value`.
    """
    restore_doc(info, attributes)
    info.metadata_props.extend(metadata_of(attributes))
    _restore_denotations(info.type, attributes)


def _restore_denotations(type: TypeProto, attributes: Mapping[str, Attribute]) -> None:
    """Set the denotations of a type and its dimensions."""
    if isinstance(denotation := attributes.get(DENOTATION), StringAttr):
        type.denotation = denotation.data
    if isinstance(denotations := attributes.get(DIM_DENOTATIONS), ArrayAttr):
        names = cast("ArrayAttr[StringAttr]", denotations)
        for dim, name in zip(type.tensor_type.shape.dim, names, strict=True):
            dim.denotation = name.data


def entries_of(attribute: Attribute | None) -> Mapping[str, Attribute]:
    """The entries of a dictionary attribute; none when it is absent."""
    return attribute.data if isinstance(attribute, DictionaryAttr) else {}


def integer_of(attribute: Attribute | None, default: int) -> int:
    """The number of an integer attribute, or the default when it is absent."""
    if not isinstance(attribute, IntegerAttr):
        return default
    return cast("IntegerAttr[IntegerType]", attribute).value.data
